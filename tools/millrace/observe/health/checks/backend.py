# SPDX-License-Identifier: Apache-2.0
"""Is the external device under the pool there, once, and may it be written?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.array.devices import block
from millrace.storage.assemble import external_device
from millrace.storage.provision.filesystem import OnPartition
from millrace.storage.record.model import Pool
from millrace.system import sysfs
from millrace.system.mounts import mounted

NAME = "backend"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each external device of the pool; none for a pool on arrays."""
    if host.pool is None:
        return []
    return [_device(host, host.pool, one) for one in external_device.parts(host.pool)]


def _device(host: Host, pool: Pool, part: OnPartition) -> HealthFinding:
    devices = external_device.devices(part.record.partuuid)
    title = f"External device {part.serial} ({part.record.role.value})"
    if not devices:
        return host.absent(NAME, f"{title} is missing.", _connect(pool, part.serial), "missing", part.serial)
    if len(devices) > 1:
        sentence = f"{title} is there {len(devices)} times: {', '.join(devices)}."
        todo = "Disconnect the snapshot or the second path before the next restart, which would start with either"
        return _finding(part, Level.FAIL, sentence, todo, "twice")
    if any(sysfs.text(path / "ro") == "1" for path in (block(devices[0]), block(devices[0]).resolve().parent)):
        sentence = f"{title} is read-only."
        return _finding(
            part, Level.FAIL, sentence, f"journalctl -k | grep {devices[0]}; see what keeps it there", "read-only"
        )
    return _finding(part, Level.OK, f"{title} is there.", None, "")


def _connect(pool: Pool, serial: str) -> str:
    """An XFS that has lost its device is shut down: it comes back with a mount."""
    if mounted(pool.filesystem.mountpoint) is not None:
        return f"Connect {serial} again, then restart the server: systemctl reboot"
    return f"Connect {serial} again, then: {external_device.AGAIN}"


def _finding(one: OnPartition, level: Level, sentence: str, todo: str | None, kind: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=one.serial, level=level, sentence=sentence, todo=todo)
