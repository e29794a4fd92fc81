# SPDX-License-Identifier: Apache-2.0
"""srv-pool.mount, from the plan."""

from pathlib import Path

from millrace import paths
from millrace.plan.model import Filesystem
from millrace.plan.policy import SAFE_MOUNT_OPTIONS, UNSAFE_MOUNT_OPTIONS


def mount_unit(filesystem: Filesystem, plan_sha256: str) -> str:
    """The text of the unit. Pure."""
    from millrace.render import render

    # A pool that was made before these were planned gets them as well.
    missing = [option for option in SAFE_MOUNT_OPTIONS if option not in filesystem.mount_options]
    options = [*missing, *(option for option in filesystem.mount_options if option not in UNSAFE_MOUNT_OPTIONS)]
    if filesystem.log_device is not None and not any(option.startswith("logdev=") for option in options):
        options.append(f"logdev={filesystem.log_device}")
    return render(
        "etc/systemd/system/srv-pool.mount.j2",
        plan_sha256=plan_sha256,
        device=filesystem.device,
        mountpoint=filesystem.mountpoint,
        options=options,
    )


def mount_unit_file() -> Path:
    """Where systemd looks for it; the name follows from the mount point."""
    return paths.ROOT / "etc/systemd/system/srv-pool.mount"
