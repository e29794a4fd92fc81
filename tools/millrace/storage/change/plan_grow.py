# SPDX-License-Identifier: Apache-2.0
"""How much larger a pool becomes on the drives that it has now. Pure functions; what is not possible is Refused."""

from collections.abc import Sequence

from millrace.inventory.model import Drive
from millrace.plan.model import Role
from millrace.plan.sizes import TABLE_END, partition_size
from millrace.storage.array import md
from millrace.storage.assemble import grown_legs
from millrace.storage.change.candidates import named, place
from millrace.storage.change.plan_replace import PoolServer
from millrace.storage.record.drive_change import DrivePlan, GrownPartition
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, PartitionRecord, WaitingGrowth
from millrace.system.command import command
from millrace.system.errors import Refused
from millrace.system.text import MIB, size

SMALLEST_GAIN = 256 * MIB
"""Bytes of each drive: more than md keeps in front of the data, so that the result can be told from what was before."""
SMALLEST_GAIN_OF_LEGS = 512 * MIB
"""Bytes of each drive: so that legs that have grown can be told from what a RAID0 leaves of each."""


def growth(server: PoolServer) -> DrivePlan:
    """Plan to use all of the drives: the data partition of each is enlarged by as much as the smallest of them allows.

    Refused: the layout cannot grow, the pool is degraded or lacks a drive, or a drive has no more room.
    """
    top = _top_array(server)
    waiting = server.pool.growth
    if waiting is not None and not server.uneven:
        return _second_part(waiting)
    records = _arrays(server, top)
    drives = [(member, _drive(server, member)) for record in records for member in _in_sync(server, record)]
    old = {_data(_record(server, member)).size for member, _ in drives}
    room = {drive.serial: _room(_record(server, member), drive) for member, drive in drives}
    new, before = min(room.values()), min(old)
    reserve = grown_legs.RESERVE if top.array.over_arrays else 0
    least = SMALLEST_GAIN_OF_LEGS if top.array.over_arrays else SMALLEST_GAIN
    gain = (new - before - reserve) * sum(record.array.data_members for record in records)
    if new - max(old) < least and server.uneven and len(old) == 1:
        # what the smaller legs lack: a restart alone changes nothing
        new, gain = before, waiting.gain if waiting else server.unused
    elif new - max(old) < least and server.unused:
        return _grown_already(top, server.unused)
    elif new - max(old) < least and server.unfilled:
        return grown_legs.file_system(WaitingGrowth(array=top.array.name, gain=server.unfilled, by="", started=True))
    elif new - max(old) < least:
        small = [named(drive.serial, place(drive)) for _, drive in drives if room[drive.serial] - before < least]
        larger = " or ".join(small[:1]) if len(small) == 1 else f"{len(small)} drives ({', '.join(small)})"
        serial = next(drive.serial for _, drive in drives if room[drive.serial] - before < least)
        raise Refused(
            f"{larger} cannot give more than the {size(before)} that the pool uses of each drive; replace each by a "
            f"larger one first: {command('millrace drive replace', serial)}"
        )
    grown = [
        GrownPartition(
            serial=drive.serial,
            bay=place(drive),
            label=_data(_record(server, member)).label,
            before=_data(_record(server, member)).size,
            size=new,
        )
        for member, drive in drives
    ]
    return DrivePlan(
        verb="grow",
        old=None,
        new=None,
        partitions=[],
        leaves=[],
        grows=grown,
        array=top.array.name,
        gain=gain,
        legs=[*top.array.members] if top.array.over_arrays else [],
    )


def _grown_already(top: ArrayRecord, gain: int) -> DrivePlan:
    """What is left where the legs have grown, and nobody knows it any more."""
    return DrivePlan(
        verb="grow",
        old=None,
        new=None,
        partitions=[],
        leaves=[],
        array=top.array.name,
        gain=gain,
        legs=top.array.members,
    )


def _second_part(waiting: WaitingGrowth) -> DrivePlan:
    """What is left after the legs have grown."""
    if waiting.started:
        return grown_legs.file_system(waiting)
    raise Refused(
        f"the legs have grown already, and the pool uses {size(waiting.gain)} more after the next restart of the "
        "server: systemctl reboot"
    )


def _top_array(server: PoolServer) -> ArrayRecord:
    """The array that the file system lies on."""
    if server.pool.backend != "md":
        raise Refused("the pool lies on an external device: enlarge that, and see the manual of external backends")
    data = [record for record in server.pool.arrays if record.array.role is Role.DATA]
    return next((record for record in data if record.array.over_arrays), data[0])


def _arrays(server: PoolServer, top: ArrayRecord) -> list[ArrayRecord]:
    """The arrays that lie on drives: the legs of a RAID0, else the array itself."""
    if not top.array.over_arrays:
        return [top]
    return [record for record in server.pool.arrays if record.array.name in top.array.members]


def _in_sync(server: PoolServer, record: ArrayRecord) -> Sequence[MemberRecord]:
    """The members and hot spares of an array that lacks none. Refused: it is degraded, or does not run."""
    now = server.arrays.get(record.array.name)
    if now is None:
        raise Refused(f"{md.title(record.array)} does not run; see `systemctl status millrace-assemble`")
    gone = [
        member.serial for member in record.members if (held := now.member(member.serial)) is None or not held.in_use
    ]
    if gone:
        raise Refused(
            f"{md.title(record.array)} is degraded and is not enlarged; replace the member that is missing first: "
            f"{command('millrace drive replace', gone[0])}"
        )
    if now.lacking:
        raise Refused(f"{md.title(record.array)} is being rebuilt; wait for its end: millrace pool show")
    if missing := [spare.serial for spare in record.spares if now.member(spare.serial) is None]:
        raise Refused(
            f"hot spare {missing[0]} is missing; put it back in, or take it out: "
            f"{command('millrace drive remove', missing[0])}"
        )
    return [*record.members, *record.spares]


def _record(server: PoolServer, member: MemberRecord) -> DriveRecord:
    found = next((drive for drive in server.pool.drives if drive.serial == member.serial), None)
    if found is None or not member.partuuid:
        raise Refused(
            f"member {member.serial} has no partition of Millrace, because it was added by hand; replace it: "
            f"{command('millrace drive replace', member.serial)}"
        )
    if found.partitions[-1].role is not Role.DATA:
        raise Refused(f"the data partition of drive {member.serial} is not its last one and cannot be enlarged")
    return found


def _data(record: DriveRecord) -> PartitionRecord:
    return record.partitions[-1]


def _drive(server: PoolServer, member: MemberRecord) -> Drive:
    found = server.present(member.serial)
    if found is None:
        raise Refused(f"drive {member.serial} was not found among the drives of this server; see `millrace drive list`")
    return found


def _room(record: DriveRecord, drive: Drive) -> int:
    """The bytes that its data partition can have, with the same reserve for a smaller replacement as in a plan."""
    others = sum(partition.size for partition in record.partitions[:-1])
    room = min(partition_size([drive]), drive.size - record.start - TABLE_END) - others
    return room // MIB * MIB
