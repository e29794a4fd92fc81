# SPDX-License-Identifier: Apache-2.0
"""The part that each drive plays."""

from millrace.inventory.model import Drive, DriveState
from millrace.plan.grouping import Groups, unsuitable
from millrace.plan.layout import Layout
from millrace.plan.model import DriveRole, Partition, Role
from millrace.plan.other_pool import SENTENCE, of_a_pool
from millrace.plan.policy import Policy


def members(layout: Layout, groups: Groups) -> list[DriveRole]:
    """In the order of the arrays: the position within a role is the number in the partition label."""
    data = Partition(role=Role.DATA, size=layout.data_partition)
    log = [Partition(role=Role.LOG, size=layout.log_partition)] if layout.log_partition else []
    # Spares get the table of the drives that they are to replace.
    table = [*log, data]
    large = [drive for leg in layout.legs for drive in leg]
    mirror = [drive for drive in layout.log.drives if drive not in large]
    spare = [drive for drive in [layout.log.spare] if drive and drive not in large]
    return [
        *(role(drive, Role.DATA, table, "One of the largest group of equal drives.") for drive in large),
        *(role(drive, Role.SPARE, table, "Hot spare for the data drives.") for drive in layout.spares),
        *(role(drive, Role.LOG, log, "One of two clearly smaller drives.") for drive in mirror),
        *(role(drive, Role.SPARE, log, "Hot spare for the log drives.") for drive in spare),
        *(role(unused.drive, Role.UNUSED, [], unused.reason) for unused in groups.unused),
    ]


def left_out(drives: list[Drive], policy: Policy) -> list[DriveRole]:
    """Drives that are no candidates and that are part of the server."""
    found = []
    for drive in sorted(drives, key=lambda drive: (drive.serial, drive.wwid)):
        reason = unsuitable(drive, policy)
        if reason and not _comes_and_goes(drive):
            found.append(role(drive, Role.BOOT if drive.state is DriveState.BOOT else Role.UNUSED, [], reason))
    return found


def refused(drive: Drive) -> DriveRole:
    """The part of a candidate where nothing is planned."""
    reason = SENTENCE if of_a_pool(drive) else f"Nothing is planned; the drive is {drive.state.value}."
    return role(drive, Role.UNUSED, [], reason)


def role(drive: Drive, plays: Role, partitions: list[Partition], reason: str) -> DriveRole:
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
