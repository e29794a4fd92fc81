# SPDX-License-Identifier: Apache-2.0
"""A pool on an external device, without md: the partitions that Millrace made on it. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.lifecycle.adopt.arrays import MIXED
from millrace.plan.model import Role
from millrace.storage.array.machine import System
from millrace.storage.array.signature import signature
from millrace.storage.record.model import DriveRecord, MemberRecord, PartitionRecord, Pool
from millrace.system.errors import BadInput, Refused

KINDS = {"xfs": Role.DATA, "xfs_external_log": Role.LOG}


@dataclass(frozen=True)
class OnExternal:
    """The file system of a pool, and its log where that has a partition of its own, by kernel name; `uuid` is XFS's."""

    uuid: str
    data: str
    log: str | None
    parts: dict[str, MemberRecord]

    @property
    def names(self) -> list[str]:
        """The partitions by kernel name."""
        return [self.data, *([self.log] if self.log else [])]

    @property
    def serials(self) -> list[str]:
        """The serial numbers of the devices."""
        return [self.parts[name].serial for name in self.names]

    def drives(self, system: System) -> list[DriveRecord]:
        """Return the record of the devices as a pool has it; the identity of their tables is not needed any more."""
        found = []
        for name, role in ((self.data, Role.DATA), (self.log, Role.LOG)):
            if name is not None:
                one = self.parts[name]
                size = system.partition_size(name)
                part = PartitionRecord(role=role, size=size, label=one.label, partuuid=one.partuuid)
                found.append(DriveRecord(serial=one.serial, wwid=one.wwid, disk_label="", partitions=[part]))
        return found


def on_external(system: System) -> OnExternal | None:
    """Return the pool on external devices of this server; None if there is none.

    Refused: there are several. Failed: a partition cannot be probed.
    """
    roles = {name: role for name, kind in sorted(system.pool_partitions().items()) if (role := KINDS.get(kind))}
    data = [name for name, role in roles.items() if role is Role.DATA]
    if not data:
        return None
    parts = {name: system.identity(name) for name in roles}
    if len(data) > 1:
        raise Refused(f"{len(data)} external devices carry a pool: {_named(data, parts)}. {_several(data, parts)}")
    uuid = signature(system, f"/dev/{data[0]}").get("UUID", "")
    logs = [name for name, role in roles.items() if role is Role.LOG and _log_of(system, name) == uuid]
    if len(logs) > 1:
        raise Refused(f"{len(logs)} external devices carry the log of the pool: {_named(logs, parts)}. {MIXED}")
    return OnExternal(uuid, data[0], logs[0] if logs else None, parts)


def verify_external(pool: Pool, here: OnExternal) -> None:
    """Verify that a kept pool is the one of these devices.

    BadInput: it is on arrays. Refused: it is on other partitions, or one of them is missing.
    """
    if pool.backend != "external":
        raise BadInput("the state on the external device is that of a pool on arrays")
    wanted = {part.partuuid: drive.serial for drive in pool.drives for part in drive.partitions}
    there = {here.parts[name].partuuid for name in here.names}
    missing = [serial for partuuid, serial in wanted.items() if partuuid not in there]
    if missing:
        raise Refused(
            f"the pool is on another external device, too: {', '.join(missing)}; connect it, and run "
            "`millrace pool find` again"
        )


def _log_of(system: System, name: str) -> str:
    return signature(system, f"/dev/{name}").get("LOGUUID", "")


def _several(names: Sequence[str], parts: dict[str, MemberRecord]) -> str:
    if len({parts[name].partuuid for name in names}) < len(names):
        return "One is a snapshot or a second path of the other: disconnect it, and run `millrace pool find` again"
    return MIXED


def _named(names: Sequence[str], parts: dict[str, MemberRecord]) -> str:
    return ", ".join(f"{name} ({parts[name].serial})" for name in names)
