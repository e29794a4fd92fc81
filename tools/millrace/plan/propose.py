# SPDX-License-Identifier: Apache-2.0
"""From an inventory and a policy to a plan or a refusal. Pure: the same input gives the same bytes."""

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.audit import audit
from millrace.plan.filesystem import plan_filesystem
from millrace.plan.grouping import Groups, candidates, grouped, unsuitable
from millrace.plan.knobs import plan_md, plan_sysctl
from millrace.plan.layout import Layout, plan_layout
from millrace.plan.model import Decision, DriveRole, Partition, Plan, PlanFile, Proposal, Refusal, Role
from millrace.plan.nfsd import plan_nfsd
from millrace.plan.policy import Policy
from millrace.plan.port_decisions import plan_ports
from millrace.plan.predict import predict
from millrace.plan.refuse import obstacles
from millrace.plan.server import server_of
from millrace.plan.sources import TALK_SHAPES
from millrace.plan.units import words


def propose(inventory: Inventory, policy: Policy) -> Proposal:
    """Plan a pool from all candidates, or say everything that is in the way."""
    drives = candidates(inventory.drives)
    groups = grouped(drives)
    in_the_way = obstacles(drives, groups)
    left_out = _left_out(inventory.drives)
    if in_the_way:
        return Refusal(obstacles=in_the_way, drives=[*map(_refused, drives), *left_out])
    plan = _ready(inventory, policy, groups, left_out)
    return plan.model_copy(update={"findings": audit(inventory, plan), "prediction": predict(inventory, plan)})


def plan_file(proposal: Proposal) -> PlanFile:
    """The proposal with its digest, as it is stored."""
    return PlanFile(sha256=proposal.digest() if isinstance(proposal, Plan) else None, proposal=proposal)


def _ready(inventory: Inventory, policy: Policy, groups: Groups, left_out: list[DriveRole]) -> Plan:
    server = server_of(inventory)
    layout, about_layout = plan_layout(groups)
    filesystem, about_filesystem = plan_filesystem(layout, server)
    nfsd, about_nfsd = plan_nfsd(server, policy)
    md, about_md = plan_md(layout, server, policy)
    sysctl, about_sysctl = plan_sysctl(server, policy)
    return Plan(
        title=layout.title,
        capacity=layout.capacity,
        drives=[*_members(layout, groups), *left_out],
        arrays=layout.arrays,
        filesystem=filesystem,
        nfsd=nfsd,
        md=md,
        sysctl=sysctl,
        decisions=[
            *_drive_decisions(groups),
            *about_layout,
            *about_filesystem,
            *about_md,
            *about_nfsd,
            *about_sysctl,
            *plan_ports(server),
        ],
        warnings=_warnings(layout, groups),
    )


def _members(layout: Layout, groups: Groups) -> list[DriveRole]:
    """In the order of the arrays: the position within a role is the number in the partition label."""
    data = [drive for leg in layout.legs for drive in leg]
    return [
        *(
            _role(drive, Role.DATA, layout.data_partition, "One of the largest group of equal drives.")
            for drive in data
        ),
        *(
            _role(drive, Role.LOG, layout.log_partition, "One of the two clearly smaller drives.")
            for drive in groups.log
        ),
    ]


def _left_out(drives: list[Drive]) -> list[DriveRole]:
    found = []
    for drive in sorted(drives, key=lambda drive: (drive.serial, drive.wwid)):
        reason = unsuitable(drive)
        if reason and not _comes_and_goes(drive):
            role = Role.BOOT if drive.state is DriveState.BOOT else Role.UNUSED
            found.append(_role(drive, role, 0, reason))
    return found


def _comes_and_goes(drive: Drive) -> bool:
    """A stick or the virtual medium of a BMC must not make an approval stale."""
    return drive.state is not DriveState.BOOT and (drive.removable or drive.transport == "usb")


def _refused(drive: Drive) -> DriveRole:
    return _role(drive, Role.UNUSED, 0, f"Nothing is planned; the drive is {drive.state.value}.")


def _role(drive: Drive, role: Role, partition: int, reason: str) -> DriveRole:
    return DriveRole(
        serial=drive.serial,
        wwid=drive.wwid,
        model=drive.model,
        size=drive.size,
        state=drive.state,
        role=role,
        partitions=[Partition(role=role, size=partition)] if partition else [],
        reason=reason,
    )


def _drive_decisions(groups: Groups) -> list[Decision]:
    data, log = groups.data, groups.log
    return [
        Decision(
            name="drives.data",
            value=[drive.serial for drive in data],
            reason=f"{len(data)} drives of {words(min(drive.size for drive in data))} with sectors of "
            f"{data[0].logical_block} bytes are the largest group of equal drives.",
            source=TALK_SHAPES,
        ),
        Decision(
            name="drives.log",
            value=[drive.serial for drive in log],
            reason=f"2 drives of {words(min(drive.size for drive in log))} are clearly smaller than the "
            f"{words(min(drive.size for drive in data))} of the others.",
            source=TALK_SHAPES,
        ),
    ]


def _warnings(layout: Layout, groups: Groups) -> list[str]:
    warnings = []
    if len(layout.legs) > 1 and any(len({drive.numa_node for drive in leg}) > 1 for leg in layout.legs):
        warnings.append("A leg spans NUMA nodes: spread the drives evenly over the slots of both processors.")
    models = {drive.model for drive in groups.data}
    if len(models) > 1:
        warnings.append(f"The data drives are of {len(models)} models: the slowest sets the pace.")
    return warnings
