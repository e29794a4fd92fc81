# SPDX-License-Identifier: Apache-2.0
"""The kernel's tree of nvmet in configfs: directories are objects, files their attributes, links their relations."""

import os
from typing import Protocol

from millrace.system import paths, sysfs


class Configfs(Protocol):
    """The tree, by names below its root. Every method may raise OSError where the kernel refuses."""

    def names(self, place: str) -> list[str]:
        """Return what is in a directory, sorted; none where it does not exist."""
        ...

    def read(self, place: str) -> str | None:
        """Return an attribute; None where it cannot be read or is empty."""
        ...

    def write(self, place: str, value: str) -> None:
        """Set an attribute. OSError: the kernel refuses."""
        ...

    def make(self, place: str) -> None:
        """Create an object. OSError: the kernel refuses."""
        ...

    def remove(self, place: str) -> None:
        """Remove an object. OSError: something in it, or a link to it, is still there."""
        ...

    def link(self, place: str, target: str) -> None:
        """Let the link at `place` lead to the object `target`. OSError: the kernel refuses."""
        ...

    def unlink(self, place: str) -> None:
        """Remove a link. OSError: there is none."""
        ...


class Nvmet:
    """The tree of this server; empty while the module nvmet is not loaded."""

    def __init__(self) -> None:
        self._root = paths.ROOT / "sys/kernel/config/nvmet"

    def names(self, place: str) -> list[str]:
        """Return what is in a directory, sorted; none where it does not exist."""
        return sysfs.names(self._root / place)

    def read(self, place: str) -> str | None:
        """Return an attribute; None where it cannot be read or is empty."""
        return sysfs.text(self._root / place)

    def write(self, place: str, value: str) -> None:
        """Set an attribute. OSError: the kernel refuses."""
        sysfs.write(self._root / place, value)

    def make(self, place: str) -> None:
        """Create an object. OSError: the kernel refuses."""
        (self._root / place).mkdir()

    def remove(self, place: str) -> None:
        """Remove an object. OSError: something in it, or a link to it, is still there."""
        # not a tree: the files of attributes go with their directory
        os.rmdir(self._root / place)

    def link(self, place: str, target: str) -> None:
        """Let the link at `place` lead to the object `target`. OSError: the kernel refuses."""
        (self._root / place).symlink_to(self._root / target)

    def unlink(self, place: str) -> None:
        """Remove a link. OSError: there is none."""
        (self._root / place).unlink()
