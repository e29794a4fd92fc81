# SPDX-License-Identifier: Apache-2.0
"""Carry out the approved plan, once, whatever happens in between."""

from typing import Literal

from millrace.plan.model import Plan, Refusal
from millrace.storage.array import discard
from millrace.storage.array.machine import Report, System, settle
from millrace.storage.drive.attached import Drives
from millrace.storage.provision import approval, feasibility, publish
from millrace.storage.provision.create_array import ArrayStep
from millrace.storage.provision.filesystem import FilesystemStep, carriers
from millrace.storage.provision.partition import LINUX_DATA, LINUX_RAID, PartitionStep
from millrace.storage.provision.provision_job import JOB, POOL
from millrace.storage.record.identity import filesystem_of, new_transaction
from millrace.storage.record.model import Approval, Pool, Transaction
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.step import Step, carry_out
from millrace.storage.record.step_journal import Journal
from millrace.storage.record.writer import PROVISIONING, writing
from millrace.system import paths
from millrace.system.documents import Contract, read_model
from millrace.system.errors import Refused


class ProvisionOutcome(Contract):
    """How a run of provisioning ended (`millrace provision --json`)."""

    schema_version: Literal[1] = 1
    state: Literal["provisioned", "already-provisioned", "not-approved"]
    pool: Pool | None


class Steps(Contract):
    """What a plan would be built in (`millrace provision --dry-run --json`)."""

    schema_version: Literal[1] = 1
    plan_sha256: str
    steps: list[str]


def provision(system: System, report: Report, if_approved: bool = False) -> ProvisionOutcome:
    """Build the approved plan, or resume an interrupted build. `report` receives one line for each step.

    With `if_approved` a plan that is not approved is no error. Refused: something is not as it was approved. Failed: a
    tool failed; run it again to resume.
    """
    with writing(PROVISIONING):
        if paths.pool_file().exists():
            publish.clean_up()
            return ProvisionOutcome(state="already-provisioned", pool=load_pool())
        journal = Journal.load()
        if journal is not None:
            report("resuming the interrupted build")
            with JOB.execution(POOL):
                return ProvisionOutcome(state="provisioned", pool=_resume(system, journal, report))
        try:
            approved = _approval(system)
        except Refused as refusal:
            # a credential that does not fit this server is no failure of the boot: plan and banner say what to do
            if not if_approved:
                raise
            report(f"no build is possible: {refusal}")
            return ProvisionOutcome(state="not-approved", pool=None)
        if approved is None:
            if if_approved:
                return ProvisionOutcome(state="not-approved", pool=None)
            raise Refused("no plan is approved; read it with `millrace plan`, then `millrace approve HASH`")
        with JOB.execution(POOL):
            return ProvisionOutcome(state="provisioned", pool=_begin(system, approved, report))


def steps(system: System, drives: Drives, transaction: Transaction) -> tuple[list[PartitionStep], list[Step]]:
    """Return the steps on single drives, and those that follow them."""
    kind = LINUX_RAID if transaction.plan.backend == "md" else LINUX_DATA
    partitions = [PartitionStep(system, drives, drive, kind) for drive in transaction.drives]
    arrays = [ArrayStep(system, drives, array) for array in transaction.arrays]
    on = carriers(transaction.drives, transaction.arrays)
    filesystem = FilesystemStep(system, filesystem_of(transaction), transaction.filesystem_uuid, on)
    return partitions, [*arrays, filesystem]


def _approval(system: System) -> Approval | None:
    given = approval.approval_from_credential(system.now())
    if given is not None:
        return given
    path = paths.approval_file()
    return read_model(path, Approval) if path.exists() else None


def _begin(system: System, approved: Approval, report: Report) -> Pool:
    drives = Drives(system)
    plan = _same_plan(system, drives, approved)
    transaction = new_transaction(plan, system.now())
    partitions, later = steps(system, drives, transaction)
    feasibility.check_all(system, drives, Journal(transaction), partitions)
    feasibility.check_fresh(system, drives, transaction)
    return _run(system, Journal.open(transaction), [*partitions, *later], report)


def _same_plan(system: System, drives: Drives, approved: Approval) -> Plan:
    proposal = system.propose(drives.inventory, approved.layout)
    if isinstance(proposal, Refusal) or proposal.digest() != approved.sha256:
        # the plan must be approved again, even if the old hardware comes back
        paths.approval_file().unlink(missing_ok=True)
    if isinstance(proposal, Refusal):
        raise Refused(f"the approved plan can no longer be built: {approval.obstacles(proposal)}; nothing was written")
    if proposal.digest() != approved.sha256:
        raise Refused(
            f"the server has changed since plan {approved.sha256[:12]} was approved; nothing was written: "
            "read the new plan with `millrace plan --write` and approve that"
        )
    return proposal


def _resume(system: System, journal: Journal, report: Report) -> Pool:
    settle(system)
    drives = Drives(system)
    partitions, later = steps(system, drives, journal.transaction)
    feasibility.check_all(system, drives, journal, partitions)
    return _run(system, journal, [*partitions, *later], report)


def _run(system: System, journal: Journal, all_steps: list[Step], report: Report) -> Pool:
    discard.prepare_new(system, journal.transaction.plan, journal.transaction.arrays, report)
    for number, step in enumerate(all_steps, start=1):
        report(f"{number}/{len(all_steps)} {step.title}: {carry_out(step, journal)}")
    return publish.publish(system, journal.transaction)
