# SPDX-License-Identifier: Apache-2.0
"""A boot drive whose power fails before or after any write; what was not synced may be lost then."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from millrace.lifecycle.adopt import verbs
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.jobs import JOBS, shown
from tests.unit.lifecycle.adopt.test_restore import Tools


class BootDrive:
    """The files below a directory. Names count when their directory is synced, bytes when their file is."""

    def __init__(self, root: Path, forgets: bool) -> None:
        self.root, self.forgets = root, forgets
        self.moment = 0
        self.cut_at: int | None = None
        # by directory: a name and what it was before
        self.names: dict[str, list[tuple[Path, bytes | None]]] = {}
        self.synced: set[str] = set()
        self.unsynced: set[Path] = set()
        self.real = {name: getattr(os, name) for name in ("unlink", "replace", "fsync")}

    def wire(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(os, "unlink", self._unlink)
        patch.setattr(os, "replace", self._replace)
        patch.setattr(os, "fsync", self._fsync)

    def tick(self) -> None:
        self.moment += 1
        if self.moment == self.cut_at:
            raise PowerCut

    def boot(self) -> None:
        """The power is back; nothing fails any more."""
        self.cut_at = None
        if self.forgets:
            for directory in self.names.values():
                for path, before in reversed(directory):
                    path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
            for path in self.unsynced:
                if path.exists():
                    path.write_bytes(b"")
        self.names, self.unsynced = {}, set()

    def _is_own(self, path: object) -> bool:
        return str(path).startswith(f"{self.root}/var") or str(path).startswith(f"{self.root}/etc")

    def _change(self, path: Path) -> None:
        before = path.read_bytes() if path.is_file() else None
        self.names.setdefault(str(path.parent), []).append((path, before))

    def _unlink(self, path: os.PathLike[str] | str, **more: int) -> None:
        if self._is_own(path) and os.path.exists(path):
            self.tick()
            self._change(Path(path))
            self.unsynced.discard(Path(path))
        self.real["unlink"](path, **more)

    def _replace(self, made: os.PathLike[str] | str, path: os.PathLike[str] | str) -> None:
        if self._is_own(path):
            self.tick()
            self._change(Path(path))
            if str(made) in self.synced:
                # its bytes are on the drive under any name
                self.synced.add(str(path))
                self.unsynced.discard(Path(path))
            else:
                self.unsynced.add(Path(path))
        self.real["replace"](made, path)

    def _fsync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.tick()
        self.names.pop(path, None)
        self.synced.add(path)
        self.unsynced.discard(Path(path))


class Accounts(Tools):
    """The tools of a boot drive; the power may fail before and after each of them. systemd runs the unit at once."""

    TAKEN: ClassVar = (
        *Tools.TAKEN,
        *JOBS,
    )

    def __init__(self, drive: BootDrive) -> None:
        super().__init__()
        self.drive = drive

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        self.drive.tick()
        result = super().__call__(argv, stdin)
        self.drive.tick()
        return result

    def _systemctl(self, words: list[str], _: str) -> Result:
        if words[:2] == ["start", "--no-block"]:
            assert CliRunner().invoke(verbs.adopting, [], catch_exceptions=False).exit_code == 0
        if words[0] == "show":
            return shown(words[2:])
        return GOOD
