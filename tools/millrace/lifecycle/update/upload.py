# SPDX-License-Identifier: Apache-2.0
"""A release comes from a browser as the stream of its archive: what describes it first, then what that names.

Each file goes to its place while it arrives, so the archive itself needs no room. It may come from anywhere: names,
sizes and order are those that the signed description has, or it is refused there and then.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from millrace.lifecycle.update import release, stage, update_paths
from millrace.lifecycle.update.model import Release
from millrace.system.errors import BadInput
from millrace.system.run import Runner

SAID = release.BLOCK
"""Bytes between two reports: the browser sends more when it knows how much has arrived."""

LARGEST = 4 << 30

NO_ARCHIVE = "this is not the archive of a release (millrace_VERSION.tar)"

Said = Callable[[int], None]


def receive(stream: BinaryIO, size: int, said: Said, run: Runner) -> Release:
    """Stage the release whose archive, of `size` bytes, is read from `stream`; `said` gets how many bytes have arrived.

    BadInput: it is cut, no archive of a release, or not what was signed. Refused: there is no room for it, this server
    has no key, or Secure Boot would not start its kernel. Nothing stays staged then.
    """
    if not 0 < size <= LARGEST:
        raise BadInput(f"an archive of a release has 1 to {LARGEST} bytes")
    counted = _Counted(stream, size, said)
    try:
        new_release = _staged(_Entries(counted), run)
        while counted.read(SAID):
            # tar(5): blocks of zeros up to a whole record
            pass
    except BaseException:
        stage.clear()
        raise
    return new_release


class _Entries:
    """The files of an archive in their order, plain ones with a header of one block each; nothing else is read."""

    def __init__(self, stream: "_Counted") -> None:
        self.stream = stream
        self.next = self._header()

    def take(self, name: str, limit: int, to: Path) -> None:
        """Write the next file to `to`. BadInput: it is another one than `name`, or larger than `limit`."""
        entry = self.next
        if entry is None or entry.name.removeprefix("./") != name:
            raise BadInput(f"the archive lacks {name} at its place; upload millrace_VERSION.tar as it was built")
        if entry.size > limit:
            raise BadInput(f"{name} is larger than the {limit} bytes that it may have; get the release again")
        stage.write(_Part(self.stream, entry.size), name, limit, to)
        self.stream.whole(-entry.size % tarfile.BLOCKSIZE)
        self.next = self._header()

    def _header(self) -> tarfile.TarInfo | None:
        block = self.stream.whole(tarfile.BLOCKSIZE)
        if not any(block):
            return None
        try:
            # one block of 512 bytes: what a longer header announces is not read into memory
            entry = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise BadInput(NO_ARCHIVE) from error
        # the form of GNU for large sizes has negative ones, too: nothing would end such a file
        if not entry.isreg() or entry.size < 0:
            raise BadInput(NO_ARCHIVE)
        return entry


def _staged(entries: _Entries, run: Runner) -> Release:
    new_release = stage.describe(entries.take, run)
    stage.require_space(new_release, run)
    directory = update_paths.staged_dir()
    sums = release.signed_sums(directory, run)
    missing = {file.name: file for file in new_release.files if not (directory / file.name).exists()}
    while missing:
        name = entries.next.name.removeprefix("./") if entries.next is not None else ""
        file = missing.pop(name, None)
        if file is None:
            raise BadInput(f"the archive lacks {next(iter(missing))} or has other files; get the release again")
        entries.take(name, file.size, directory / name)
        stage.accept(file, directory, sums)
    if entries.next is not None:
        raise BadInput("the archive has more files than a release; get the release again")
    return new_release


class _Counted:
    """A stream that counts what is read and is never read beyond its size."""

    def __init__(self, stream: BinaryIO, size: int, said: Said) -> None:
        self.stream, self.size, self.said, self.done, self.last = stream, size, said, 0, 0

    def read(self, most: int) -> bytes:
        """Return the next bytes, at most so many; none at the end. BadInput: it ends too early."""
        wanted = min(most, self.size - self.done)
        block = self.stream.read(wanted)
        self.done += len(block)
        if len(block) < wanted:
            raise BadInput(f"the upload was cut: {self.done} of {self.size} bytes arrived; upload the file again")
        if self.done - self.last >= SAID or (block and self.done == self.size):
            self.last = self.done
            self.said(self.done)
        return block

    def whole(self, count: int) -> bytes:
        """Return so many bytes. BadInput: the archive ends before."""
        block = self.read(count)
        if len(block) < count:
            raise BadInput(NO_ARCHIVE)
        return block


class _Part:
    """One file of the stream."""

    def __init__(self, stream: _Counted, size: int) -> None:
        self.stream, self.left = stream, size

    def read(self, most: int) -> bytes:
        """Return the next bytes of the file, at most so many; none at its end."""
        block = self.stream.whole(min(most, self.left))
        self.left -= len(block)
        return block
