# SPDX-License-Identifier: Apache-2.0
"""A blank drive becomes a hot spare, and a drive that no array needs is taken out. Pure functions."""

from millrace.plan.model import Role
from millrace.storage.array import md
from millrace.storage.change.candidates import DriveNeed, chosen, free_label
from millrace.storage.change.plan_replace import PoolServer, arrays_of, as_changed, changed, log_first, sector
from millrace.storage.record.drive_change import DrivePlan, NewPartition
from millrace.storage.record.model import ArrayRecord
from millrace.system.command import command
from millrace.system.errors import Refused


def addition(server: PoolServer, new: str) -> DrivePlan:
    """Plan to make the blank drive `new` a hot spare of a data array, and of the log where that has none.

    Refused: an array lacks a member, which the drive is to replace; no array has redundancy; or it does not fit.
    """
    arrays = [record for record in server.pool.arrays if not record.array.over_arrays and record.array.level != "raid0"]
    for record in arrays:
        now = server.arrays.get(record.array.name)
        if now is None:
            raise Refused(f"{md.title(record.array)} does not run; see `systemctl status millrace-assemble`")
        if now.lacking:
            gone = [member.serial for member in record.members if now.member(member.serial) is None]
            raise Refused(
                f"{md.title(record.array)} lacks a member and needs no spare; replace that one: "
                f"{command('millrace drive replace', gone[0] if gone else 'SERIAL')}"
            )
    data = min(
        (record for record in arrays if record.array.role is Role.DATA),
        key=lambda record: len(record.spares),
        default=None,
    )
    layout = next(
        (drive for drive in server.pool.drives if Role.DATA in {part.role for part in drive.partitions}), None
    )
    if data is None or layout is None:
        raise Refused("no array of the pool has redundancy, so that none takes a hot spare")
    need = DriveNeed(sum(partition.size for partition in layout.partitions), sector(server, [data]))
    drive = chosen(server.drives, need, f"cannot add drive {new}", "", None, new)
    joined: dict[Role, str] = {data.array.role: data.array.name}
    joined |= {
        record.array.role: record.array.name for record in arrays if record.array.role is Role.LOG and not record.spares
    }
    partitions = [
        NewPartition(
            role=partition.role,
            size=partition.size,
            label=free_label(server.pool, partition.role),
            array=joined.get(partition.role),
            copies=False,
        )
        for partition in layout.partitions
    ]
    return DrivePlan(verb="add", old=None, new=as_changed(drive), partitions=partitions, leaves=[])


def removal(server: PoolServer, serial: str) -> DrivePlan:
    """Plan to take a hot spare or a faulty member out of its arrays. Refused: it is missing, or an array needs it."""
    records = arrays_of(server, serial)
    for record in records:
        member = server.arrays[record.array.name].member(serial)
        if member is not None and member.in_use:
            raise Refused(
                f"drive {serial} is in use in {md.title(record.array)}; to take it out with redundancy kept: "
                f"{command('millrace drive replace', serial)}"
            )
    leaves = [record for record in log_first(records) if _has(server, record, serial)]
    if not leaves:
        raise Refused(f"drive {serial} is in no array now; if it is in the server, it may be pulled")
    return DrivePlan(
        verb="remove",
        old=changed(server, serial, records),
        new=None,
        partitions=[],
        leaves=[record.array.name for record in leaves],
        # the place of a spare that failed stays, and is reported until another drive has it
        fewer_spares=[record.array.name for record in leaves if _is_spare(server, record, serial)],
    )


def _is_spare(server: PoolServer, record: ArrayRecord, serial: str) -> bool:
    member = server.arrays[record.array.name].member(serial)
    return member is not None and member.standing == "spare"


def _has(server: PoolServer, record: ArrayRecord, serial: str) -> bool:
    return server.arrays[record.array.name].member(serial) is not None
