# SPDX-License-Identifier: Apache-2.0
"""The list of the files of a snapshot: what its source offers to replicas beside the tree, and what both compare.

Each line is a JSON array, gzip around all: the header, an entry for each file and directory with its parent before it,
and the end with their number. An entry has what NFS does not show: hard links, all attributes, and where the blocks
of a file are. Two snapshots that exist at the same time share a block where both have it at the same place.

A list is input from another server: names lead nowhere else, and numbers are bounded, before anything is done by them.
"""

import base64
import binascii
import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Literal, get_args

from pydantic import Field

from millrace.serve.clone.clone_tree import ACCESS
from millrace.serve.share.kept_snapshots import NamedSnapshot
from millrace.system import extents, posix_acl
from millrace.system.documents import Contract, Count, parse_model
from millrace.system.errors import BadInput
from millrace.system.extents import Extent, ExtentsUnknown
from millrace.system.trees.descend import entries
from millrace.system.trees.opener import Opener, Place

FILE_LIST = "files.gz"
"""Its name in the directory of a snapshot."""
LONGEST_LINE = 32 << 20
"""Bytes of a line: the attributes of a file, and up to `MOST_EXTENTS` places."""
MOST_EXTENTS = 100_000
"""A file of more pieces is listed without their places, and read as a whole where it changed."""
LARGEST_FILE = (1 << 63) - 1
LARGEST_ID = (1 << 32) - 2

ListedKind = Literal["file", "directory", "link", "pipe", "socket"]
_KINDS: dict[int, ListedKind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOATIME | os.O_CLOEXEC
_ATTRIBUTE = re.compile(r"(user|trusted)\..+|" + "|".join(map(re.escape, ACCESS)), re.DOTALL)
_PLACES = 16


class LiveSnapshot(NamedSnapshot):
    """A snapshot that existed when a list was made: the places of its blocks compare with those of the list."""

    id: str


class SourceShare(Contract):
    """What a promoted replica takes over: the limits of the share in bytes, and who opened it, from where and how.

    `nfs_clients` are the NFS clients of the share itself, as `millrace share set --nfs-client` has them; none: the
    client networks of the source. `privileged_ports`: the source takes NFS from ports below 1024 only.
    """

    type: str
    size: int | None = None
    soft_size: int | None = None
    smb_users: list[str] = Field(default_factory=list)
    smb_groups: list[str] = Field(default_factory=list)
    smb_networks: list[str] = Field(default_factory=list)
    smb_encryption: str = "offered"
    smb_audit: bool = False
    child_size: int | None = None
    nfs: bool = True
    nfs_clients: list[str] = Field(default_factory=list)
    privileged_ports: bool = False
    smb: bool = True
    group: str | None = None
    writing: str = "own"


class FileListHeader(Contract):
    """Of which snapshot a list is, what else existed then, and the settings of its share."""

    schema_version: Literal[1] = 1
    id: str
    share: str
    name: str
    live: list[LiveSnapshot] = Field(default_factory=list)
    settings: SourceShare


class FileListEnd(Contract):
    """The end of a list: the number of entries, and the names of the owners of files by their numbers."""

    schema_version: Literal[1] = 1
    entries: Count
    users: dict[int, str] = Field(default_factory=dict)
    groups: dict[int, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """A file or directory of a snapshot. `changed` is in nanoseconds since 1970, `size` in bytes of a file.

    `path` has its names from the top, "" for the top itself. `inode` is 0 where a file has one name. `extents` is None
    where it is not known where its blocks are.
    """

    path: str
    kind: ListedKind
    mode: int
    uid: int
    gid: int
    changed: int
    size: int = 0
    inode: int = 0
    target: str | None = None
    attributes: Mapping[str, bytes] = field(default_factory=dict)
    extents: tuple[Extent, ...] | None = None

    @property
    def identity(self) -> bytes | None:
        """What is equal for two files that share all blocks; None where nothing says that."""
        return identity(self.size, self.extents)


def identity(size: int, places: tuple[Extent, ...] | None) -> bytes | None:
    """Return what is equal for two files of this size and with blocks at these places; None without any block."""
    if not places:
        return None
    return blake2b(repr((size, places)).encode(), digest_size=_PLACES).digest()


def write(tree: int, header: FileListHeader, path: Path, names: "OwnerNames") -> FileListEnd:
    """Write the list of an open tree, complete or not at all. OSError: a part of it cannot be read, or written."""
    made = path.with_name(f".{path.name}")
    made.unlink(missing_ok=True)
    number = 0
    with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        with gzip.open(file, "wb", compresslevel=1) as packed:
            packed.write(header.model_dump_json().encode() + b"\n")
            for entry in listed(tree):
                packed.write(_line(entry))
                names.see(entry.uid, entry.gid)
                number += 1
            end = FileListEnd(entries=number, users=names.users, groups=names.groups)
            packed.write(end.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    made.rename(path)
    return end


class OwnerNames:
    """Names of the users and groups that files belong to; each is asked for once, and only those that are known."""

    def __init__(self, user: Mapping[int, str], group: Mapping[int, str]) -> None:
        self._user, self._group = user, group
        self.users: dict[int, str] = {}
        self.groups: dict[int, str] = {}

    def see(self, uid: int, gid: int) -> None:
        """Note the owner and the group of an entry."""
        if uid in self._user:
            self.users[uid] = self._user[uid]
        if gid in self._group:
            self.groups[gid] = self._group[gid]


def listed(tree: int) -> Iterator[ListedEntry]:
    """Yield what is in an open tree that nobody changes, each directory before what is in it.

    OSError: a part of it cannot be read. Failed: a directory cannot be opened.
    """
    waiting = [Place()]
    with Opener(tree) as opener:
        top = os.fstat(tree)
        yield _entry("", top, tree, None)
        while waiting:
            place = waiting.pop()
            with opener.below(place) as at:
                for name, state in sorted(entries(at)):
                    if state.st_dev != top.st_dev or stat.S_IFMT(state.st_mode) not in _KINDS:
                        continue
                    yield _entry("/".join((*place, name)), state, at, name)
                    if stat.S_ISDIR(state.st_mode):
                        waiting.append(Place(place, name))


def _entry(path: str, state: os.stat_result, at: int, name: str | None) -> ListedEntry:
    kind = _KINDS[stat.S_IFMT(state.st_mode)]
    attributes: dict[str, bytes] = {}
    target, places = None, None
    if kind in ("file", "directory"):
        opened = os.dup(at) if name is None else os.open(name, _READ, dir_fd=at)
        try:
            attributes = _attributes(opened)
            places = _extents(opened) if kind == "file" else None
        finally:
            os.close(opened)
    elif kind == "link":
        assert name is not None
        target = os.readlink(name, dir_fd=at)
    return ListedEntry(
        path=path,
        kind=kind,
        mode=stat.S_IMODE(state.st_mode),
        uid=state.st_uid,
        gid=state.st_gid,
        changed=state.st_mtime_ns,
        size=state.st_size if kind == "file" else 0,
        inode=state.st_ino if kind != "directory" and state.st_nlink > 1 else 0,
        target=target,
        attributes=attributes,
        extents=places,
    )


def _attributes(opened: int) -> dict[str, bytes]:
    return {
        name: os.getxattr(opened, name) for name in sorted(posix_acl.attributes(opened)) if _ATTRIBUTE.fullmatch(name)
    }


def _extents(opened: int) -> tuple[Extent, ...] | None:
    try:
        places = extents.extents(opened)
    except ExtentsUnknown:
        return None
    return tuple(places) if len(places) <= MOST_EXTENTS else None


def _line(entry: ListedEntry) -> bytes:
    attributes = {name: base64.b64encode(value).decode() for name, value in entry.attributes.items()}
    fields = [
        entry.path,
        entry.kind,
        entry.mode,
        entry.uid,
        entry.gid,
        entry.changed,
        entry.size,
        entry.inode,
        entry.target,
        attributes or None,
        entry.extents,
    ]
    # names that are no UTF-8 are surrogates, which JSON escapes
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


class FileList:
    """A list that is read from an open file; `where` names it in errors. Its entries are read once, in order."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        """BadInput: its first line is no header."""
        self._where = where
        self._packed = gzip.GzipFile(fileobj=file)
        self._directories: set[str] = set()
        self.header = parse_model(self._next(), Path(where), FileListHeader)
        self.end: FileListEnd | None = None

    def entries(self) -> Iterator[ListedEntry]:
        """Yield all entries; `end` is there afterwards. BadInput: a line is none, or lines are missing."""
        number = 0
        line = self._next()
        while not line.startswith(b"{"):
            entry = self._parsed(line)
            self._require_parent(entry)
            number += 1
            yield entry
            line = self._next()
        self.end = parse_model(line, Path(self._where), FileListEnd)
        if self.end.entries != number or not number:
            raise BadInput(f"{self._where} was changed: it has {number} entries, and its end says {self.end.entries}")

    def _next(self) -> bytes:
        try:
            line = self._packed.readline(LONGEST_LINE)
        except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
            raise BadInput(f"{self._where} was changed: {error}") from error
        if not line.endswith(b"\n"):
            raise BadInput(f"{self._where} was changed: it has no end")
        return line

    def _parsed(self, line: bytes) -> ListedEntry:
        try:
            return _parsed(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError, binascii.Error) as error:
            raise BadInput(f"{self._where} was changed: a line of it is no entry ({error})") from error

    def _require_parent(self, entry: ListedEntry) -> None:
        # nothing comes below what is no directory, and the top comes first
        if entry.path:
            known = entry.path.rpartition("/")[0] in self._directories
        else:
            known = not self._directories and entry.kind == "directory"
        if not known:
            raise BadInput(f"{self._where} was changed: the directory of an entry is missing")
        if entry.kind == "directory":
            self._directories.add(entry.path)


def _parsed(fields: Any) -> ListedEntry:
    """Return an entry. ValueError, TypeError: it is none."""
    path, kind, mode, uid, gid, changed, size, inode, target, attributes, places = fields
    if kind not in get_args(ListedKind):
        raise ValueError("its kind")
    if not isinstance(path, str) or (path and not all(_is_name(name) for name in path.split("/"))):
        raise ValueError("its name")
    if (kind == "link") != isinstance(target, str) or (target is not None and "\0" in target):
        raise ValueError("the target of a link")
    return ListedEntry(
        path=path,
        kind=kind,
        mode=_number(mode, 0o7777),
        uid=_number(uid, LARGEST_ID),
        gid=_number(gid, LARGEST_ID),
        changed=_number(changed, LARGEST_FILE, -LARGEST_FILE),
        size=_number(size, LARGEST_FILE),
        inode=_number(inode, (1 << 64) - 1),
        target=target,
        attributes={
            _attribute(name): base64.b64decode(value, validate=True) for name, value in (attributes or {}).items()
        },
        extents=None if places is None else _places(places, size),
    )


def _is_name(name: str) -> bool:
    return name not in ("", ".", "..") and "\0" not in name and len(os.fsencode(name)) <= 255


def _number(value: Any, most: int, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number")
    return value


def _attribute(name: str) -> str:
    if not _ATTRIBUTE.fullmatch(name) or name in posix_acl.XFS_NAMES or "\0" in name:
        raise ValueError("the name of an attribute")
    return name


def _places(places: Any, size: int) -> tuple[Extent, ...]:
    """The places of blocks, by offset and none of them twice; the last one may go beyond the end of the file."""
    parsed, after = list[Extent](), 0
    for offset, place, length in places:
        extent = (_number(offset, LARGEST_FILE, after), _number(place, LARGEST_FILE), _number(length, LARGEST_FILE, 1))
        parsed.append(extent)
        after = extent[0] + extent[2]
    if len(parsed) > MOST_EXTENTS:
        raise ValueError("its places")
    return tuple(parsed)
