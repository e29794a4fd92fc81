# SPDX-License-Identifier: Apache-2.0
"""Is there a pool, and if not: what is it waiting for?"""

from millrace.lifecycle.adopt.search_result import recorded
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.model import Plan, PlanFile, Refusal
from millrace.storage.record.model import Pool, Transaction
from millrace.system import paths
from millrace.system.command import command
from millrace.system.documents import read_model
from millrace.system.run import quickly
from millrace.system.text import moment

NAME = "pool"


def check(host: Host) -> list[HealthFinding]:
    """Check the pool, provisioning under way, or the plan that waits for its approval."""
    if host.pool is not None:
        return [_exists(host.pool), *_rescue()]
    if paths.transaction_file().exists():
        return [_under_way(read_model(paths.transaction_file(), Transaction))]
    if carried := _carried():
        return [carried]
    if not paths.plan_file().exists():
        return [_unplanned(host)]
    plan = read_model(paths.plan_file(), PlanFile)
    if isinstance(plan.proposal, Refusal):
        return _refused(plan.proposal)
    return [_proposed(plan.proposal, plan.sha256 or plan.proposal.digest())]


def _carried() -> HealthFinding | None:
    """The pool that another boot drive created: it comes before any plan."""
    search = recorded()
    if search is None or search.pool is None:
        return None
    if search.problem:
        return HealthFinding(
            check=NAME,
            level=Level.FAIL,
            sentence=f"The drives carry a pool that cannot be adopted: {search.problem}.",
            todo="millrace pool find",
        )
    kept = search.pool.kept
    of = f" of {kept.host}, with {len(kept.shares)} shares, kept {moment(kept.written)}" if kept else ""
    return HealthFinding(
        check=NAME,
        level=Level.WARN,
        sentence=f"No pool yet on this boot drive. The drives carry a pool{of}.",
        todo="Read what comes back (millrace pool find), then: millrace pool adopt",
    )


def _exists(pool: Pool) -> HealthFinding:
    arrays = ", ".join(f"{record.array.name} ({record.array.level})" for record in pool.arrays)
    devices = ", ".join(f"external device {one.serial}" for one in pool.drives)
    what = devices if pool.backend == "external" else arrays
    return HealthFinding(
        check=NAME, level=Level.OK, sentence=f"The pool was created at {moment(pool.created)}: {what}."
    )


def _rescue() -> list[HealthFinding]:
    """A rescue waits for its next step to be confirmed, in every boot."""
    if not paths.rescue_file().exists():
        return []
    # there is hardly ever one
    from millrace.storage.rescue import rescue_job

    work = rescue_job.last(quickly)
    sentence = "The rescue of the pool, whose log was lost, is not finished"
    if work is not None and work.state != "done":
        sentence += f": step '{work.step}' {'is running' if work.state == 'running' else 'did not end well'}"
    return [
        HealthFinding(check=NAME, kind="rescue", level=Level.FAIL, sentence=f"{sentence}.", todo="millrace pool rescue")
    ]


def _under_way(transaction: Transaction) -> HealthFinding:
    done = sum(step.state == "done" for step in transaction.steps)
    current = next((step.name for step in transaction.steps if step.state != "done"), "finishing")
    return HealthFinding(
        check=NAME,
        level=Level.WARN,
        sentence=f"The pool is being built: {done} of {len(transaction.steps)} steps done, now {current}.",
        todo="Leave the drives where they are. If it does not go on: journalctl -u millrace-provision",
    )


def _unplanned(host: Host) -> HealthFinding:
    level = Level.WARN if host.starting else Level.UNKNOWN
    return HealthFinding(
        check=NAME,
        level=level,
        sentence="No pool yet, and no plan in this boot.",
        todo=None if host.starting else "journalctl -u millrace-inventory -u millrace-plan",
    )


def _refused(refusal: Refusal) -> list[HealthFinding]:
    return [
        HealthFinding(
            check=NAME,
            kind="refused",
            subject=", ".join(drive.serial or drive.name for drive in obstacle.drives),
            level=Level.WARN,
            sentence=f"No pool, and no plan: {obstacle.what}"
            + (f" ({'; '.join(drive.words for drive in obstacle.drives)})" if obstacle.drives else ""),
            todo=obstacle.todo,
        )
        for obstacle in refusal.obstacles
    ]


def _proposed(plan: Plan, digest: str) -> HealthFinding:
    if paths.approval_file().exists():
        return HealthFinding(
            check=NAME,
            level=Level.WARN,
            sentence=f"No pool yet. An approved plan was not built; current plan: {plan.title}.",
            todo="journalctl -u millrace-provision",
        )
    return HealthFinding(
        check=NAME,
        level=Level.WARN,
        sentence=f"No pool yet. The plan: {plan.title}.",
        todo=f"Read it (millrace plan), then: {command('millrace approve', digest)}",
    )
