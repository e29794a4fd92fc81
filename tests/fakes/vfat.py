# SPDX-License-Identifier: Apache-2.0
"""What a power cut leaves of the files in a directory on VFAT."""

import os
import stat
from pathlib import Path

import pytest


class Vfat:
    """What is on the drive of a directory: names, each with the size beside it.

    What is in a file is there when the file was synced; names may be there at any time, and are when the directory was
    synced. A rename leaves a size of 0 beside the name until the file is synced again (fs/fat/namei_vfat.c).
    """

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.empty_names: list[str] = []
        """Names that a power cut at the worst moment would have left to a file that is not on the drive."""
        self.on_drive: dict[str, int] = {}
        self._synced = {path.stat().st_ino: path.stat().st_size for path in directory.iterdir()}
        self._renamed: set[int] = set()
        self._fsync_of_os, self._rename_of_os = os.fsync, os.rename
        self.write_names()
        monkeypatch.setattr(os, "fsync", self._fsync)
        monkeypatch.setattr(os, "rename", self._rename)

    def write_names(self) -> None:
        """Let the names be on the drive."""
        self.on_drive = {path.name: self._size(path.stat()) for path in self.directory.iterdir()}

    def _size(self, found: os.stat_result) -> int:
        return 0 if found.st_ino in self._renamed else self._synced.get(found.st_ino, 0)

    def _rename(self, source: os.PathLike[str], target: os.PathLike[str], **more: int) -> None:
        found = os.stat(source)
        if self._synced.get(found.st_ino) != found.st_size:
            self.empty_names.append(Path(target).name)
        self._rename_of_os(source, target, **more)
        self._renamed.add(found.st_ino)

    def _fsync(self, descriptor: int) -> None:
        self._fsync_of_os(descriptor)
        found = os.fstat(descriptor)
        if not stat.S_ISDIR(found.st_mode):
            # so is the block with the name and the size
            self._synced[found.st_ino] = found.st_size
            self._renamed.discard(found.st_ino)
        elif found.st_ino != self.directory.stat().st_ino:
            return
        self.write_names()
