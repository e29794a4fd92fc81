# SPDX-License-Identifier: Apache-2.0
"""What is in the image and whether it fits its partitions, today and for the updates to come."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from host import sources
from millrace.system.errors import Failed

FIELD = re.compile(r"^(Package|Version|Installed-Size): (.+)$", re.MULTILINE)
LARGEST = 20
# A slot's size is fixed for the life of every installed machine, so a release leaves a quarter of it free.
USR_LIMIT = 0.75
MIB = 1 << 20
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# Which repart.d definition an installed machine's slot comes from, by the split's suffix.
SLOTS = {".esp.raw": "00-esp.conf", ".usr-x86-64-verity.raw": "10-usr-verity.conf", ".usr-x86-64.raw": "11-usr.conf"}


@dataclass(frozen=True)
class Package:
    """A package of the image; `size` in KiB, as dpkg's Installed-Size."""

    name: str
    version: str
    size: int


def erofs_size(path: Path) -> int:
    """Return how many bytes the erofs in `path` uses, from its superblock (linux/fs/erofs/erofs_fs.h).

    Failed: the file is no erofs.
    """
    with path.open("rb") as file:
        file.seek(1024)
        block = file.read(128)
    magic, _, _, bits = struct.unpack_from("<IIIB", block)
    if magic != 0xE0F5E1E2:
        raise Failed(f"{path} does not hold an erofs file system.")
    (blocks,) = struct.unpack_from("<I", block, 36)
    return int(blocks) << int(bits)


def slot_size(definition: Path) -> int:
    """Return the largest size in bytes that a repart.d definition allows its partition. Failed: it sets none."""
    match = re.search(r"^SizeMaxBytes=(\d+)([KMGT]?)$", definition.read_text(), re.MULTILINE)
    if match is None:
        raise Failed(f"{definition} has no SizeMaxBytes=: slots have a fixed size.")
    return int(match[1]) * UNITS[match[2]]


def check_slots(output: Path, name: str, definitions: Path) -> None:
    """Verify that each partition fits its slot on an installed machine. Failed: one does not."""
    for suffix, definition in SLOTS.items():
        split = output / (name + suffix)
        slot = slot_size(definitions / definition)
        if split.stat().st_size > slot:
            raise Failed(f"{split.name} has {split.stat().st_size} bytes and its slot in {definition} {slot}.")
    used = erofs_size(output / (name + ".usr-x86-64.raw"))
    slot = slot_size(definitions / SLOTS[".usr-x86-64.raw"])
    if used > slot * USR_LIMIT:
        raise Failed(f"/usr has {used // MIB} MiB, more than {USR_LIMIT:.0%} of its {slot // MIB} MiB slot.")
    loader = (output / (name + ".efi")).stat().st_size
    esp = slot_size(definitions / SLOTS[".esp.raw"])
    if 2 * loader > esp * USR_LIMIT:
        raise Failed(f"Two kernels of {loader // MIB} MiB do not fit in {USR_LIMIT:.0%} of the {esp // MIB} MiB ESP.")


def packages(status: Path) -> list[Package]:
    """Return the packages of `status`, a database of dpkg, largest first; none where there is no such file."""
    if not status.is_file():
        return []
    entries = [dict(FIELD.findall(paragraph)) for paragraph in status.read_text().split("\n\n")]
    installed = [
        Package(fields["Package"], fields["Version"], int(fields.get("Installed-Size", 0)))
        for fields in entries
        if "Version" in fields
    ]
    return sorted(installed, key=lambda package: (-package.size, package.name))


def print_report(output: Path, name: str, definitions: Path) -> None:
    """Print sizes, how full the /usr slot is and the largest packages."""
    raw = (output / (name + ".raw")).stat()
    slot = slot_size(definitions / SLOTS[".usr-x86-64.raw"])
    used = erofs_size(output / (name + ".usr-x86-64.raw"))
    loader = (output / (name + ".efi")).stat().st_size
    print(f"  image   {raw.st_size // MIB:6d} MiB, {raw.st_blocks * 512 // MIB} MiB of it on disk")
    print(f"  /usr    {used // MIB:6d} MiB, {used / slot:.0%} of its slot")
    print(f"  kernel  {loader // MIB:6d} MiB with initrd and microcode")
    print(f"  roothash {(output / (name + '.roothash')).read_text().strip()}")
    installed = packages(output / sources.STATUS)
    if installed:
        print(f"  {len(installed)} packages, {sum(p.size for p in installed) // 1024} MiB; the largest {LARGEST}:")
    for package in installed[:LARGEST]:
        print(f"  {package.size / 1024:8.1f} MiB  {package.name} {package.version}")
