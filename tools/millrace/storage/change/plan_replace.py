# SPDX-License-Identifier: Apache-2.0
"""Which drive takes the place of which, and what is written for it. Pure functions; what is not possible is Refused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState
from millrace.plan.discard import reads_zeroes
from millrace.plan.model import Role
from millrace.storage.array import md
from millrace.storage.array.member_state import ArrayNow, Standing
from millrace.storage.change.candidates import DriveNeed, chosen, free_label, named, obstacle, the_one
from millrace.storage.record.drive_change import ChangedDrive, DrivePlan, NewPartition
from millrace.storage.record.model import ArrayRecord, DriveRecord, Pool
from millrace.system.command import command
from millrace.system.errors import Refused
from millrace.system.text import shown


@dataclass(frozen=True)
class PoolServer:
    """A pool, its arrays of partitions that run, the drives of a fresh inventory, the last bay of each drive.

    `apart` and `removed` are serials of members that ran without their array, and of those that were taken out.
    `unused` are bytes of larger legs that the array over them does not use; `uneven`: its legs have different sizes.
    `unfilled` are bytes of that array that XFS does not use.
    """

    pool: Pool
    arrays: Mapping[str, ArrayNow]
    drives: Sequence[Drive]
    bays: Mapping[str, str]
    apart: Collection[str] = ()
    removed: Collection[str] = ()
    unused: int = 0
    uneven: bool = False
    unfilled: int = 0

    def present(self, serial: str) -> Drive | None:
        """Return the drive with this serial number, None if it is missing. Refused: several drives have it."""
        return the_one(self.drives, serial)


def replacement(server: PoolServer, old: str, new: str | None) -> DrivePlan:
    """Plan to put the drive `new`, or the one blank drive that fits, in the place of the member `old`.

    Refused: it is no member, its arrays do not allow it now, or no drive fits; one sentence with the remedy.
    """
    need = needed(server, old)
    records = arrays_of(server, old)
    leaving = changed(server, old, records)
    copies = {record.array.name: _is_copied(server, record, old) for record in records}
    layout = _layout(server.pool, old, records)
    bay = server.bays.get(old)
    if new == old and (reason := _not_by_itself(server, records, old)):
        raise Refused(f"cannot replace {named(old, bay)} by itself: {reason}; nothing was written")
    members = {drive.serial for drive in server.pool.drives}
    drive = chosen(server.drives, need, f"cannot replace {named(old, bay)}", old, bay, new, members)
    by_role = {record.array.role: record.array.name for record in records}
    partitions = [
        NewPartition(
            role=partition.role,
            size=partition.size,
            label=label,
            array=by_role.get(partition.role),
            copies=copies.get(by_role.get(partition.role, ""), False),
        )
        for partition, label in zip(layout.partitions, _labels(server, layout, old), strict=True)
    ]
    return DrivePlan(
        verb="replace",
        old=leaving,
        new=as_changed(drive),
        partitions=partitions,
        leaves=[
            record.array.name
            for record in log_first(records)
            if server.arrays[record.array.name].member(old) is not None
        ],
    )


def _not_by_itself(server: PoolServer, records: Sequence[ArrayRecord], serial: str) -> str | None:
    """Why a drive cannot take its own place, with what to do; None where it is blank."""
    drive = server.present(serial)
    other = "name another drive with --with"
    if drive is None:
        return f"it is not in this server; put it back in, or {other}"
    for record in records:
        if member := server.arrays[record.array.name].member(serial):
            return f"it is {_STANDINGS[member.standing]} of {md.title(record.array)}; {other}"
    erase = f"erase it first ({command('millrace drive erase', serial)}), or {other}"
    if drive.state is DriveState.BLANK:
        return None
    if serial in server.apart:
        return f"it ran without its array and has changes that the pool lacks; copy what is needed and {erase}"
    if serial in server.removed:
        return f"it was taken out of the pool; {erase}"
    if drive.state is DriveState.OURS:
        return f"it is here and not in its array; see `journalctl -u millrace-readd`, or {other}"
    return f"it {obstacle(drive)}; {erase if drive.state is DriveState.FOREIGN else other}"


_STANDINGS: Mapping[Standing, str] = {
    "in-sync": "a member in sync",
    "rebuilding": "a member that is being rebuilt",
    "spare": "a hot spare",
    "faulty": "a faulty member",
}


def needed(server: PoolServer, old: str) -> DriveNeed:
    """Return what a drive must offer to take the place of the member `old`.

    Refused: it is no member, or its arrays do not allow it now; one sentence with the remedy.
    """
    require_member(server.pool, server.arrays, old)
    records = arrays_of(server, old)
    for record in records:
        _is_copied(server, record, old)
    if not recorded(server.pool, old):
        raise Refused(
            f"drive {old} never was in sync in {md.title(records[0].array)} and holds no place to replace; to take it "
            f"out: {command('millrace drive remove', old)}"
        )
    layout = _layout(server.pool, old, records)
    return DriveNeed(sum(partition.size for partition in layout.partitions), sector(server, records))


def require_member(pool: Pool, arrays: Mapping[str, ArrayNow], serial: str) -> None:
    """Verify that a drive is recorded as a member or hot spare of an array, or that md has it in one of the `arrays`.

    Refused: neither.
    """
    if not recorded(pool, serial) and all(one.member(serial) is None for one in arrays.values()):
        raise Refused(f"no array of the pool has a member {shown(serial)}; for all drives: millrace drive list")


def recorded(pool: Pool, serial: str) -> bool:
    """Whether pool.json has a drive as a member or hot spare of an array; one that never came into sync it has not."""
    return any(one.serial == serial for record in pool.arrays for one in (*record.members, *record.spares))


def changed(server: PoolServer, serial: str, records: Sequence[ArrayRecord]) -> ChangedDrive:
    """Return what is known of a member, also of one that is missing."""
    drive = server.present(serial)
    if drive is not None:
        return as_changed(drive)
    known = [one for record in records for one in (*record.members, *record.spares) if one.serial == serial]
    wwid = known[0].wwid if known else ""
    return ChangedDrive(serial=serial, wwid=wwid, bay=server.bays.get(serial), model="", size=None)


def as_changed(drive: Drive) -> ChangedDrive:
    """Return a drive of the inventory as a change names it."""
    return ChangedDrive(
        serial=drive.serial,
        wwid=drive.wwid,
        bay=drive.bay or drive.slot,
        model=drive.model,
        size=drive.size,
        discard=reads_zeroes(drive),
    )


def arrays_of(server: PoolServer, serial: str) -> list[ArrayRecord]:
    """Return the arrays of partitions that a drive belongs to. Refused: one of them does not run."""
    records = []
    for record in server.pool.arrays:
        if record.array.over_arrays:
            continue
        expected = any(member.serial == serial for member in (*record.members, *record.spares))
        now = server.arrays.get(record.array.name)
        if expected and now is None:
            raise Refused(
                f"{md.title(record.array)} does not run, so that its drives cannot be changed; "
                "see `systemctl status millrace-assemble`"
            )
        if expected or (now is not None and now.member(serial) is not None):
            records.append(record)
    return records


def _is_copied(server: PoolServer, record: ArrayRecord, serial: str) -> bool:
    """Whether md can copy a member that is in sync. Refused: it is being filled, or its array lacks another one."""
    now = server.arrays[record.array.name]
    member = now.member(serial)
    if member is None or member.standing in ("faulty", "spare"):
        return False
    if member.standing == "rebuilding":
        raise Refused(
            f"drive {serial} is being rebuilt in {md.title(record.array)}; wait for its end: millrace pool show"
        )
    if now.lacking:
        gone = [
            member.serial for member in record.members if (held := now.member(member.serial)) is None or not held.in_use
        ]
        raise Refused(
            f"{md.title(record.array)} is degraded, and {serial} still holds its data; replace the member that is "
            f"missing first: {command('millrace drive replace', gone[0] if gone else 'SERIAL')}"
        )
    return True


def _layout(pool: Pool, old: str, records: Sequence[ArrayRecord]) -> DriveRecord:
    """The partitions of the old drive, else of a neighbour with the same parts. Refused: there is no record of one."""
    if own := next((one for one in pool.drives if one.serial == old), None):
        return own
    roles = {one.array.role for one in records}
    for one in pool.drives:
        if roles <= {partition.role for partition in one.partitions}:
            return one
    raise Refused(f"the partitions of drive {old} are not recorded in pool.json; add another drive with mdadm")


def _labels(server: PoolServer, layout: DriveRecord, old: str) -> list[str]:
    """The labels of the old drive; those of a neighbour are in use, so the next free numbers."""
    if layout.serial == old:
        return [one.label for one in layout.partitions]
    return [free_label(server.pool, one.role) for one in layout.partitions]


def sector(server: PoolServer, records: Sequence[ArrayRecord]) -> int | None:
    """Return the logical block of the members that are here, in bytes; None where none is."""
    members = {one.who.serial for record in records for one in server.arrays[record.array.name].members}
    return max((one.logical_block for one in server.drives if one.serial in members), default=None)


def log_first(records: Sequence[ArrayRecord]) -> list[ArrayRecord]:
    """Return the arrays in the order in which a drive leaves them."""
    return sorted(records, key=lambda one: one.array.role is not Role.LOG)
