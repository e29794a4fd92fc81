# SPDX-License-Identifier: Apache-2.0
"""Which boot of this server it is."""

from millrace import paths
from millrace.system import sysfs


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return sysfs.text(paths.ROOT / "proc/sys/kernel/random/boot_id") or ""
