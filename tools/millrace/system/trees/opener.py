# SPDX-License-Identifier: Apache-2.0
"""Directories of a tree that clients write, opened one near the other: as many steps as the walk takes, at any depth.

From the top each directory costs as many steps as it is deep: a tree of a hundred thousand directories below each
other would take days. So some of the directories that were opened last are kept open, and the next one is opened from
the nearest of them: up by "..", where what is there must be the directory that was opened on the way down (device and
inode), then down by name, never through a link. What a client has moved meanwhile is gone (descend.is_gone). What is
kept open may have been moved out of the tree: often the way to the top is verified in the same way.
"""

import errno
import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import overload
from weakref import WeakKeyDictionary

from millrace.system.errors import Failed
from millrace.system.trees import nofollow

KEPT = 16
"""So many directories are kept open."""
TRUSTED = 0.1
"""Seconds for which they count as part of the tree."""
SHARE = 20
"""At least so many times what the verification of one that is deep has taken."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Identity = tuple[int, int]


class Place(Sequence[str]):
    """Names from the top of a tree, none for the top itself. Each shares the names above it with its neighbours."""

    __slots__ = ("__weakref__", "_depth", "above", "name")

    def __init__(self, above: "Place | None" = None, name: str = "") -> None:
        self.above, self.name = above, name
        self._depth: int = 0 if above is None else len(above) + 1

    def __len__(self) -> int:
        return self._depth

    def __iter__(self) -> Iterator[str]:
        return reversed([place.name for place in self.upwards()])

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return tuple(self)[index]

    def upwards(self) -> Iterator["Place"]:
        """Yield this place and those above it, without the top."""
        place = self
        while place.above is not None:
            yield place
            place = place.above


class _MovedDirectory(Failed):
    """A directory is not where it was opened."""

    def __init__(self) -> None:
        super().__init__("a directory was moved while its tree was read")
        self.__cause__ = OSError(errno.ESTALE, os.strerror(errno.ESTALE))


class Opener:
    """Opens the directories of one walk below the directory descriptor `top`, for any number of threads."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._lock = Lock()
        # the last one that was used is the last
        self._kept: OrderedDict[Place, int] = OrderedDict()
        # for as long as something below is to be opened
        self._known: WeakKeyDictionary[Place, Identity] = WeakKeyDictionary()
        self._verified, self._interval = time.monotonic(), TRUSTED

    def __enter__(self) -> "Opener":
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._forget_all()

    @contextmanager
    def below(self, place: Place) -> Iterator[int]:
        """Open a directory. Failed: it is none, or it or one above it was moved or replaced."""
        at = self._opened(place)
        try:
            yield at
        finally:
            os.close(at)

    def _opened(self, place: Place) -> int:
        if place.above is None:
            return os.open(".", _DIRECTORY, dir_fd=self._top)
        with self._lock:
            self._verify()
            above = self._reached(place.above)
        try:
            at = _inner(place.name, above)
        finally:
            os.close(above)
        with self._lock:
            self._keep(place, at)
        return at

    def _reached(self, place: Place) -> int:
        """Open a directory from the nearest one that is open; from the top if none leads to it any more."""
        if place.above is None:
            return os.dup(self._top)
        if place in self._kept:
            self._kept.move_to_end(place)
            return os.dup(self._kept[place])
        for base in [*reversed(self._kept)]:
            try:
                return self._from(base, place)
            except (_MovedDirectory, OSError):
                # removed, or moved by a client
                self._forget(base)
        return self._down(os.dup(self._top), [*place.upwards()])

    def _from(self, base: Place, place: Place) -> int:
        """Open a directory from another one that is kept: up to what both are in, and down."""
        low, down = base, list[Place]()
        at = os.dup(self._kept[base])
        try:
            while low is not place:
                if len(low) > len(place):
                    low = self._up(low, at)
                else:
                    down.append(place)
                    if place.above is None:
                        raise _MovedDirectory
                    place = place.above
        except BaseException:
            os.close(at)
            raise
        return self._down(at, down)

    def _up(self, place: Place, at: int) -> Place:
        """Let `at` be the directory above; return its place. _MovedDirectory: another one is there."""
        above = place.above
        if above is None:
            raise _MovedDirectory
        outer = os.open("..", _DIRECTORY, dir_fd=at)
        try:
            known = _identity(self._top) if above.above is None else self._known.get(above)
            if _identity(outer) != known:
                raise _MovedDirectory
            os.dup2(outer, at, inheritable=False)
        finally:
            os.close(outer)
        return above

    def _down(self, at: int, places: list[Place]) -> int:
        """Open places one in the other, the last of the list first; `at` is closed or returned."""
        try:
            for place in reversed(places):
                inner = _inner(place.name, at)
                try:
                    if self._known.setdefault(place, _identity(inner)) != _identity(inner):
                        raise _MovedDirectory
                    os.dup2(inner, at, inheritable=False)
                finally:
                    os.close(inner)
            if places:
                self._keep(places[0], at)
        except BaseException:
            os.close(at)
            raise
        return at

    def _keep(self, place: Place, at: int) -> None:
        self._known[place] = _identity(at)
        if place in self._kept:
            os.close(self._kept.pop(place))
        self._kept[place] = os.dup(at)
        if len(self._kept) > KEPT:
            self._forget(next(iter(self._kept)))

    def _verify(self) -> None:
        """See from time to time that the last directory is still below the top; of the others nothing is known then."""
        began = time.monotonic()
        if not self._kept or began - self._verified < self._interval:
            return
        last = next(reversed(self._kept))
        for place in [place for place in self._kept if place is not last]:
            self._forget(place)
        at, low = os.dup(self._kept[last]), last
        try:
            while low.above is not None:
                low = self._up(low, at)
        except (_MovedDirectory, OSError):
            self._forget(last)
        finally:
            os.close(at)
        self._verified = time.monotonic()
        self._interval = max(TRUSTED, SHARE * (self._verified - began))

    def _forget(self, place: Place) -> None:
        os.close(self._kept.pop(place))

    def _forget_all(self) -> None:
        for place in [*self._kept]:
            self._forget(place)


def _inner(name: str, at: int) -> int:
    with nofollow.directory(name, at) as inner:
        return os.dup(inner)


def _identity(at: int) -> Identity:
    status = os.fstat(at)
    return status.st_dev, status.st_ino
