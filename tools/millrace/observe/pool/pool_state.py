# SPDX-License-Identifier: Apache-2.0
"""`millrace pool show`: the whole state, and its words."""

import os

from millrace.inventory.places import bays
from millrace.observe.pool.model import LiveBackend, LiveFilesystem, PoolState, ShareUsage
from millrace.plan.current import plan_in_force
from millrace.plan.model import Plan
from millrace.serve.share.desired import shares
from millrace.serve.share.usage import usage
from millrace.storage.array.devices import partition_device
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.array.live_model import LiveArray, Member
from millrace.storage.assemble import external_device
from millrace.storage.provision.filesystem import OnPartition
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import in_words
from millrace.system import paths
from millrace.system.errors import MillraceError
from millrace.system.mounts import mounted
from millrace.system.printing import Cell, notes, table
from millrace.system.run import Runner, attempt
from millrace.system.text import moment, pace, size


def state(pool: Pool, run: Runner = attempt) -> PoolState:
    """Return the pool as it is now; what cannot be read is null and has a note."""
    used, notes = usage(pool, run)
    filesystem = _filesystem(pool)
    if filesystem.mounted and filesystem.size is None:
        notes.append(f"{filesystem.mountpoint} does not answer")
    return PoolState(
        created=pool.created,
        plan_sha256=pool.plan_sha256,
        plan=_plan(notes),
        arrays=live_arrays(pool, bays()),
        backends=[_backend(part) for part in external_device.parts(pool)],
        filesystem=filesystem,
        shares=_shares(pool, used, notes),
        notes=notes,
    )


def _plan(notes: list[str]) -> str | None:
    try:
        found = plan_in_force()
    except MillraceError as error:
        notes.append(str(error))
        return None
    return found.proposal.title if found is not None and isinstance(found.proposal, Plan) else None


def _backend(one: OnPartition) -> LiveBackend:
    found = partition_device(one.record.partuuid)
    return LiveBackend(serial=one.serial, role=one.record.role, device=found, size=one.record.size)


def _filesystem(pool: Pool) -> LiveFilesystem:
    planned = pool.filesystem
    mount = mounted(planned.mountpoint)
    size = free = used = None
    if mount is not None:
        try:
            space = os.statvfs(paths.ROOT / planned.mountpoint.lstrip("/"))
        except OSError:
            pass
        else:
            size, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
            used = (space.f_blocks - space.f_bfree) * space.f_frsize
    return LiveFilesystem(
        mountpoint=planned.mountpoint,
        uuid=pool.filesystem_uuid,
        device=planned.device,
        log=planned.log_device.rpartition("/millrace-")[2] if planned.log_device else None,
        log_size=planned.log_size,
        mounted=mount is not None,
        read_only=mount is not None and "ro" in mount.options,
        size=size,
        used=used,
        free=free,
    )


def _shares(pool: Pool, used: dict[int, int], notes: list[str]) -> list[ShareUsage]:
    try:
        found = shares(pool)
    except MillraceError as error:
        notes.append(f"the shares cannot be listed: {error}")
        return []
    return [
        ShareUsage(name=one.name, path=one.path, used=used.get(one.project), size=one.size, soft_size=one.soft_size)
        for one in found
    ]


MEMBERS = ("Bay", "Serial", "Partition", "Device", "State")


def lines(pool: PoolState) -> list[str]:
    """Return text for a terminal."""
    filesystem = pool.filesystem
    said = [f"{filesystem.mountpoint}: XFS {filesystem.uuid}, {_space(filesystem)}"]
    for array in pool.arrays:
        said += ["", f"{array.name}: {array.level}, {array.state}{_degraded(array)}{_sync(array)}"]
        said += table(MEMBERS, map(_member, array.members), indent=2)
        said += notes([in_words(array.last_scrub)]) if array.level != "raid0" else []
    said += [""] * bool(pool.backends)
    said += [
        f"external device {backend.serial} ({backend.role}): {backend.device or 'missing'}" for backend in pool.backends
    ]
    said += ["", *table(("Share", "Used"), [(share.name, _used(share)) for share in pool.shares])]
    if pool.plan:
        said += ["", f"Plan in force: {pool.plan}, of {moment(pool.created)}; settings and reasons: millrace plan"]
    return said + [f"note: {note}" for note in pool.notes]


def _space(filesystem: LiveFilesystem) -> str:
    if not filesystem.mounted:
        return "not mounted"
    if filesystem.size is None or filesystem.free is None:
        return "does not answer"
    words = f"{size(filesystem.size)}, {size(filesystem.free)} free"
    return words + (", read-only" if filesystem.read_only else "")


def _degraded(array: LiveArray) -> str:
    if not array.degraded:
        return ""
    members = sum(one.planned and one.state != "spare" for one in array.members)
    return f", {array.degraded} of {members} members missing, {array.may_fail} more may fail"


def _sync(array: LiveArray) -> str:
    if array.sync is None:
        return ""
    if array.sync.progress is None:
        return f", {array.sync.action} is waiting"
    left = pace(array.sync.bytes_per_second, array.sync.seconds_left)
    return f", {array.sync.action} at {array.sync.progress:.1%}{left}"


def _member(member: Member) -> list[Cell]:
    state = member.state if member.planned else f"{member.state}, put in later"
    return [member.bay, member.serial, member.label, member.device, state]


def _used(share: ShareUsage) -> str:
    used = "not known" if share.used is None else size(share.used)
    return used if share.size is None else f"{used} of {size(share.size)}"
