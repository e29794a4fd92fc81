# SPDX-License-Identifier: Apache-2.0
"""Is the pool mounted, does it take and return data, and is there room?"""

import re
from contextlib import suppress

from millrace.observe.health import heartbeat_client
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan import xfs_features
from millrace.serve.share import kept_snapshots
from millrace.storage.provision.mount_unit import REMOUNT, differences
from millrace.system.mounts import mounted
from millrace.system.text import size

NAME = "filesystem"
UNIT = "srv-pool.mount"

# Where free space lies between small files, direct writes lose a tenth at 90 % and half at 95 %, and buffered ones a
# quarter at 98 % (tools/perf full).
SCARCE, FULL = 90, 98
# What every call on an XFS that shut itself down returns (kernel 7.2, xfs_is_shutdown).
_SHUT_DOWN = "EIO"
# A shutdown ends with a mount, and a mount needs the log: unmounting under NFS and SMB takes a restart.
_RECOVER = "Put missing drives back in, then restart the server: systemctl reboot"
# Most replays take seconds. This one takes hours, or hangs.
MOUNT_SECONDS = 900
_ROOM = "Delete or move what is not needed any more."
_SNAPSHOTS = "Snapshots keep the space of deleted files: millrace snapshot list; then: millrace snapshot remove."


def check(host: Host) -> list[HealthFinding]:
    """Check the pool's file system: mounted, read-write, written and read just now, percentage in use, features."""
    if host.pool is None:
        return []
    return not_mounted(host) or [_failure(host) or _space(host), *_options(host), *_features(host)]


def not_mounted(host: Host) -> list[HealthFinding]:
    """Return what needs no access to the pool and no privileges: it is not mounted, or read-only."""
    if host.pool is None:
        return []
    mountpoint = host.pool.filesystem.mountpoint
    mount = mounted(mountpoint)
    if mount is None:
        if _is_mounting(host, mountpoint):
            return [_mounting(host, mountpoint)]
        return [host.absent(NAME, f"{mountpoint} is not mounted.", f"systemctl status {UNIT} millrace-pool.service")]
    if "ro" in mount.options:
        todo = "journalctl -k | grep XFS; then restart the server, and repair offline if it comes back like this"
        return [HealthFinding(check=NAME, level=Level.FAIL, sentence=f"{mountpoint} is mounted read-only.", todo=todo)]
    return []


def waiting(host: Host, check: str, who: str) -> list[HealthFinding]:
    """Return WARN for a server that starts when the pool is mounted, while it is being mounted; else empty."""
    if host.pool is None or not _is_mounting(host, host.pool.filesystem.mountpoint):
        return []
    sentence = f"{who} are served when {host.pool.filesystem.mountpoint} is mounted."
    return [HealthFinding(check=check, level=Level.WARN, sentence=sentence, todo=f"systemctl status {UNIT}")]


def unserved(host: Host, check: str, who: str) -> list[HealthFinding]:
    """Return FAIL with the cause for a server whose pool has failed: it serves nothing; empty where the pool is up."""
    if host.pool is None or not_mounted(host) or not host.heartbeat.problem or not host.heartbeat.known:
        return []
    sentence = f"{who} get errors: the file system of the pool has failed."
    return [HealthFinding(check=check, level=Level.FAIL, sentence=sentence, todo=_recover(host))]


def _recover(host: Host) -> str:
    if host.pool is None or host.pool.backend == "md":
        return _RECOVER
    devices = ", ".join(one.serial for one in host.pool.drives)
    return f"Connect the external device {devices} again, then restart the server: systemctl reboot"


def _options(host: Host) -> list[HealthFinding]:
    assert host.pool is not None
    filesystem = host.pool.filesystem
    found = mounted(filesystem.mountpoint)
    differ = differences(filesystem, found.options if found else [])
    sentence = f"{filesystem.mountpoint} is not mounted as planned: {', '.join(differ)}."
    finding = HealthFinding(check=NAME, kind="options", level=Level.WARN, sentence=sentence, todo=REMOUNT)
    return [finding] if differ else []


def _features(host: Host) -> list[HealthFinding]:
    assert host.pool is not None
    flags = host.heartbeat.features
    if flags is None or not (lacking := xfs_features.missing(flags)):
        return []
    sentence = f"{host.pool.filesystem.mountpoint} was made {'; '.join(xfs_features.clauses(flags))}."
    todo = xfs_features.remedy(lacking)
    return [HealthFinding(check=NAME, kind="features", level=Level.WARN, sentence=sentence, todo=todo)]


def _failure(host: Host) -> HealthFinding | None:
    assert host.pool is not None
    mountpoint, beat = host.pool.filesystem.mountpoint, host.heartbeat
    if beat.problem is None:
        return None
    if not beat.known:
        sentence = f"{mountpoint} could not be written to and read: {beat.problem}."
        todo = f"systemctl status {heartbeat_client.UNIT}"
        return HealthFinding(check=NAME, level=Level.UNKNOWN, sentence=sentence, todo=todo)
    if beat.error == "":
        sentence = f"{mountpoint} does not answer: {beat.problem}."
        what = "no drive comes" if host.pool.backend == "md" else "the external device does not come"
        todo = f"journalctl -k | grep -E 'XFS|md|nvme'; if {what} back, restart the server: systemctl reboot"
    elif beat.error == _SHUT_DOWN:
        sentence = f"{mountpoint} has failed ({beat.problem}): XFS has shut itself down. Clients get errors."
        todo = _recover(host)
    else:
        sentence = f"{mountpoint} cannot be written to: {beat.problem}."
        log = "journalctl -u millrace-heartbeat.service; journalctl -k | grep XFS"
        todo = _room(mountpoint) if beat.error == "ENOSPC" else log
    return HealthFinding(check=NAME, level=Level.FAIL, sentence=sentence, todo=todo)


def _room(mountpoint: str) -> str:
    """How to make room on a pool that answers."""
    with suppress(OSError):
        if kept_snapshots.shares(mountpoint):
            return f"{_ROOM} {_SNAPSHOTS}"
    return _ROOM


def _is_mounting(host: Host, mountpoint: str) -> bool:
    return mounted(mountpoint) is None and host.active_state(UNIT) == "activating"


def _mounting(host: Host, mountpoint: str) -> HealthFinding:
    """There is no time limit on a mount: the finding reports what it does, and is a failure where that takes long."""
    stamps = ["InactiveExitTimestamp", "InactiveExitTimestampMonotonic"]
    shown = host.query(["systemctl", "show", *(f"--property={stamp}" for stamp in stamps), UNIT]).out
    properties = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    clock = re.search(r"\b\d\d:\d\d", properties.get(stamps[0], ""))
    since = f" since {clock[0]}" if clock else ""
    # Where systemd does not tell, from the start of the server on. In microseconds, by a clock that is never put right.
    began = properties.get(stamps[1], "")
    if host.uptime - int(began if began.isdecimal() else 0) / 10**6 <= MOUNT_SECONDS:
        return HealthFinding(
            check=NAME,
            level=Level.WARN,
            sentence=f"{mountpoint} is being mounted{since}: XFS is replaying its log or counting quotas.",
            todo="Wait: clients are served as soon as it is done. Progress: journalctl -k | grep XFS",
        )
    return HealthFinding(
        check=NAME,
        level=Level.FAIL,
        sentence=f"{mountpoint} is still being mounted{since}, and no client is served: to replay the log of XFS or to "
        "count quotas may take hours.",
        todo="Do not restart the server: the mount would begin again. "
        "Drives and arrays that hang: journalctl -k | grep -E 'XFS|md|nvme'",
    )


def _space(host: Host) -> HealthFinding:
    assert host.pool is not None
    beat = host.heartbeat
    used = round(100 * (1 - (beat.free or 0) / (beat.size or 1)))
    level = Level.FAIL if used >= FULL else Level.WARN if used >= SCARCE else Level.OK
    return HealthFinding(
        check=NAME,
        kind="space",
        level=level,
        sentence=f"{host.pool.filesystem.mountpoint} is {used} % full, {size(beat.free or 0)} free.",
        todo=None if level is Level.OK else _room(host.pool.filesystem.mountpoint),
    )
