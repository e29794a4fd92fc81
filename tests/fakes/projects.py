# SPDX-License-Identifier: Apache-2.0
"""The quota projects of a pool of XFS, by inode: what is created in a directory has its project, as XFS gives it."""

import os
import stat
from pathlib import Path
from threading import Lock

from millrace.serve.share.project_walk import Projects


class ProjectsOf:
    """Projects of what is below a directory; anything else that is asked for, or set, fails the test."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.given: dict[int, int] = {}
        self.calls: list[tuple[str, int]] = []
        self.loose: set[int] = set()
        self._lock = Lock()

    def projects(self) -> Projects:
        """The functions that a change is given."""
        return Projects(self._of, self.assign, self._hand_down_nothing)

    def of(self, name: str) -> int:
        """The project of a file or directory by its name below the top, 0 where it has none."""
        return self.given.get((self.top / name).lstat().st_ino, 0)

    def _of(self, descriptor: int) -> int:
        inode, _ = self._known(descriptor)
        return self.given.get(inode, 0)

    def assign(self, descriptor: int, project: int) -> None:
        """Count an open file or directory to a project."""
        inode, name = self._known(descriptor)
        assert project > 0
        with self._lock:
            assert self.given.get(inode) != project, f"{name} has it already"
            self.given[inode] = project
            self.loose.discard(inode)
            self.calls.append((name, project))

    def _hand_down_nothing(self, descriptor: int) -> None:
        inode, _ = self._known(descriptor)
        assert stat.S_ISDIR(os.fstat(descriptor).st_mode)
        self.loose.add(inode)

    def _known(self, descriptor: int) -> tuple[int, str]:
        held = os.fstat(descriptor)
        # the ioctl of XFS takes nothing else: a pipe or a device has one of its own driver
        assert stat.S_ISDIR(held.st_mode) or stat.S_ISREG(held.st_mode)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        assert path.is_relative_to(self.top), f"{path} is outside of {self.top}"
        return held.st_ino, str(path.relative_to(self.top))
