# SPDX-License-Identifier: Apache-2.0
"""srv-pool.mount, from the plan."""

from collections.abc import Collection
from pathlib import Path

from millrace.plan.model import Filesystem
from millrace.plan.policy.model import MOUNT_OPTIONS, SAFE_MOUNT_OPTIONS, UNSAFE_MOUNT_OPTIONS
from millrace.system import paths

REMOUNT = "Remove drop-ins of srv-pool.mount (systemctl cat srv-pool.mount), then restart the server: systemctl reboot"

_OURS = {option.partition("=")[0] for option in MOUNT_OPTIONS}
_OTHER_ATIME = {"atime", "relatime", "strictatime"}


def mount_unit(filesystem: Filesystem, plan_sha256: str) -> str:
    """Return the text of the unit. Pure."""
    from millrace.system.render import render

    options = _safe(filesystem)
    if filesystem.log_device is not None and not any(option.startswith("logdev=") for option in options):
        options.append(f"logdev={filesystem.log_device}")
    return render(
        "etc/systemd/system/srv-pool.mount.j2",
        plan_sha256=plan_sha256,
        device=filesystem.device,
        mountpoint=filesystem.mountpoint,
        options=options,
    )


def differences(filesystem: Filesystem, mounted: Collection[str]) -> list[str]:
    """Return how the options of the mounted pool differ from the planned ones; `mounted` as proc(5) shows them.

    Options that an administrator added are compared only where they replace one of ours: the kernel shows others in
    forms of its own.
    """
    planned = _safe(filesystem)
    shown = {name: value for name, _, value in (option.partition("=") for option in mounted)}
    problems = []
    for option in planned:
        name, _, value = option.partition("=")
        if name not in _OURS or (name == "noatime" and not _OTHER_ATIME.isdisjoint(planned)):
            continue
        if name not in shown:
            problems.append(f"{name} is missing")
        elif _number(shown[name]) != _number(value):
            problems.append(f"{name} is {shown[name]}, not {value}")
    return problems


def _safe(filesystem: Filesystem) -> list[str]:
    """The planned options. A pool that was made before the safe ones were planned gets them as well."""
    missing = [option for option in SAFE_MOUNT_OPTIONS if option not in filesystem.mount_options]
    return [*missing, *(option for option in filesystem.mount_options if option not in UNSAFE_MOUNT_OPTIONS)]


def _number(value: str) -> str | int:
    """xfs(5): sizes may end in k, m or g; the kernel shows k."""
    units = {"k": 10, "m": 20, "g": 30}
    digits, shift = (value[:-1], units[value[-1:].lower()]) if value[-1:].lower() in units else (value, 0)
    return int(digits) << shift if digits.isdecimal() else value


def mount_unit_file() -> Path:
    """Return the path at which systemd searches for it; the name follows from the mount point."""
    return paths.ROOT / "etc/systemd/system/srv-pool.mount"
