# SPDX-License-Identifier: Apache-2.0
"""Make /etc what this version brings, without what was changed on this server; the version before does the same.

Done in the initrd: the system manager finds units, masks and generators of this version when it starts. What may be at
each path is recorded before the first write, so an interrupted run goes on, in this version or in the other one.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

from millrace.lifecycle.etc import factory
from millrace.lifecycle.etc.factory import ABSENT, Factory, KeptFile, etc_dir, factory_dir, identity
from millrace.serve.render import rendered
from millrace.system.documents import write_model
from millrace.system.files import replace_link, sync, write_blocks, write_bytes

# Without it systemd makes users, the linker's cache and the rest again (systemd.unit(5), ConditionNeedsUpdate=).
UPDATED = ".updated"


@dataclass
class EtcUpdate:
    """The result: paths below /etc that were written, removed, or kept as they are; `problems` are sentences."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: dict[str, KeptFile] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def update_etc() -> EtcUpdate | None:
    """Make /etc what this version brings; None where it is that already.

    BadInput: the list of this version cannot be read. LaterRelease: /etc is that of a later version, whose record has
    another meaning; neither is touched. OSError: nothing can be written.
    """
    here = factory.present()
    if here is None:
        return None
    mine, follows = here
    before = factory.recorded(mine, follows)
    if before.follows == follows:
        return None
    _record(before.model_copy(update={"entries": _either(before, mine), "follows": None}))
    done = _EtcRun(before, mine).run()
    (etc_dir() / UPDATED).unlink(missing_ok=True)
    sync(etc_dir())
    if done.problems:
        # what could not be written is tried again at the next boot
        _record(Factory(entries=_either(before, mine), kept=done.kept, problems=done.problems))
    elif done.kept:
        _record(mine.model_copy(update={"follows": follows, "kept": done.kept}))
    else:
        write_bytes(factory.record_file(), (factory_dir() / factory.LIST).read_bytes())
    return done


def _record(found: Factory) -> None:
    write_model(factory.record_file(), found)


def _either(before: Factory, mine: Factory) -> dict[str, list[str]]:
    """What may be at each path until all is written: as before, or as this version brings it."""
    found = {}
    for name in before.entries.keys() | mine.entries.keys():
        known, wanted = before.entries.get(name, [ABSENT]), mine.entries.get(name, [ABSENT])
        # a directory that becomes a file is absent in between
        between = [ABSENT] if len({one.split()[0] for one in (*known, *wanted)}) > 1 else []
        found[name] = list(dict.fromkeys((*known, *wanted, *between)))
    return dict(sorted(found.items()))


class _EtcRun:
    def __init__(self, before: Factory, mine: Factory) -> None:
        self.before, self.mine, self.done = before, mine, EtcUpdate()
        self.rendered = rendered.load().files

    def run(self) -> EtcUpdate:
        """Settle every path; what fails is a problem, and the rest is written."""
        for name, wanted in self._in_order():
            try:
                self._settle(name, wanted)
            except OSError as error:
                self.done.problems.append(f"/etc/{name}: {error.strerror or error}")
        return self.done

    def _in_order(self) -> Iterator[tuple[str, str]]:
        """What goes away, the innermost first; then what comes, the outermost first."""
        for name in sorted(self.before.entries.keys() - self.mine.entries.keys(), reverse=True):
            yield name, ABSENT
        for name in sorted(self.mine.entries):
            yield name, self.mine.entries[name][0]

    def _settle(self, name: str, wanted: str) -> None:
        if factory.is_never(name) or f"{factory.ETC}/{name}" in self.rendered:
            return
        path = etc_dir() / name
        if self.before.follows is None and _reachable(path):
            _sweep(path)
        current = identity(path)
        known = self.before.entries.get(name, [ABSENT])
        if current == wanted:
            return
        if not _reachable(path):
            self._keep(name, current, wanted, known)
        elif current in known:
            self._write(name, path, current, wanted)
        elif factory.is_owned(name) and current.startswith(("file", "link", ABSENT)):
            if current.startswith("file") and name not in factory.MADE:
                rendered.keep_aside(name, path.read_bytes())
            self._write(name, path, current, wanted)
        else:
            self._keep(name, current, wanted, known)

    def _keep(self, name: str, found: str, wanted: str, known: list[str]) -> None:
        """What was changed here stays; it is named where this version brings another than it was made from."""
        if found.startswith("directory"):
            return
        earlier = self.before.kept.get(name)
        base = earlier.base if earlier and earlier.found == found else known[0]
        if base != wanted:
            self.done.kept[name] = KeptFile(base=base, found=found)

    def _write(self, name: str, path: Path, current: str, wanted: str) -> None:
        kind = wanted.split(maxsplit=1)[0]
        if current.startswith("directory") and kind != "directory":
            try:
                path.rmdir()
            except OSError:
                # it has files that are not of a version
                return
        elif kind == ABSENT or (kind == "directory" and not current.startswith(("directory", ABSENT))):
            path.unlink()
        if kind == ABSENT:
            sync(path.parent)
            self.done.removed.append(name)
            return
        _copy(factory_dir() / name, path, kind)
        self.done.written.append(name)


def _copy(source: Path, path: Path, kind: str) -> None:
    if kind == "link":
        replace_link(path, str(source.readlink()))
        return
    about = source.lstat()
    mode, owner = stat.S_IMODE(about.st_mode), _owner(about)
    if kind == "directory":
        path.mkdir(parents=True, exist_ok=True)
        os.chown(path, *owner)
        path.chmod(mode)
        sync(path.parent)
        return
    write_blocks(path, [source.read_bytes()], mode, owner)


def _sweep(path: Path) -> None:
    """Remove what a power cut left of a write."""
    for left in path.parent.glob(f".{escape(path.name)}.????????"):
        left.unlink()
    link = path.with_name(f".{path.name}")
    if link.is_symlink():
        link.unlink()


def _owner(about: os.stat_result) -> tuple[int, int]:
    """The numbers that the owner and the group of a factory's file have here; root's where they have none."""
    user = _name(factory_dir() / "passwd", about.st_uid)
    group = _name(factory_dir() / "group", about.st_gid)
    return _number(etc_dir() / "passwd", user), _number(etc_dir() / "group", group)


def _name(accounts: Path, number: int) -> str | None:
    """The name of an account, in the accounts of the image: those of this server have other numbers."""
    if number == 0:
        return None
    return next((line[0] for line in _accounts(accounts) if line[2] == str(number)), None)


def _number(accounts: Path, name: str | None) -> int:
    return next((int(line[2]) for line in _accounts(accounts) if name and line[0] == name and line[2].isdigit()), 0)


def _accounts(path: Path) -> list[list[str]]:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return [fields for line in lines if len(fields := line.split(":")) > 2]


def _reachable(path: Path) -> bool:
    """Whether a path is in /etc: no directory above it leads elsewhere."""
    for parent in path.parents:
        if parent == etc_dir():
            return True
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            return False
    return False
