# SPDX-License-Identifier: Apache-2.0
"""Assign a quota to each new directory at the top of a share: `python3 -m millrace.serve.share.child_watch`.

millrace-child-quota.service runs this where a share wants it. The kernel signals a change in one of these directories
(dnotify, fcntl(2) F_NOTIFY): that needs no privilege and has no queue that could overflow, since each signal is
followed by a scan of all of them. A scan at the start finds what was created while this did not run, one some seconds
after a directory got its project what was on its way into it, and one every minute what could not be assigned.

It imports next to nothing, because it stays in memory.
"""

import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from millrace.serve.share import child_quota
from millrace.serve.share.project_walk import XFS, Projects
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import write_text
from millrace.system.run import Result, Runner, last_words, within
from millrace.system.trees import nofollow

EVERY_SECONDS: Final = 60.0
AGAIN_SECONDS: Final = child_quota.SETTLED + 1
"""Seconds to the next look where one has left something to do; they double until they are EVERY_SECONDS."""
_SIGNAL = signal.SIGRTMIN
_EVENTS = fcntl.DN_CREATE | fcntl.DN_DELETE | fcntl.DN_RENAME | fcntl.DN_MULTISHOT


@dataclass
class Watched:
    """A share whose directories have a quota: its path, its project, its limit in KiB and in inodes."""

    name: str
    path: str
    project: int
    kib: int
    inodes: int
    used: set[int] = field(default_factory=set)
    known: dict[str, int] = field(default_factory=dict)


class Watcher:
    """The quotas of the directories of some shares on one mount point."""

    def __init__(self, shares: Sequence[Watched], mountpoint: str, run: Runner, projects: Projects = XFS) -> None:
        self._shares, self._mountpoint, self._run, self._projects = shares, mountpoint, run, projects
        self.unfinished = False

    def begin(self) -> list[str]:
        """Set the limits of all directories, also of those that are new; return what could not be done, in words.

        Failed: xfs_quota fails; it is to be called again.
        """
        reported = self._reported()
        for share in self._shares:
            share.used |= {project for project in reported if child_quota.parent(project) == share.project}
        problems = self.look()
        for share in self._shares:
            self._limit(share.known.values(), share.kib, share.inodes)
            gone = list(child_quota.orphans(share.project, set(share.known.values()), share.used))
            self._limit(gone, 0, 0)
        return problems

    def look(self) -> list[str]:
        """Assign what is new in all shares, and free the projects of what is gone; return problems, in words.

        `unfinished` is then whether there is something to do in some seconds.
        """
        self.unfinished = False
        problems = []
        for share in self._shares:
            try:
                problems += [f"{share.name}/{problem}" for problem in self._look(share)]
            except (MillraceError, OSError) as error:
                problems.append(f"{share.name}: {error}")
                self.unfinished = True
        return problems

    def _look(self, share: Watched) -> list[str]:
        with nofollow.directory(paths.ROOT / share.path.lstrip("/")) as top:
            assigned = child_quota.assign(
                top,
                share.project,
                share.used,
                lambda project: self._limit([project], share.kib, share.inodes),
                self._projects,
                share.known,
            )
        self.unfinished |= assigned.unfinished
        now = assigned.known | assigned.new
        gone = set(share.known.values()) - set(now.values())
        self._limit(gone, 0, 0)
        share.known = now
        return assigned.problems

    def _limit(self, projects: Iterable[int], kib: int, inodes: int) -> None:
        """Set the limits of projects; 0 is no limit. Failed: XFS refuses one."""
        commands = [f"limit -p bsoft=0 bhard={kib}k ihard={inodes} {one}" for one in projects]
        for start in range(0, len(commands), child_quota.BATCH):
            self._quota(commands[start : start + child_quota.BATCH])

    def _reported(self) -> list[int]:
        lines = self._quota(["report -p -n -N -b"]).out.splitlines()
        words = [line.split()[0][1:] for line in lines if line.startswith("#")]
        return [int(one) for one in words if one.isdigit()]

    def _quota(self, commands: Sequence[str]) -> Result:
        argv = ["xfs_quota", "-x", *(word for command in commands for word in ("-c", command)), self._mountpoint]
        done = self._run(argv)
        complaint = next((line for line in done.err.splitlines() if "cannot" in line), None)
        if done.status != 0 or complaint:
            raise Failed(f"xfs_quota: {complaint or last_words(done)}")
        return done


def shares(document: dict[str, Any]) -> list[Watched]:
    """Return the shares of the rendered file."""
    return [Watched(**one) for one in document["shares"]]


def main(wait: Callable[[float], bool], run: Runner, projects: Projects = XFS) -> None:
    """Assign quotas until `wait` returns False; it returns True after a change, or when so many seconds have passed."""
    document = json.loads((paths.ROOT / paths.CHILD_QUOTA).read_text())
    watched = shares(document)
    watcher = Watcher(watched, document["mountpoint"], run, projects)
    told: list[str] = []
    begun = False
    pause = AGAIN_SECONDS
    again = True
    while again:
        try:
            problems = watcher.look() if begun else watcher.begin()
            begun = True
        except Failed as error:
            problems = [str(error)]
        counted = {share.name: len(share.known) for share in watched}
        write_text(paths.child_quota_file(), json.dumps({"children": counted, "problems": problems}) + "\n")
        if problems != told:
            for line in problems:
                print(line, file=sys.stderr, flush=True)
            told = problems
        if begun and not watcher.unfinished:
            pause = AGAIN_SECONDS
            again = wait(EVERY_SECONDS)
        else:
            again = wait(pause)
            pause = min(2 * pause, EVERY_SECONDS)


def changes(watched: Sequence[str]) -> Callable[[float], bool]:
    """Return a function that waits for a change in one of these directories, some seconds at most, and returns True.

    SIGTERM ends the process at any moment, also in a look of many minutes: the next start goes on, as after a kill.
    OSError: one cannot be opened.
    """
    # SIGIO: more signals wait than the kernel keeps, which one look makes up for as well
    all_signals = {_SIGNAL, signal.SIGIO}
    signal.pthread_sigmask(signal.SIG_BLOCK, all_signals)
    for path in watched:
        directory = os.open(paths.ROOT / path.lstrip("/"), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.fcntl(directory, fcntl.F_SETSIG, _SIGNAL)
        fcntl.fcntl(directory, fcntl.F_NOTIFY, _EVENTS)

    def wait(seconds: float) -> bool:
        came = signal.sigtimedwait(all_signals, seconds)
        while came is not None:
            # one look for all that came until now
            came = signal.sigtimedwait(all_signals, 0)
        return True

    return wait


if __name__ == "__main__":
    rendered = json.loads((paths.ROOT / paths.CHILD_QUOTA).read_text())
    main(changes([one["path"] for one in rendered["shares"]]), within(600.0))
