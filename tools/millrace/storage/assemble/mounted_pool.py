# SPDX-License-Identifier: Apache-2.0
"""Whether what is mounted is the pool of this server. NFS and SMB start only if it is."""

from millrace.storage.array.machine import System
from millrace.storage.array.signature import signature
from millrace.storage.provision.filesystem import Carrier, carriers
from millrace.storage.provision.mount_unit import REMOUNT, differences
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.system.errors import Failed
from millrace.system.mounts import mounted


def verify(system: System) -> Pool:
    """Return the pool, if its XFS with its log is mounted from its arrays, or from its external device.

    Failed: something else is mounted.
    """
    pool = load_pool()
    filesystem = pool.filesystem
    mount = mounted(filesystem.mountpoint)
    if mount is None:
        raise Failed(f"{filesystem.mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    if mount.kind != "xfs":
        raise Failed(f"{filesystem.mountpoint} is a {mount.kind}, not the pool")
    on = {carrier.device: carrier for carrier in carriers(pool.drives, pool.arrays)}
    _same_device(system, mount.source, on[filesystem.device], filesystem.mountpoint)
    uuid = signature(system, mount.source).get("UUID")
    if uuid != pool.filesystem_uuid:
        raise Failed(f"{filesystem.mountpoint} is the file system {uuid}; the pool is {pool.filesystem_uuid}")
    if filesystem.log_device is not None:
        log = next((o.removeprefix("logdev=") for o in mount.options if o.startswith("logdev=")), None)
        if log is None:
            raise Failed(f"{filesystem.mountpoint} is mounted without its log on {filesystem.log_device}")
        _same_device(system, log, on[filesystem.log_device], filesystem.mountpoint)
    return pool


def options_warning(pool: Pool) -> str | None:
    """Return a warning where the pool is mounted with other options than planned, which does not stop serving."""
    mount = mounted(pool.filesystem.mountpoint)
    differ = differences(pool.filesystem, mount.options) if mount else []
    return f"{pool.filesystem.mountpoint} is not mounted as planned: {', '.join(differ)}. {REMOUNT}" if differ else None


def _same_device(system: System, source: str, carrier: Carrier, point: str) -> None:
    if source.rsplit("/", 1)[-1] not in carrier.names(system):
        raise Failed(f"{point} uses {source}, which is not {carrier.title} of the pool")
