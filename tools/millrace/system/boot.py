# SPDX-License-Identifier: Apache-2.0
"""Which boot of this server it is."""

import time
from datetime import UTC, datetime, timedelta

from millrace.system import paths, sysfs


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return sysfs.text(paths.ROOT / "proc/sys/kernel/random/boot_id") or ""


def booted_at() -> datetime:
    """When this server was started, by the clock of now."""
    return datetime.now(UTC) - timedelta(seconds=time.monotonic())
