# SPDX-License-Identifier: Apache-2.0
"""What udev has read of block devices. No command is sent to a drive: one that hangs must not delay the caller."""

from pathlib import Path

from millrace.system import sysfs

MD_MEMBER = "linux_raid_member"


def properties(sysroot: Path, block: Path) -> dict[str, str]:
    """Return the properties of a block device by its sysfs directory (ID_FS_TYPE, ID_FS_UUID, …); none if unknown."""
    lines = _lines(sysroot, block)
    return dict(line.removeprefix("E:").split("=", 1) for line in lines if line.startswith("E:") and "=" in line)


def by_id(sysroot: Path, block: Path) -> list[str]:
    """Return the names of a block device in /dev/disk/by-id, sorted; none if unknown."""
    links = (line.removeprefix("S:") for line in _lines(sysroot, block) if line.startswith("S:"))
    return sorted(f"/dev/{link}" for link in links if link.startswith("disk/by-id/"))


def _lines(sysroot: Path, block: Path) -> list[str]:
    number = sysfs.text(block / "dev")
    return (sysfs.text(sysroot / f"run/udev/data/b{number}") or "").splitlines()
