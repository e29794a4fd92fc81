# SPDX-License-Identifier: Apache-2.0
"""A state for a pool that carries none which can be read: what its superblocks and directories still say.

It is a generation like a kept one, number 0, so that an adoption goes on in the same way. Its shares are closed.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from millrace import __version__
from millrace.lifecycle.adopt.arrays import OnDrives
from millrace.lifecycle.adopt.external import OnExternal
from millrace.lifecycle.adopt.trees import Trees, trees
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.generation_store import Newest
from millrace.lifecycle.keep.model import Manifest, ManifestMember
from millrace.plan.labels import array_path
from millrace.plan.model import Filesystem, MdArray, Role
from millrace.plan.policy.model import MOUNT_OPTIONS
from millrace.serve.config.model import FIRST_PROJECT, Config, DesiredShare
from millrace.serve.config.protocols import Nfs, Smb
from millrace.storage.array.machine import System
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.array.superblock import fields, slot_of
from millrace.storage.record.identity import BY_PARTUUID
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, PartitionRecord, Pool
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, Refused

CONFIG, POOL, QUOTAS = "var/lib/millrace/config.json", "var/lib/millrace/pool.json", "accounts/quotas.json"
NUMBER = 0
HOST = "another server"
NEXT_ID = 30_000
"""Files keep the numbers of users that nobody knows any more: new users get numbers far above those."""

SECTOR = 512
# xfs_format.h, struct xfs_dsb, big-endian: block size; where the log is; groups; log; sector; stripes in blocks
SUPERBLOCK = struct.Struct(">4sI40xQ28xII4xI2xH80xII")
MAGIC = b"XFSB"


def rebuilt(
    system: System,
    arrays: Sequence[OnDrives],
    names: Mapping[str, str],
    top: Path,
    uuid: str,
    damaged: Mapping[Path, str],
) -> Newest:
    """Return a state for the pool whose arrays are started and whose file system is mounted at `top`.

    `names` are the arrays by their devices, `damaged` kept states with the reason. Refused: a member is missing, which
    only a kept state could name. Failed: a superblock cannot be read.
    """
    for array in arrays:
        if array.missing:
            raise Refused(
                f"the pool carries no kept state that can be read, and array {array.name} lacks {array.missing} of "
                f"{array.slots} members, which only such a state names: put the missing drives in"
            )
    devices = {array: device for device, array in names.items()}
    records = [_record(system, array, names) for array in arrays]
    pool = Pool(
        plan_sha256="",
        created=system.now(),
        drives=_drives(records, [name for array in arrays for name in (*array.members, *array.spares)], system),
        arrays=records,
        filesystem=_filesystem(f"/dev/{devices[Role.DATA.value]}", Role.LOG.value in devices),
        filesystem_uuid=uuid,
    )
    return _newest(pool, top, damaged)


def rebuilt_external(
    system: System, external: OnExternal, device: str, top: Path, damaged: Mapping[Path, str]
) -> Newest:
    """Return a state for the pool on an external device whose file system is on `device` and mounted at `top`.

    Failed: its superblock cannot be read.
    """
    by_name = {name: f"{BY_PARTUUID}{external.parts[name].partuuid}" for name in external.names}
    filesystem = _filesystem(device, external.log is not None)
    # a log inside is not on the other device, whatever that has
    outside = by_name[external.log] if external.log and filesystem.log_device else None
    pool = Pool(
        backend="external",
        plan_sha256="",
        created=system.now(),
        drives=external.drives(system),
        arrays=[],
        filesystem=filesystem.model_copy(update={"device": by_name[external.data], "log_device": outside}),
        filesystem_uuid=external.uuid,
    )
    return _newest(pool, top, damaged)


def _newest(pool: Pool, top: Path, damaged: Mapping[Path, str]) -> Newest:
    uuid, found = pool.filesystem_uuid, trees(top)
    stored = {
        POOL: _json(pool),
        CONFIG: _json(_config(found)),
        QUOTAS: _quotas(uuid, found),
    }
    return Newest(NUMBER, Generation(_manifest(pool, found, stored), stored), dict(damaged))


def _quotas(uuid: str, found: Trees) -> bytes:
    """Their projects are set: no tree is walked but a loose one. The limits are not known, and are set again."""
    known = {f"{uuid}/{name}": f"{project} ?" for name, project in found.projects.items() if name not in found.loose}
    return TypeAdapter(dict[str, str]).dump_json(known)


def _config(found: Trees) -> Config:
    closed = [
        DesiredShare(name=name, type="mixed", project=project, nfs=Nfs(enabled=False), smb=Smb(enabled=False))
        for name, project in found.projects.items()
    ]
    after = max((FIRST_PROJECT, *(1 + project for project in found.projects.values())))
    return Config(shares=closed, next_id=NEXT_ID, next_project=after)


def _record(system: System, on_drives: OnDrives, names: Mapping[str, str]) -> ArrayRecord:
    about = {name: fields(system, name) for name in on_drives.members}
    ordered = sorted(on_drives.members, key=lambda name: slot_of(about[name]) or 0)
    over = on_drives.level == "raid0"
    members = [] if over else [system.identity(name) for name in ordered]
    spares = [system.identity(name) for name in sorted(on_drives.spares)]
    first = about[ordered[0]]
    array = MdArray.model_validate(
        {
            "name": on_drives.name,
            "level": on_drives.level,
            "members": [names[name] for name in ordered] if over else [member.serial for member in members],
            "spares": [spare.serial for spare in spares],
            "over_arrays": over,
            "role": Role.LOG if on_drives.name == Role.LOG.value else Role.DATA,
            "chunk": _kib(first.get("Chunk Size", "")),
            "data_members": 1 if on_drives.level == "raid1" else on_drives.slots - LOST_MEMBERS[on_drives.level],
            "bitmap": "internal" if "Internal Bitmap" in first else "none",
            "bitmap_chunk": None,
        }
    )
    return ArrayRecord(array=array, uuid=on_drives.uuid, members=members, spares=spares)


def _kib(text: str) -> int | None:
    """`128K`, as mdadm prints a chunk, in bytes."""
    return int(text[:-1]) << 10 if text.endswith("K") and text[:-1].isdecimal() else None


def _drives(records: Sequence[ArrayRecord], names: Sequence[str], system: System) -> list[DriveRecord]:
    """The partitions of each drive that arrays use; the identity of its table is not needed any more."""
    kernel = {system.identity(name).partuuid: name for name in names}
    drives: dict[str, DriveRecord] = {}
    for record in records:
        for member in (*record.members, *record.spares):
            if not member.partuuid:
                continue
            part = _partition(record, member, kernel[member.partuuid])
            before = drives.get(member.serial)
            partitions = [*(before.partitions if before else []), part]
            drives[member.serial] = DriveRecord(
                serial=member.serial, wwid=member.wwid, disk_label="", partitions=partitions
            )
    return [drives[serial] for serial in sorted(drives)]


def _partition(record: ArrayRecord, member: MemberRecord, name: str) -> PartitionRecord:
    sectors = sysfs.number(paths.ROOT / "sys/class/block" / name / "size") or 0
    return PartitionRecord(role=record.array.role, size=sectors * SECTOR, label=member.label, partuuid=member.partuuid)


def _filesystem(device: str, with_log: bool) -> Filesystem:
    try:
        with (paths.ROOT / device.lstrip("/")).open("rb") as opened:
            magic, block, log_start, group, groups, log, sector, unit, width = SUPERBLOCK.unpack(
                opened.read(SUPERBLOCK.size)
            )
    except (OSError, struct.error) as error:
        raise Failed(f"the superblock of the file system on {device} cannot be read") from error
    if magic != MAGIC:
        raise Failed(f"{device} has no file system of the kind XFS")
    external = log_start == 0
    if external and not with_log:
        raise Failed("the array with the log of the file system is not on these drives")
    return Filesystem(
        label="millrace",
        mountpoint="/srv/pool",
        device=array_path(Role.DATA.value),
        log_device=array_path(Role.LOG.value) if external else None,
        log_size=log * block if external else None,
        stripe_unit=unit * block,
        stripe_width=width // unit if unit else 0,
        allocation_groups=groups,
        allocation_group_size=group * block,
        sector=sector,
        mount_options=list(MOUNT_OPTIONS),
    )


def _manifest(pool: Pool, directories: Trees, stored: Mapping[str, bytes]) -> Manifest:
    members = [
        ManifestMember(path=path, mode=0o644, secret=False, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for path, data in sorted(stored.items())
    ]
    return Manifest(
        generation=NUMBER,
        written=pool.created,
        release=__version__,
        host=HOST,
        pool=pool.filesystem_uuid,
        pool_generation=pool.generation,
        seal=None,
        decided="",
        records="",
        members=members,
        problems=directories.problems,
    )


def _json(model: BaseModel) -> bytes:
    return model.model_dump_json(indent=2).encode()
