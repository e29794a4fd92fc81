# SPDX-License-Identifier: Apache-2.0
"""A quota for each directory at the top of a share: XFS has projects of single trees and no default for new ones.

The number of such a project has that of its share in it, so that the directories themselves record which limit they
have, and nothing else has to. What was written between the creation of a directory and its assignment is moved, too, in
two walks: XFS reads the project of a new file before it locks the directory (xfs_create), so one that was on its way
when the directory got its project appears with none after the first walk has passed.
The share itself hands its project down no more: clients could not rename a directory with another one (xfs_rename).
It imports next to nothing, because millrace-child-quota.service keeps it in memory.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from millrace.serve.share.project_walk import XFS, Projects, count, gone_is_fine
from millrace.system import ages
from millrace.system.trees import nofollow
from millrace.system.trees.descend import entries

BITS = 16
MOST = (1 << BITS) - 1
"""Directories of one share that can have a quota of their own."""
OTHERS = 1 << 31
"""Projects from here on are of no share: volumes have them."""
BATCH = 200
"""Limits that one process of xfs_quota sets."""
UNFINISHED = "trusted.millrace.child-quota"
"""Root's mark on a directory in which files may still count to the share."""
SETTLED = 5.0
"""Seconds between the two walks: no creation is on its way for longer."""
_FIRST, _AGAIN = b"1", b"again "


@dataclass
class Assigned:
    """What there is in a share: the directories with a project by name, and those that could not be assigned."""

    known: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unfinished: bool = False
    """Whether a directory is to be walked again, in some seconds."""


def parent(project: int) -> int | None:
    """Return the project of the share of a directory with this project; None for any other project."""
    return project >> BITS or None if project < OTHERS else None


def number(share: int, used: Collection[int]) -> int | None:
    """Return a free project for a directory of the share with the project `share`; None where there is none."""
    first = share << BITS
    newest = max((one for one in used if parent(one) == share), default=first)
    if newest < first + MOST:
        return newest + 1
    return next((one for one in range(first + 1, first + MOST + 1) if one not in used), None)


def assign(
    top: int,
    share: int,
    used: set[int],
    limit: Callable[[int], None],
    projects: Projects = XFS,
    before: Mapping[str, int] | None = None,
    now: Callable[[], float] = time.time,
) -> Assigned:
    """Give each directory in the open directory `top` a project of its own.

    `used` are projects that are not free, those that are given out are added. `limit` sets the limits of one, before
    anything counts to it. One that was moved out of another directory has the project of that, which keeps it where
    `before` has its name. OSError: the share itself cannot be read.
    """
    projects.hand_down_nothing(top)
    assigned = Assigned()
    fresh: list[str] = []
    taken: set[int] = set()
    directories = [name for name, held in entries(top) if stat.S_ISDIR(held.st_mode)]
    # what had its project before comes before what was moved out of it
    for name in sorted(directories, key=lambda name: name not in (before or {})):
        with gone_is_fine(), nofollow.directory(name, top) as child:
            project = projects.of(child)
            if parent(project) != share or project in taken:
                fresh.append(name)
                continue
            assigned.known[name] = project
            taken.add(project)
            used.add(project)
            mark = _mark(child)
            if mark and not _waits(mark, now()):
                _finish(child, project, projects, assigned, name, now)
            elif mark:
                assigned.unfinished = True
    for name in fresh:
        _assign(name, top, share, used, limit, projects, assigned, now)
    return assigned


def _assign(
    name: str,
    top: int,
    share: int,
    used: set[int],
    limit: Callable[[int], None],
    projects: Projects,
    assigned: Assigned,
    now: Callable[[], float],
) -> None:
    project = number(share, used)
    if project is None:
        assigned.problems.append(f"{name} has no quota: a share can have {MOST} directories with one")
        return
    with gone_is_fine(), nofollow.directory(name, top) as child:
        limit(project)
        used.add(project)
        # the mark first: a power cut in between leaves files that count to the share, and the next look finds them
        os.setxattr(child, UNFINISHED, _FIRST)
        projects.assign(child, project)
        assigned.new[name] = project
        _finish(child, project, projects, assigned, name, now)


def _finish(
    child: int, project: int, projects: Projects, assigned: Assigned, name: str, now: Callable[[], float]
) -> None:
    """Move everything in a directory to its project.

    From the top down: what is created meanwhile is created with the new project, or listed after that was set, or found
    by the second walk.
    """
    second = _mark(child).startswith(_AGAIN)
    busy = count(child, project, projects)
    if busy:
        assigned.problems.append(
            f"{name} has {len(busy)} files that clients hold and that count to the share until later"
        )
        assigned.unfinished = True
    elif second:
        os.removexattr(child, UNFINISHED)
    else:
        os.setxattr(child, UNFINISHED, _AGAIN + str(now()).encode())
        assigned.unfinished = True


def _mark(child: int) -> bytes:
    try:
        return os.getxattr(child, UNFINISHED)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        return b""


def _waits(mark: bytes, now: float) -> bool:
    """Whether it is too early for the second walk; it is due as well where the clock was set back meanwhile."""
    try:
        age = ages.age(float(mark[len(_AGAIN) :]), now) if mark.startswith(_AGAIN) else None
    except ValueError:
        return False
    return age is not None and age.total_seconds() < SETTLED


def orphans(share: int, known: Collection[int], reported: Collection[int]) -> Iterator[int]:
    """Yield the projects of a share that no directory has any more and whose limits are still there."""
    return (one for one in reported if parent(one) == share and one not in known)
