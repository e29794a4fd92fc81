# SPDX-License-Identifier: Apache-2.0
"""Every directory of a tree that clients write, in several threads, each opened by descriptors."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from millrace.system.errors import Failed
from millrace.system.text import printable_name
from millrace.system.trees import nofollow
from millrace.system.trees.opener import Place

GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ESTALE)
"""What is opened was renamed, removed or replaced by a link meanwhile."""


DEEPEST = 4096
"""So many directories below each other are opened: each one costs as many steps as it is deep."""


class TooDeep(Failed):
    """A directory that a client made too deep; `path` is where it begins, fit for one line."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = printable_name(os.fsencode("/".join(path[:3]))) + "/…"
        super().__init__(f"{self.path} has more than {DEEPEST} directories below each other: move or remove them")


@contextmanager
def below(top: int, path: Sequence[str]) -> Iterator[int]:
    """Open a directory below the directory descriptor `top`, one name after another and never through a link.

    Failed: one of them is no directory. TooDeep: there are more than DEEPEST, and nothing was opened.
    """
    if len(path) > DEEPEST:
        raise TooDeep(path)
    at = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=top)
    try:
        for name in path:
            with nofollow.directory(name, at) as inner:
                # one descriptor at a time, however deep a client has made it
                os.dup2(inner, at, inheritable=False)
        yield at
    finally:
        os.close(at)


def is_gone(error: BaseException) -> bool:
    """Whether an error says that a client has moved or replaced what was to be opened."""
    cause = error.__cause__ if isinstance(error, Failed) else error
    return isinstance(cause, OSError) and cause.errno in GONE


def descend(
    visit: Callable[[Place], list[str]],
    threads: int,
    tick: Callable[[], None],
    stop: Callable[[], None] | None = None,
    seconds: float = 1.0,
) -> None:
    """Call `visit` with the place of every directory, the top first; it returns the directories in it.

    `tick` is called by this thread, at least every so many seconds; what it, `visit` or a signal raises ends the
    descent. `stop` is called then, before the visits under way are waited for: a directory may have millions of files.
    """
    # The last one first: what waits is bounded by the depth and not by the size of the tree. The names of a directory
    # beside its path: one may have millions of directories.
    waiting: list[tuple[Place, list[str]]] = []
    first = [Place()]
    running: dict[Future[list[str]], Place] = {}
    with ThreadPoolExecutor(threads) as pool:
        try:
            while first or waiting or running:
                while (first or waiting) and len(running) < 2 * threads:
                    place = first.pop() if first else _next(waiting)
                    running[pool.submit(visit, place)] = place
                ended, _ = wait(running, seconds, FIRST_COMPLETED)
                for future in ended:
                    place, inner = running.pop(future), future.result()
                    if inner:
                        waiting.append((place, inner))
                tick()
        except BaseException:
            if stop is not None:
                stop()
            raise
        finally:
            for future in running:
                future.cancel()


def _next(waiting: list[tuple[Place, list[str]]]) -> Place:
    place, names = waiting[-1]
    name = names.pop()
    if not names:
        waiting.pop()
    return Place(place, name)


def entries(directory: int, chosen: Callable[[str], bool] | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what an open directory holds, with its state; what a client removes meanwhile is skipped.

    `chosen` says which names count; without it, all.
    """
    with os.scandir(directory) as listed:
        for entry in listed:
            if chosen is not None and not chosen(entry.name):
                continue
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
