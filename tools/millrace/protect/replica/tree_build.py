# SPDX-License-Identifier: Apache-2.0
"""Build a tree from the list of another one: what an earlier tree here has is shared with it, the rest is read.

Nobody but root reaches the tree that is built. A file gets its name when it is complete and on the drives, so what has
a name there needs nothing more, and a build that was ended at any moment goes on when it is run again. A large file
has a mark up to where it is on the drives. Directories get their owners and times last.

What was moved or cloned on the source is found by the places of its blocks. A name is never followed through a link,
neither here nor on the source: a file of the source that is not what its list says ends the build. One that the source
cannot read is left out.
"""

import errno
import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b

from millrace.protect.replica.file_list import ListedEntry, identity
from millrace.protect.replica.replica_failures import SourceError, cause, of_source, pass_over
from millrace.storage.scrub.remap import punch
from millrace.system import posix_acl, reflink
from millrace.system.errors import Failed
from millrace.system.extents import Extent, unshared
from millrace.system.text import printable_name
from millrace.system.trees import nofollow
from millrace.system.trees.opener import Opener, Place

BLOCK = 1 << 20
DURABLE = 256 << 20
"""After so many bytes of a file they are on the drives, and a build that was ended does not read them again."""
SAMPLE = 16
"""Pieces that are read once more from the source and compared."""
PIECE = 64 << 10
"""Bytes of a piece."""
MOST_UNREAD = 1000
"""A source that cannot read more files than this is not copied any further."""
NAMED = 100
"""Names of files that the source cannot read, of a build at most."""

_MARK = "trusted.millrace.done"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class ChangedList(Failed):
    """The source has not what its list says."""


class DamagedSource(Failed):
    """The source cannot read too many files of its snapshot."""


class DifferentContent(Failed):
    """What was built is not what the source has: a tree here that it shares blocks with is not what it was."""


@dataclass
class Built:
    """What a build has done: `entries` in place, `kept` of an ended build among them.

    `shared` files have all blocks of an earlier tree, of `changed` files some; `fetched` are bytes read from the
    source, `verified` those that were read again and compared. `unread` files the source cannot read: they are missing,
    and `unread_names` are some of their paths, fit for a line.
    """

    entries: int = 0
    kept: int = 0
    shared: int = 0
    changed: int = 0
    fetched: int = 0
    verified: int = 0
    unread: int = 0
    unread_names: list[str] = field(default_factory=list)


class BaseTree:
    """An earlier tree here with the list that it was built from.

    `is_exact`: the source had that one and the new one at the same time, so that equal places are equal blocks. If it
    had not, a file of the same name, size and time counts as the same.
    """

    def __init__(self, top: int, entries: Iterable[ListedEntry], is_exact: bool) -> None:
        self._opener = Opener(top)
        self.is_exact = is_exact
        self._by_path: dict[str, tuple[int, int, tuple[Extent, ...] | None]] = {}
        self._by_places: dict[bytes, str] = {}
        self._places: dict[str, Place] = {"": Place()}
        for entry in entries:
            if entry.kind == "directory" and entry.path:
                above, _, name = entry.path.rpartition("/")
                self._places[entry.path] = Place(self._places[above], name)
            elif entry.kind == "file" and entry.size:
                self._by_path[entry.path] = entry.size, entry.changed, entry.extents
                if is_exact and (known := entry.identity) is not None:
                    self._by_places[known] = entry.path

    def __enter__(self) -> "BaseTree":
        return self

    def __exit__(self, *_: object) -> None:
        self._opener.__exit__()

    @contextmanager
    def same(self, entry: ListedEntry) -> Iterator[int | None]:
        """Open the file that has the content of an entry, under whatever name; None where there is none."""
        path = None
        if self.is_exact and (known := identity(entry.size, entry.extents)) is not None:
            path = self._by_places.get(known)
        elif not self.is_exact and self._by_path.get(entry.path, (0, 0))[:2] == (entry.size, entry.changed):
            path = entry.path
        with self._file(path, entry.size) as opened:
            yield opened

    @contextmanager
    def former(self, entry: ListedEntry) -> Iterator[tuple[int, tuple[Extent, ...]] | None]:
        """Open the file of the same name, with the places of its blocks; None where they say nothing."""
        size, _, places = self._by_path.get(entry.path, (0, 0, None))
        usable = self.is_exact and places is not None and entry.extents is not None
        with self._file(entry.path if usable else None, size) as opened:
            yield None if opened is None or places is None else (opened, places)

    @contextmanager
    def _file(self, path: str | None, size: int) -> Iterator[int | None]:
        opened = None if path is None else self._opened(path, size)
        try:
            yield opened
        finally:
            if opened is not None:
                os.close(opened)

    def _opened(self, path: str, size: int) -> int | None:
        """Open a file; None where it is not there, as in a tree that was not completed, or cannot be read."""
        above, _, name = path.rpartition("/")
        try:
            with self._opener.below(self._places[above]) as at:
                opened = os.open(name, _READ, dir_fd=at)
        except (OSError, Failed):
            return None
        state = os.fstat(opened)
        if stat.S_ISREG(state.st_mode) and state.st_size == size:
            return opened
        os.close(opened)
        return None


@dataclass
class TreeBuild:
    """Builds the directory `target` from `source`, both open; `parts` is an open one for files that are not complete.

    All but `source` are of one file system. `share` lets an open file have the blocks of another. `tick` is called
    after each block with what is done; what it raises ends the build.
    """

    source: int
    target: int
    parts: int
    bases: list[BaseTree]
    tick: Callable[[Built], None] = lambda _: None
    share: Callable[[int, int], None] = reflink.clone
    chance: random.Random = field(default_factory=random.Random)
    done: Built = field(default_factory=Built)

    def __post_init__(self) -> None:
        self._sources, self._targets = Opener(self.source), Opener(self.target)
        self._places: dict[str, Place] = {"": Place()}
        self._directories: list[ListedEntry] = []
        self._links: dict[int, str] = {}
        self._sample: list[ListedEntry] = []
        self._files = 0

    def run(self, entries: Iterable[ListedEntry], full: bool = False) -> Built:
        """Build what is listed, and compare a sample of it with the source, or with `full` all.

        ChangedList: the source has not what its list says. DifferentContent: what was built is not what the source has.
        DamagedSource: the source cannot read too many files. SourceError: the source fails. OSError: the pool fails.
        Another run goes on.
        """
        with self._sources, self._targets:
            for entry in entries:
                try:
                    self._add(entry)
                except SourceError as error:
                    self._leave_out(entry, error)
                else:
                    self._choose(entry, full)
                self.done.entries += 1
                self.tick(self.done)
            # the inner ones first: what is made in a directory changes its time
            for entry in reversed(self._directories):
                with self._targets.below(self._places[entry.path]) as directory:
                    dress(directory, entry)
            os.fsync(self.target)
            for entry in self._sample:
                try:
                    self._compare(entry, full)
                except SourceError as error:
                    pass_over(entry.path, error, self.source)
        return self.done

    def _leave_out(self, entry: ListedEntry, error: SourceError) -> None:
        """Go on without a file. SourceError: it is not this file alone. Failed: too many are like it."""
        pass_over(entry.path, error, self.source)
        with suppress(FileNotFoundError):
            os.unlink(_part(entry), dir_fd=self.parts)
        self.done.unread += 1
        if len(self.done.unread_names) < NAMED:
            self.done.unread_names.append(printable_name(os.fsencode(entry.path)))
        if self.done.unread > MOST_UNREAD:
            raise DamagedSource(
                f"the source cannot read more than {MOST_UNREAD} files of its snapshot: verify its pool"
            )

    def _add(self, entry: ListedEntry) -> None:
        if not entry.path:
            self._directories.append(entry)
            return
        above, _, name = entry.path.rpartition("/")
        with self._targets.below(self._places[above]) as at:
            if entry.kind == "directory":
                nofollow.make_directory(name, 0o700, at)
                self._places[entry.path] = Place(self._places[above], name)
                self._directories.append(entry)
                return
            if _is_there(entry, name, at):
                self.done.kept += 1
            elif not self._second_name(entry, name, at):
                self._make(entry, name, at)
            if entry.inode:
                self._links.setdefault(entry.inode, entry.path)

    def _second_name(self, entry: ListedEntry, name: str, at: int) -> bool:
        """Give a file that is there another name; return whether it was there."""
        first = self._links.get(entry.inode) if entry.inode else None
        if first is None:
            return False
        above, _, known = first.rpartition("/")
        with self._targets.below(self._places[above]) as directory:
            os.link(known, name, src_dir_fd=directory, dst_dir_fd=at, follow_symlinks=False)
        return True

    def _make(self, entry: ListedEntry, name: str, at: int) -> None:
        part = _part(entry)
        if entry.kind == "file":
            self._file(entry, part)
        else:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=self.parts)
            self._special(entry, part)
        os.rename(part, name, src_dir_fd=self.parts, dst_dir_fd=at)

    def _special(self, entry: ListedEntry, part: str) -> None:
        """A symbolic link, a named pipe or a socket: none is opened."""
        if entry.kind == "link":
            os.symlink(str(entry.target), part, dir_fd=self.parts)
        else:
            kind = stat.S_IFIFO if entry.kind == "pipe" else stat.S_IFSOCK
            os.mknod(part, kind | 0o600, dir_fd=self.parts)
        os.chown(part, entry.uid, entry.gid, dir_fd=self.parts, follow_symlinks=False)
        if entry.kind != "link":
            os.chmod(part, entry.mode, dir_fd=self.parts)
        os.utime(part, ns=(entry.changed, entry.changed), dir_fd=self.parts, follow_symlinks=False)

    def _file(self, entry: ListedEntry, part: str) -> None:
        made = os.open(part, _NEW, 0o600, dir_fd=self.parts)
        try:
            if not self._shared(entry, made):
                self._fetch(entry, made)
            os.ftruncate(made, entry.size)
            dress(made, entry)
            # what is shared is on the drives already, and XFS writes its log in order
            os.fsync(made)
        finally:
            os.close(made)

    def _shared(self, entry: ListedEntry, made: int) -> bool:
        for base in self.bases:
            with base.same(entry) as original:
                if original is not None:
                    os.ftruncate(made, 0)
                    self.share(original, made)
                    self.done.shared += 1
                    return True
        return False

    def _fetch(self, entry: ListedEntry, made: int) -> None:
        if not entry.size:
            os.ftruncate(made, 0)
            return
        with self._original(entry) as original, ExitStack() as stack:
            former = self._former(entry, stack)
            mark = _Mark(made, former[1] if former else None)
            if former is None:
                places = ((0, 0, entry.size),) if entry.extents is None else entry.extents
                ranges = [(offset, length) for offset, _, length in places]
            else:
                if not mark.at:
                    self.share(former[0], made)
                ranges = list(_changed(entry, former[1], made))
                self.done.changed += 1
                # the client of NFS would read ahead
                os.posix_fadvise(original, 0, 0, os.POSIX_FADV_RANDOM)
            self._read(entry, original, made, ranges, mark)

    def _former(self, entry: ListedEntry, stack: ExitStack) -> tuple[int, tuple[Extent, ...]] | None:
        for base in self.bases:
            if (former := stack.enter_context(base.former(entry))) is not None:
                return former
        return None

    @contextmanager
    def _original(self, entry: ListedEntry) -> Iterator[int]:
        above, _, name = entry.path.rpartition("/")
        try:
            with self._sources.below(self._places[above]) as at:
                opened = os.open(name, _READ, dir_fd=at)
        except (OSError, Failed) as error:
            reason = cause(error)
            if reason.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise ChangedList("a file of the list is not in the snapshot of the source") from error
            raise SourceError(reason.errno, reason.strerror, entry.path) from error
        try:
            with of_source():
                state = os.fstat(opened)
            if not stat.S_ISREG(state.st_mode) or (state.st_size, state.st_mtime_ns) != (entry.size, entry.changed):
                raise ChangedList("a file in the snapshot of the source is not as its list says")
            yield opened
        finally:
            os.close(opened)

    def _read(
        self, entry: ListedEntry, original: int, made: int, ranges: Iterable[tuple[int, int]], mark: "_Mark"
    ) -> None:
        unsaved = 0
        for offset, length in ranges:
            end = min(offset + length, entry.size)
            at = max(offset, mark.at)
            while at < end:
                with of_source():
                    block = os.pread(original, min(BLOCK, end - at), at)
                if not block:
                    raise ChangedList("a file in the snapshot of the source is shorter than its list says")
                _write(made, block, at)
                at += len(block)
                unsaved += len(block)
                self.done.fetched += len(block)
                self.tick(self.done)
                if unsaved >= DURABLE:
                    mark.set(at)
                    unsaved = 0

    def _choose(self, entry: ListedEntry, full: bool) -> None:
        """Choose the entry for the sample as likely as each other one, without knowing how many there are."""
        if entry.kind != "file" or not entry.size:
            return
        self._files += 1
        if full or len(self._sample) < SAMPLE:
            self._sample.append(entry)
        elif (chosen := self.chance.randrange(self._files)) < SAMPLE:
            self._sample[chosen] = entry

    def _compare(self, entry: ListedEntry, full: bool) -> None:
        above, _, name = entry.path.rpartition("/")
        ranges = [(0, entry.size)] if full else [self._piece(entry)]
        with self._targets.below(self._places[above]) as at, self._original(entry) as original:
            made = os.open(name, _READ, dir_fd=at)
            try:
                os.posix_fadvise(original, 0, 0, os.POSIX_FADV_NORMAL if full else os.POSIX_FADV_RANDOM)
                for offset, length in ranges:
                    self._compare_range(original, made, offset, length)
            finally:
                os.close(made)

    def _piece(self, entry: ListedEntry) -> tuple[int, int]:
        """A piece of a file, where it has blocks if that is known."""
        starts = [offset for offset, _, _ in entry.extents or () if offset < entry.size]
        pieces = max(entry.size // PIECE, 1)
        offset = self.chance.choice(starts) if starts else self.chance.randrange(pieces) * PIECE
        return offset, min(PIECE, entry.size - offset)

    def _compare_range(self, original: int, made: int, offset: int, length: int) -> None:
        end = offset + length
        while offset < end:
            ours = os.pread(made, min(BLOCK, end - offset), offset)
            with of_source():
                theirs = os.pread(original, min(BLOCK, end - offset), offset)
            if ours != theirs or not ours:
                raise DifferentContent("a file differs from the snapshot of the source")
            offset += len(ours)
            self.done.verified += len(ours)
            self.tick(self.done)


def _part(entry: ListedEntry) -> str:
    """The name of a file that is not complete: that of its entry, so that another run goes on with it."""
    told = repr((entry.path, entry.size, entry.changed, entry.extents)).encode()
    return blake2b(told, digest_size=16).hexdigest()


class _Mark:
    """Up to where an open incomplete file is on the drives, and of which former state it has the other blocks.

    One without a mark, or with the blocks of another state, is begun again.
    """

    def __init__(self, opened: int, former: tuple[Extent, ...] | None) -> None:
        self._opened = opened
        self._former = blake2b(repr(former).encode(), digest_size=16).hexdigest()
        at, _, state = _attribute(opened).partition(":")
        self.at = int(at) if at and state == self._former else 0
        if not self.at:
            os.ftruncate(opened, 0)

    def set(self, at: int) -> None:
        """Bring what was read on the drives, and mark that. OSError: the pool fails."""
        os.fsync(self._opened)
        os.setxattr(self._opened, _MARK, f"{at}:{self._former}".encode())


def _attribute(opened: int) -> str:
    try:
        return os.getxattr(opened, _MARK).decode()
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        return ""


def _changed(entry: ListedEntry, former: tuple[Extent, ...], made: int) -> Iterator[tuple[int, int]]:
    """Yield what is to be read of a file that has the blocks of its former state; what has none any more is freed."""
    os.ftruncate(made, entry.size)
    for offset, whole, is_there in unshared(list(former), list(entry.extents or ())):
        length = min(whole, entry.size - offset)
        if length <= 0:
            continue
        if is_there:
            yield offset, length
        else:
            punch(made, offset, length)


def _write(file: int, block: bytes, at: int) -> None:
    view = memoryview(block)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _is_there(entry: ListedEntry, name: str, at: int) -> bool:
    """Whether an entry has its name, and is complete by that. Failed: something else has it."""
    try:
        state = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    size = state.st_size if stat.S_ISREG(state.st_mode) else 0
    if (size, state.st_mtime_ns, state.st_uid) != (entry.size, entry.changed, entry.uid):
        raise ChangedList("a name is in the list twice")
    return True


def dress(opened: int, entry: ListedEntry) -> None:
    """Give an open file or directory the owner, mode, attributes and time of its entry. OSError: one cannot be set.

    A change of owner clears capabilities and the bits for set-user-ID, an access list sets the bits of the group.
    """
    os.fchown(opened, entry.uid, entry.gid)
    os.fchmod(opened, entry.mode)
    for name in set(posix_acl.attributes(opened)).difference(entry.attributes):
        os.removexattr(opened, name)
    for name, value in entry.attributes.items():
        os.setxattr(opened, name, value)
    os.utime(opened, ns=(entry.changed, entry.changed))
