# SPDX-License-Identifier: Apache-2.0
"""Whether what is mounted is the pool of this server. NFS and SMB start only if it is."""

from millrace.errors import Failed
from millrace.plan.labels import array_link, array_path
from millrace.provision import md
from millrace.provision.model import ArrayRecord, Pool
from millrace.provision.mount_unit import REMOUNT, differences
from millrace.provision.pool_file import load_pool
from millrace.provision.signature import signature
from millrace.provision.system import System
from millrace.system.mounts import mounted


def verify(system: System) -> Pool:
    """Return the pool, if its XFS with its log is mounted from its arrays. Failed: something else is mounted."""
    pool = load_pool()
    filesystem = pool.filesystem
    mount = mounted(filesystem.mountpoint)
    if mount is None:
        raise Failed(f"{filesystem.mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    if mount.kind != "xfs":
        raise Failed(f"{filesystem.mountpoint} is a {mount.kind}, not the pool")
    arrays = {array_path(record.array.name): record for record in pool.arrays}
    _same_array(system, mount.source, arrays[filesystem.device], filesystem.mountpoint)
    found = signature(system, mount.source).get("UUID")
    if found != pool.filesystem_uuid:
        raise Failed(f"{filesystem.mountpoint} is the file system {found}; the pool is {pool.filesystem_uuid}")
    if filesystem.log_device is not None:
        log = next((o.removeprefix("logdev=") for o in mount.options if o.startswith("logdev=")), None)
        if log is None:
            raise Failed(f"{filesystem.mountpoint} is mounted without its log on {filesystem.log_device}")
        _same_array(system, log, arrays[filesystem.log_device], filesystem.mountpoint)
    return pool


def options_warning(pool: Pool) -> str | None:
    """Return a warning where the pool is mounted with other options than planned, which does not stop serving."""
    mount = mounted(pool.filesystem.mountpoint)
    differ = differences(pool.filesystem, mount.options) if mount else []
    return f"{pool.filesystem.mountpoint} is not mounted as planned: {', '.join(differ)}. {REMOUNT}" if differ else None


def _same_array(system: System, source: str, record: ArrayRecord, point: str) -> None:
    active = md.find(system, record.uuid)
    names = {active.device} if active is not None else set()
    if active is not None and md.linked(system, record, active):
        names.add(array_link(record.array.name))
    if source.rsplit("/", 1)[-1] not in names:
        raise Failed(f"{point} uses {source}, which is not {md.title(record.array)} of the pool")
