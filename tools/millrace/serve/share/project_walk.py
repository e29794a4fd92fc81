# SPDX-License-Identifier: Apache-2.0
"""Counting everything in a tree to a quota project, while clients write it: by descriptors, never through a link.

It imports next to nothing, because millrace-child-quota.service keeps it in memory.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from millrace.system import reflink
from millrace.system.errors import Failed
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place


@dataclass(frozen=True)
class Projects:
    """How projects of open files and directories are read and set."""

    of: Callable[[int], int] = reflink.project
    assign: Callable[[int, int], None] = reflink.set_project
    hand_down_nothing: Callable[[int], None] = reflink.hand_down_nothing


XFS = Projects()

Held = tuple[Place, str]
"""A file that a client has a delegation of: its directory, and its name there."""


class _Stopped(Exception):
    """The walk ends."""


def count(
    top: int, project: int, projects: Projects, threads: int = 1, tick: Callable[[], None] = lambda: None
) -> list[Held]:
    """Count the open directory `top` and everything below it to a project; return the files that clients hold.

    From the top down: what is created meanwhile is created with the new project, or listed after that was set. Links,
    pipes, sockets and devices are skipped, as xfs_quota does, and so is what is mounted below. `tick` is called at
    least every second; what it raises ends the walk. OSError, Failed: something refuses the project.
    """
    device, stop = os.fstat(top).st_dev, Event()
    held: list[Held] = []

    def visit(path: Place) -> list[str]:
        inner: list[str] = []
        with gone_is_fine(), opener.below(path) as at:
            if os.fstat(at).st_dev != device:
                return []
            if projects.of(at) != project:
                projects.assign(at, project)
            for name, status in entries(at):
                if stop.is_set():
                    raise _Stopped
                if status.st_dev != device:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    inner.append(name)
                elif stat.S_ISREG(status.st_mode) and not _move(name, at, device, project, projects):
                    held.append((path, name))
        return inner

    with Opener(top) as opener:
        descend(visit, threads, tick, stop.set)
    return held


def again(top: int, held: list[Held], project: int, projects: Projects) -> list[Held]:
    """Count files that clients held to a project; return those that are still held. OSError: one refuses it."""
    device = os.fstat(top).st_dev
    still: list[Held] = []
    with Opener(top) as opener:
        for path, name in held:
            with gone_is_fine(), opener.below(path) as at:
                if not _move(name, at, device, project, projects):
                    still.append((path, name))
    return still


@contextmanager
def gone_is_fine() -> Iterator[None]:
    """Skip what a client removed or replaced meanwhile: what is in its place is looked for after the next change."""
    try:
        yield
    except (Failed, OSError) as error:
        if not is_gone(error):
            raise


def _move(name: str, at: int, device: int, project: int, projects: Projects) -> bool:
    """Count a file to a project; return False where a client has a delegation of it."""
    try:
        # not waiting: neither for the other end of a pipe that a client puts there, nor for a delegation
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except BlockingIOError:
        return False
    except OSError as error:
        if not is_gone(error):
            raise
        return True
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_dev == device and projects.of(file) != project:
            projects.assign(file, project)
    finally:
        os.close(file)
    return True
