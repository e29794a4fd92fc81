# SPDX-License-Identifier: Apache-2.0
"""The directories of backups on the pool, and what restic needs before it starts: room, the far side, no old locks.

They are below the directory of root alone, in no share and in no quota. restic owns those of its cache and of drills.
"""

import os
import shutil
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from pwd import getpwnam

from millrace.protect.backup import backup_store, backup_target, restic_answers, restic_unit
from millrace.protect.backup.backup_model import Backup, BackupState
from millrace.protect.backup.restic_answers import ResticLock, ResticVersion
from millrace.protect.backup.restic_unit import CACHE, NOTHING, USER, Follow, ResticAccess, ResticRun
from millrace.serve.clone.clone_job import Reflinks
from millrace.system import paths
from millrace.system.documents import parse_model
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result, follow
from millrace.system.text import one_line
from millrace.system.trees import nofollow

CONNECT = 20.0
"""Seconds in which the far side has to take a connection."""
TAG = "millrace"
REWRITTEN = "rewrite"
"""The tag that restic gives to what it wrote again without some files: it is no version of the share."""


Line = Callable[[str], None]


def _ignored(_: str) -> None:
    pass


def reach(host: str, port: int) -> None:
    """Connect to the far side once: restic tries for a quarter of an hour. OSError: nothing takes the connection."""
    with socket.create_connection((host, port), CONNECT):
        pass


def follow_restic(argv: Sequence[str], line: Line) -> Result:
    """Run restic; the result has all that it printed but for its progress."""
    return follow(argv, line, restic_answers.is_result)


def restic_owner() -> tuple[int, int]:
    """Return the user and the group that restic runs as. Failed: this version has none."""
    try:
        account = getpwnam(USER)
    except KeyError as error:
        raise Failed(f"the user {USER} of this version does not exist: restart the server") from error
    return account.pw_uid, account.pw_gid


@dataclass(frozen=True)
class BackupTools:
    """How restic is run, the far side reached, and who owns what restic writes."""

    follow: Follow = follow_restic
    reach: Callable[[str, int], None] = reach
    owner: Callable[[], tuple[int, int]] = restic_owner
    links: Reflinks = field(default_factory=Reflinks)


@dataclass(frozen=True)
class BackupPlace:
    """A backup on this server, with the pool at `mountpoint`. `unit` is the one in which restic runs."""

    backup: Backup
    mountpoint: str
    tools: BackupTools
    unit: str = restic_unit.ASK
    bound_to: str | None = None

    @property
    def state(self) -> BackupState:
        """What is known of it."""
        return backup_store.state(self.backup)

    @property
    def work(self) -> Path:
        """Its directory on the pool."""
        return restic_unit.work(self.backup, self.mountpoint)

    def prepare(self) -> None:
        """Make its directories; what an earlier task left is removed. Failed, OSError: as for `make_directories`."""
        self.make_directories()
        self.clear()
        self._make_own("work")

    def make_directories(self) -> None:
        """Make its directories. OSError: the pool fails. Failed: one of them is not of root alone.

        The writer of adopted drives decided what is there.
        """
        above = paths.ROOT / self.mountpoint.lstrip("/") / paths.POOL_OWN
        for directory in (above, self.work.parent, self.work):
            nofollow.require_private(directory)
            directory.mkdir(mode=0o700, exist_ok=True)
        self._make_own("cache")

    def _make_own(self, name: str) -> None:
        (self.work / name).mkdir(mode=0o700, exist_ok=True)
        os.chown(self.work / name, *self.tools.owner(), follow_symlinks=False)

    def clear(self) -> None:
        """Remove the directories of a task, not the cache. Callers verify their place with `make_directories` first."""
        for name in ("work", "restore"):
            shutil.rmtree(self.work / name, ignore_errors=True)

    def restic(self, *arguments: str, access: ResticAccess = NOTHING, line: Line = _ignored) -> Result:
        """Run restic for this backup; return what it printed."""
        # what root writes to the cache is of no use to the user of later runs
        writes = {CACHE: self.work / ("work" if access.owns else "cache"), **access.writes}
        wanted = ResticRun(arguments, replace(access, writes=writes), self.unit, self.bound_to)
        return self.tools.follow(restic_unit.argv(self.backup, wanted), line)

    def must(self, *arguments: str, access: ResticAccess = NOTHING, line: Line = _ignored) -> str:
        """Run restic, which must succeed; return its output. ResticFailed: it does not, in one sentence."""
        result = self.restic(*arguments, access=access, line=line)
        if result.status != 0:
            raise self.failure(result)
        return result.out

    def failure(self, result: Result) -> "ResticFailed":
        """Return why restic failed."""
        return ResticFailed(restic_answers.sentence(result, self.backup), result)

    def require_reachable(self) -> None:
        """Verify that something takes connections at the far side. Failed: nothing does, and why."""
        target = self.backup.target
        try:
            self.tools.reach(target.host, target.port)
        except OSError as error:
            raise Failed(f"{backup_target.words(target)} cannot be reached: {error.strerror or error}") from error

    def make(self) -> None:
        """Make the repository where it is not there yet. Failed: it cannot be made, or there is one already."""
        if self.state.made:
            return
        self.must("init")
        backup_store.note(self.backup, lambda state: state.model_copy(update={"made": True}))

    def unlock(self, now: datetime) -> list[str]:
        """Remove the locks of this server, where one task runs at a time, and abandoned ones of others.

        Return in words which of others were removed. Failed: another program holds one, and who.
        """
        locks = [self._lock(name) for name in self._listed("locks")]
        if not locks:
            return []
        others = restic_answers.foreign([lock for lock in locks if lock is not None], os.uname().nodename, USER)
        for other in others:
            if not restic_answers.is_abandoned(other, now):
                raise Failed(
                    f"the repository at {backup_target.words(self.backup.target)} is locked by {_holder(other)}: end "
                    "that program; a lock that is not refreshed for 30 minutes is removed by the next task"
                )
        # restic removes a lock whose process does not exist any more, and one of more than half an hour
        self.must("unlock")
        return [f"the abandoned lock of {_holder(other)} was removed" for other in others]

    def versions(self) -> list[ResticVersion]:
        """Return the versions in the repository, the oldest first. Failed: it cannot be read."""
        return [version for version in self.all_versions() if REWRITTEN not in version.tags]

    def all_versions(self) -> list[ResticVersion]:
        """Return also what restic wrote again without some files. Failed: the repository cannot be read.

        A lock, which a server that was lost may have left, keeps nobody from reading.
        """
        return restic_answers.versions(self.must("snapshots", "--tag", TAG, "--no-lock"))

    def _listed(self, what: str) -> list[str]:
        names = self.must("list", what, "--no-lock").split()
        return [name for name in names if len(name) == 64 and set(name) <= set("0123456789abcdef")]

    def _lock(self, name: str) -> ResticLock | None:
        said = self.restic("cat", "lock", name, "--no-lock")
        try:
            return parse_model(said.out[said.out.find("{") :], Path(name), ResticLock)
        except BadInput:
            # it ended meanwhile
            return None


def _holder(lock: ResticLock) -> str:
    return f"{one_line(lock.username)} on {one_line(lock.hostname)} since {one_line(lock.time)[:19]}"


class ResticFailed(Failed):
    """restic failed; `result` is what it printed."""

    def __init__(self, sentence: str, result: Result) -> None:
        super().__init__(sentence)
        self.result = result
