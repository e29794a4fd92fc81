# SPDX-License-Identifier: Apache-2.0
"""Memory modules and error correction, from the firmware's tables (root only) and the kernel's EDAC drivers.

By hand: a captured server holds the kernel's files, and dmidecode would be a package more whose text has to be parsed.
"""

from pathlib import Path

from millrace.inventory.model import Dimm
from millrace.system import sysfs
from millrace.system.text import KIB, MIB

# SMBIOS reference specification, memory array (type 16) and memory device (type 17): offsets and values.
ARRAY, DEVICE = 16, 17
CORRECTION = 0x06
CORRECTS, CORRECTS_NOT = {4, 5, 6, 7}, {3}
SIZE, EXTENDED_SIZE, SPEED = 0x0C, 0x1C, 0x20
NO_MODULE, SIZE_UNKNOWN, SIZE_IS_EXTENDED, SIZE_IN_KIB = 0, 0xFFFF, 0x7FFF, 0x8000
EDAC_OFF = {"None"}
EDAC_SAYS_NOTHING = {None, "Unknown", "Reserved"}


def dimms(sysroot: Path) -> list[Dimm]:
    """Return the memory modules that are plugged in."""
    found = []
    for entry in _tables(sysroot, DEVICE):
        size = _module_size(entry)
        if size:
            found.append(Dimm(size=size, speed=_word(entry, SPEED) or None))
    return found


def ecc(sysroot: Path) -> bool | None:
    """Return whether memory errors are corrected; None where neither kernel nor firmware report it."""
    directory = sysroot / "sys/devices/system/edac/mc"
    modes = {
        sysfs.text(directory / controller / part / name)
        for controller in sysfs.names(directory)
        for part in sysfs.names(directory / controller)
        for name in ("dimm_edac_mode", "edac_mode")
    } - EDAC_SAYS_NOTHING
    if modes:
        return not modes & EDAC_OFF
    kinds = {entry[CORRECTION] for entry in _tables(sysroot, ARRAY) if len(entry) > CORRECTION}
    if kinds & CORRECTS_NOT:
        return False
    return True if kinds & CORRECTS else None


def _module_size(entry: bytes) -> int:
    size = _word(entry, SIZE)
    if size in (NO_MODULE, SIZE_UNKNOWN):
        return 0
    if size == SIZE_IS_EXTENDED:
        return int.from_bytes(entry[EXTENDED_SIZE : EXTENDED_SIZE + 4], "little") * MIB
    return (size & ~SIZE_IN_KIB) * (KIB if size & SIZE_IN_KIB else MIB)


def _word(entry: bytes, offset: int) -> int:
    return int.from_bytes(entry[offset : offset + 2], "little")


def _tables(sysroot: Path, kind: int) -> list[bytes]:
    """The formatted part of each table: the strings behind it hold serial numbers."""
    directory = sysroot / "sys/firmware/dmi/entries"
    tables = []
    for name in sysfs.names(directory):
        if name.partition("-")[0] == str(kind):
            try:
                raw = (directory / name / "raw").read_bytes()
            except OSError:
                continue
            tables.append(formatted(raw))
    return tables


def formatted(raw: bytes) -> bytes:
    """Return the part of an SMBIOS table before its strings: its second byte is the length."""
    return raw[: raw[1]] if len(raw) > 1 else b""
