# SPDX-License-Identifier: Apache-2.0
"""`tools/flash`: write an image to a boot drive, and read it back."""

import argparse
import errno
import fcntl
import hashlib
import mmap
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from host import artefacts, block_device, secure_boot
from host.block_device import BlockDevice
from host.entry import finish
from host.layout import OUTPUT, REPO
from host.progress import Status
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.text import size

CHUNK = 4 << 20
# The partition table and what is before the first partition: written last, so that a cut write does not boot.
HEAD = 1 << 20
# The partition table of an earlier owner at the end of the drive.
TAIL = 1 << 20
# <linux/fs.h>
BLKRRPART, BLKFLSBUF = 0x125F, 0x1261

Show = Callable[[str], None]


def verified(image: Path, show: Show) -> str:
    """Return the SHA-256 of an image.

    BadInput: it cannot be read, or is no image of an appliance. Failed: it is not what the SHA256SUMS beside it has.
    """
    try:
        size = image.stat().st_size
        secure_boot.esp_offset(image)
        checksum = _digest(_blocks(image, size), size, "reading the image", show)
    except OSError as error:
        raise BadInput(f"{image} cannot be read: {error.strerror}.") from error
    except Failed as error:
        raise BadInput(f"{image} is no image of a boot drive: it has no ESP; tools/build makes one.") from error
    sums = image.with_name(artefacts.SUMS)
    lines = sums.read_text().splitlines() if sums.is_file() else []
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if listed.get(image.name, checksum) != checksum:
        raise Failed(f"{image} is not the file that {sums} lists; build or copy it again.")
    return checksum


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        left = size
        while left > 0 and (block := file.read(min(CHUNK, left))):
            left -= len(block)
            yield block


class _Rate:
    """`writing: 1.2 of 3.3 GB, 250 MB/s` while it goes on."""

    def __init__(self, what: str, size: int, show: Show) -> None:
        self._what, self._size, self._show = what, size, show
        self._begin, self._done = time.monotonic(), 0

    def add(self, count: int) -> None:
        self._done += count
        rate = self._done / 1e6 / max(time.monotonic() - self._begin, 1e-3)
        self._show(f"{self._what}: {self._done / 1e9:.1f} of {self._size / 1e9:.1f} GB, {rate:.0f} MB/s")


def _digest(blocks: Iterator[bytes], size: int, what: str, show: Show) -> str:
    digest, rate = hashlib.sha256(), _Rate(what, size, show)
    for block in blocks:
        digest.update(block)
        rate.add(len(block))
    return digest.hexdigest()


def _write_at(descriptor: int, offset: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        offset, view = offset + count, view[count:]


def write(image: Path, target: Path, size: int, show: Show) -> None:
    """Write an image to a device of `size` bytes, its partition table last. OSError where the device fails.

    Refused: something of this host uses the device. Failed: the image becomes shorter meanwhile.
    """
    try:
        descriptor = os.open(target, os.O_RDWR | os.O_EXCL)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise Refused(f"{target} is in use, by an array, a volume or a mount; stop that first.") from error
        raise
    try:
        length = image.stat().st_size
        # Also what would be left of an earlier image between the two writes.
        _write_at(descriptor, 0, bytes(min(HEAD, size)))
        end = max(length, size - TAIL)
        _write_at(descriptor, end, bytes(size - end))
        os.fsync(descriptor)
        rate, offset, head = _Rate("writing", length, show), 0, b""
        for block in _blocks(image, length):
            if offset == 0:
                head = block[:HEAD]
                _write_at(descriptor, HEAD, block[HEAD:])
            else:
                _write_at(descriptor, offset, block)
            offset += len(block)
            rate.add(len(block))
        if offset != length:
            raise Failed(f"{image} became shorter while it was read; write it again.")
        show("waiting for the drive")
        os.fsync(descriptor)
        _write_at(descriptor, 0, head)
        os.fsync(descriptor)
        with suppress(OSError):
            fcntl.ioctl(descriptor, BLKRRPART)
    finally:
        os.close(descriptor)


def read_back(target: Path, length: int, show: Show) -> str:
    """Return the SHA-256 of the first `length` bytes of a device, read from the device itself, not from memory."""
    descriptor = os.open(target, os.O_RDONLY)
    try:
        # what was written is in the page cache; without direct reads at least that is dropped
        with suppress(OSError):
            fcntl.ioctl(descriptor, BLKFLSBUF)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_DIRECT)
        return _digest(_direct(descriptor, length), length, "reading back", show)
    finally:
        os.close(descriptor)


def _direct(descriptor: int, length: int) -> Iterator[bytes]:
    """Read to aligned memory in whole sectors, as O_DIRECT wants it (open(2))."""
    with mmap.mmap(-1, CHUNK) as buffer:
        offset = 0
        while offset < length:
            with memoryview(buffer) as view:
                wanted = min(CHUNK, -(-(length - offset) // block_device.SECTOR) * block_device.SECTOR)
                count = min(os.preadv(descriptor, [view[:wanted]], offset), length - offset)
                if count <= 0:
                    return
                yield bytes(view[:count])
            offset += count


def confirm(device: BlockDevice, yes: bool, serial: str | None, ask: Callable[[str], str], terminal: bool) -> None:
    """Let the user type what names the drive. Refused: it is another; BadInput: there is nobody to ask."""
    if serial is not None and serial != device.name:
        raise Refused(f"{device.path} has the serial number {device.name}, not {serial}; nothing was written.")
    if yes:
        if serial is None:
            raise BadInput("--yes needs --serial with the serial number of the drive.")
        return
    if not terminal:
        raise BadInput("There is no terminal to confirm on; give --yes and --serial with the drive's serial number.")
    what = "serial number" if device.serial else "path"
    try:
        typed = ask(f"Everything on it will be lost. Type its {what} to write: ")
    except EOFError:
        typed = ""
    if typed.strip() != device.name:
        raise Refused("That is not it; nothing was written.")


def flash(device: BlockDevice, image: Path, digest: str, show: Show) -> None:
    """Write and read back. Failed: the drive fails, or gives back other bytes."""
    target = Path(device.path)
    try:
        write(image, target, device.size, show)
        found = read_back(target, image.stat().st_size, show)
    except OSError as error:
        raise Failed(f"{device.path} failed: {error.strerror}; it does not boot. Replace the drive.") from error
    if found != digest:
        raise Failed(f"{device.path} gives back other bytes than were written; do not use it, replace the drive.")


def main(arguments: list[str]) -> int:
    """Write an image to the drive that the command line names. BadInput: there is no image, or no drive."""
    parser = argparse.ArgumentParser(prog="tools/flash", description="Write an image to a boot drive and read it back.")
    parser.add_argument("device", type=Path, metavar="DEVICE", help="a drive, such as /dev/disk/by-id/BOOT-DRIVE")
    parser.add_argument("image", type=Path, metavar="IMAGE", nargs="?", help="default: the image in mkosi.output/")
    parser.add_argument("--serial", metavar="S", help="serial number that the drive must have")
    parser.add_argument("--yes", action="store_true", help="ask nothing; needs --serial")
    chosen = parser.parse_args(arguments)
    image = chosen.image or OUTPUT / f"{artefacts.image_name(REPO)}.raw"
    if not image.is_file():
        raise BadInput(f"There is no image {image}; run tools/build first, or name one.")
    device = block_device.find(chosen.device)
    block_device.check(device, image.stat().st_size)
    status = Status(sys.stdout)
    digest = verified(image, status.show)
    status.clear()
    print(f"{image}: {size(image.stat().st_size)}, SHA-256 {digest}\n{device}", flush=True)
    confirm(device, chosen.yes, chosen.serial, input, sys.stdin.isatty())
    flash(device, image, digest, status.show)
    status.clear()
    print(f"Wrote {image.name} to {device.path} and read it back: the same bytes.")
    return 0


if __name__ == "__main__":
    finish(main)
