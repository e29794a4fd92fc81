# SPDX-License-Identifier: Apache-2.0
"""From an inventory and a policy to a plan or a refusal. Pure: the same input gives the same bytes."""

from collections.abc import Callable
from typing import TypeVar

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.audit import audit, audited_plan
from millrace.plan.drives import Groups, candidates, drive_decisions, drive_warnings, group_drives, unsuitable
from millrace.plan.external import (
    External,
    base,
    external_decisions,
    external_obstacles,
    external_of,
    external_warnings,
    plan_external_discard,
    why_no_backend,
)
from millrace.plan.filesystem import plan_filesystem, shaped
from millrace.plan.layout import Layout, layout_warnings, plan_layout
from millrace.plan.md import data_arrays, no_arrays, plan_md, slowest_link
from millrace.plan.memory import plan_sysctl
from millrace.plan.model import (
    Decision,
    DriveRole,
    Plan,
    PlanFile,
    PlannedPartition,
    PlanObstacle,
    Proposal,
    Refusal,
    Role,
)
from millrace.plan.nfsd import plan_nfsd
from millrace.plan.obstacles import obstacles
from millrace.plan.other_pool import DO_NOT_ERASE, belongs_to_pool
from millrace.plan.override import InapplicablePolicy
from millrace.plan.policy.model import Policy
from millrace.plan.ports import plan_ports
from millrace.plan.predict import predict
from millrace.plan.scrub import plan_scrub
from millrace.plan.server import server_of
from millrace.plan.sockets import places_of

Made = TypeVar("Made")
Planned = tuple[Made, list[Decision]]


def propose(inventory: Inventory, policy: Policy) -> Proposal:
    """Plan a pool from all candidates, or return every obstacle."""
    if policy.layout.backend == "external":
        return _external(inventory, policy)
    in_the_way = obstacles(inventory.drives, policy)
    if in_the_way:
        return _refusal(inventory, policy, in_the_way)
    groups = group_drives(candidates(inventory.drives, policy), policy)
    try:
        layout, about_layout = plan_layout(groups, policy, places_of(inventory))
    except InapplicablePolicy as error:
        return _refusal(inventory, policy, [error.obstacle])
    return _ready(inventory, policy, groups, (layout, about_layout))


def plan_file(proposal: Proposal) -> PlanFile:
    """Return the proposal with its digest, as it is stored."""
    return PlanFile(sha256=proposal.digest() if isinstance(proposal, Plan) else None, proposal=proposal)


def _ready(inventory: Inventory, policy: Policy, groups: Groups, planned: Planned[Layout]) -> Proposal:
    server = server_of(inventory)
    layout, about_layout = planned
    in_the_way: list[PlanObstacle] = []
    filesystem = _try(lambda: plan_filesystem(layout, server, policy), in_the_way)
    nfsd = _try(lambda: plan_nfsd(server, policy), in_the_way)
    link = slowest_link(drive for leg in layout.legs for drive in leg)
    md = _try(lambda: plan_md(data_arrays(layout.arrays), link, server, policy), in_the_way)
    sysctl = _try(lambda: plan_sysctl(server, policy), in_the_way)
    if filesystem is None or nfsd is None or md is None or sysctl is None:
        return _refusal(inventory, policy, in_the_way)
    size_of = {Role.LOG: layout.log_partition}
    about_scrub, scrub_warnings = plan_scrub(
        layout.arrays, lambda array: size_of.get(array.role, layout.data_partition), md[0], link, policy.scrub
    )
    plan = Plan(
        title=layout.title,
        capacity=layout.capacity,
        drives=[*_pool_drives(layout, groups), *_other_drives(inventory.drives, policy)],
        arrays=layout.arrays,
        filesystem=filesystem[0],
        nfsd=nfsd[0],
        md=md[0],
        sysctl=sysctl[0],
        decisions=[
            *drive_decisions(groups),
            *about_layout,
            *filesystem[1],
            *md[1],
            *about_scrub,
            *nfsd[1],
            *sysctl[1],
            *plan_ports(server),
        ],
        warnings=[*layout_warnings(layout), *drive_warnings(groups), *scrub_warnings],
    )
    return plan.model_copy(
        update={"findings": audit(inventory, audited_plan(plan)), "prediction": predict(inventory, plan.arrays)}
    )


def _external(inventory: Inventory, policy: Policy) -> Proposal:
    """A pool on the device that the policy names; the drives of this server have no part in it."""
    in_the_way = external_obstacles(inventory, policy)
    if in_the_way:
        return Refusal(obstacles=in_the_way, drives=_around(inventory, []))
    server, planned = server_of(inventory), external_of(inventory, policy)
    filesystem = _try(lambda: shaped(base(planned), plan_external_discard(planned, policy), server, policy), in_the_way)
    nfsd = _try(lambda: plan_nfsd(server, policy), in_the_way)
    md = _try(lambda: plan_md(no_arrays(planned.geometry.stripe), 0, server, policy), in_the_way)
    sysctl = _try(lambda: plan_sysctl(server, policy), in_the_way)
    if filesystem is None or nfsd is None or md is None or sysctl is None:
        return Refusal(obstacles=in_the_way, drives=_around(inventory, []))
    used = [drive for drive in (planned.data, planned.log) if drive is not None]
    plan = Plan(
        backend="external",
        title=planned.title,
        capacity=planned.capacity,
        drives=[*(_backend(planned, drive) for drive in used), *_around(inventory, used)],
        arrays=[],
        filesystem=filesystem[0],
        nfsd=nfsd[0],
        md=md[0],
        sysctl=sysctl[0],
        decisions=[
            *external_decisions(planned, policy),
            *filesystem[1],
            *md[1],
            *nfsd[1],
            *sysctl[1],
            *plan_ports(server),
        ],
        warnings=external_warnings(planned),
    )
    return plan.model_copy(
        update={"findings": audit(inventory, audited_plan(plan)), "prediction": predict(inventory, plan.arrays)}
    )


def _backend(planned: External, drive: Drive) -> DriveRole:
    is_data = drive is planned.data
    reason = f"Named by the policy (external.{'devices' if is_data else 'log'})."
    return _role(drive, Role.DATA if is_data else Role.LOG, planned.partitions(drive), reason)


def _around(inventory: Inventory, used: list[Drive]) -> list[DriveRole]:
    """All other drives that are part of the server."""
    return [
        _role(drive, Role.BOOT if drive.state is DriveState.BOOT else Role.UNUSED, [], why_no_backend(drive))
        for drive in sorted(inventory.drives, key=lambda drive: (drive.serial, drive.wwid))
        if drive not in used and not _comes_and_goes(drive)
    ]


def _try(make: Callable[[], Planned[Made]], in_the_way: list[PlanObstacle]) -> Planned[Made] | None:
    """Collect all overrides that cannot be used, not only the first."""
    try:
        return make()
    except InapplicablePolicy as error:
        in_the_way.append(error.obstacle)
        return None


def _refusal(inventory: Inventory, policy: Policy, in_the_way: list[PlanObstacle]) -> Refusal:
    drives = candidates(inventory.drives, policy)
    return Refusal(obstacles=in_the_way, drives=[*map(_refused, drives), *_other_drives(inventory.drives, policy)])


def _pool_drives(layout: Layout, groups: Groups) -> list[DriveRole]:
    """In the order of the arrays: the position within a role is the number in the partition label."""
    data = PlannedPartition(role=Role.DATA, size=layout.data_partition)
    log = [PlannedPartition(role=Role.LOG, size=layout.log_partition)] if layout.log_partition else []
    # Spares get the table of the drives that they are to replace.
    table = [*log, data]
    large = [drive for leg in layout.legs for drive in leg]
    mirror = [drive for drive in layout.log.drives if drive not in large]
    spare = [drive for drive in [layout.log.spare] if drive and drive not in large]
    return [
        *(
            _role(drive, Role.DATA, table, "One of the group of equal drives with the largest usable capacity.")
            for drive in large
        ),
        *(_role(drive, Role.SPARE, table, "Hot spare for the data drives.") for drive in layout.spares),
        *(_role(drive, Role.LOG, log, "One of two clearly smaller drives.") for drive in mirror),
        *(_role(drive, Role.SPARE, log, "Hot spare for the log drives.") for drive in spare),
        *(_role(unused.drive, Role.UNUSED, [], unused.reason) for unused in groups.unused),
    ]


def _other_drives(drives: list[Drive], policy: Policy) -> list[DriveRole]:
    """Drives that are no candidates and that are part of the server."""
    found = []
    for drive in sorted(drives, key=lambda drive: (drive.serial, drive.wwid)):
        reason = unsuitable(drive, policy)
        if reason and not _comes_and_goes(drive):
            found.append(_role(drive, Role.BOOT if drive.state is DriveState.BOOT else Role.UNUSED, [], reason))
    return found


def _refused(drive: Drive) -> DriveRole:
    """The part of a candidate where nothing is planned."""
    reason = DO_NOT_ERASE if belongs_to_pool(drive) else f"Nothing is planned; the drive is {drive.state.value}."
    return _role(drive, Role.UNUSED, [], reason)


def _role(drive: Drive, plays: Role, partitions: list[PlannedPartition], reason: str) -> DriveRole:
    """A drive without what changes between boots."""
    return DriveRole(
        serial=drive.serial,
        wwid=drive.wwid,
        model=drive.model,
        size=drive.size,
        state=drive.state,
        role=plays,
        partitions=partitions,
        reason=reason,
    )


def _comes_and_goes(drive: Drive) -> bool:
    """A stick or the virtual medium of a BMC must not make an approval stale."""
    return drive.state is not DriveState.BOOT and (drive.removable or drive.transport == "usb")
