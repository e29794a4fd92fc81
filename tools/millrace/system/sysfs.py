# SPDX-License-Identifier: Apache-2.0
"""Files of the kernel in /sys and /proc.

An attribute may be missing, empty or refuse to be read, and none of these is an error here. A check of all drives reads
a thousand of them, twice a minute: so without the layers of a text file, which make twice the system calls.
"""

import os
import re
from pathlib import Path

# Five digits and more are domains behind Intel VMD.
PCI_FUNCTION = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

_CHUNK = 1 << 16


def text(path: Path) -> str | None:
    """Return an attribute without its blanks; None where there is none to read or it is empty."""
    found = content(path)
    return None if found is None else found.decode(errors="replace").strip("\0 \t\n") or None


def content(path: Path) -> bytes | None:
    """Return an attribute that is no text; None where there is none to read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while chunk := os.read(file, _CHUNK):
            data += chunk
    except OSError:
        return None
    finally:
        os.close(file)
    return data


def number(path: Path) -> int | None:
    """Return a decimal attribute; None where there is none."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def write(path: Path, value: str) -> None:
    """Set an attribute. OSError: the kernel refuses."""
    path.write_text(value)


def uevent(directory: Path) -> dict[str, str]:
    """Return the kernel's own properties of a device (PARTNAME, PARTUUID, DEVTYPE, …)."""
    lines = (text(directory / "uevent") or "").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def names(directory: Path) -> list[str]:
    """Return the names in a directory, sorted; none where it does not exist."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def pci_function(device: Path) -> Path | None:
    """Return the PCI function nearest to a device: bridges and ports come earlier in its path."""
    resolved = device.resolve()
    for directory in (resolved, *resolved.parents):
        if PCI_FUNCTION.fullmatch(directory.name):
            return directory
    return None


def numa_node(function: Path | None) -> int | None:
    """Return the NUMA node of a PCI function; None where the firmware does not report it (-1 in sysfs)."""
    node = number(function / "numa_node") if function else None
    return node if node is not None and node >= 0 else None
