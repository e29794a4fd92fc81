# SPDX-License-Identifier: Apache-2.0
"""The SIDs in NT ACLs of files: which machine SID names their owners, and how a former one is replaced.

vfs_acl_xattr(8) keeps an ACL in security.NTACL: a hash of the POSIX ACL that belongs to it (struct xattr_NTACL, version
4), and after that a security descriptor. The hash has numbers of users only, so it stays right with another SID.
"""

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path as FilePath
from threading import Event

from millrace.serve.share.model import Share
from millrace.serve.share.project_walk import gone_is_fine
from millrace.system import paths
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import PDBEDIT
from millrace.system.trees import nofollow
from millrace.system.trees.descend import descend, entries
from millrace.system.trees.opener import Opener, Place

NTACL = "security.NTACL"

# In each home, and homes of each share: enough to tell, and little at every change of shares.
ENTRIES, HOMES = 16, 16

# S-1-5-21 with three numbers and a RID.
_PREFIX = bytes((1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0))
_DOMAIN, _RID = 12, 4
_HEADER = re.compile(rb"\x01\x00.[\x80-\xff](.{4})(.{4})(.{4})(.{4})", re.DOTALL)
_NONE = (errno.ENODATA, errno.ENOTSUP)
_ACCOUNT = re.compile(r"^Unix username:\s+(?P<name>\S+)$.*?^User SID:\s+\S+-(?P<rid>\d+)$", re.MULTILINE | re.DOTALL)

Rids = Mapping[int, int]
"""The RID of each local user, by number."""


@dataclass(frozen=True)
class AclOwner:
    """The owner that an NT ACL names: the SID of a machine or domain, and the number of an account in it."""

    sid: str
    rid: int


@dataclass(frozen=True)
class Home:
    """The home of a local user: its directory, and the name and number of the user."""

    path: FilePath
    name: str
    uid: int


@dataclass
class SidCount:
    """What a walk found: files whose ACL names their owner by the machine SID, and others by the SID that they name.

    `held` is the number of files that clients have a delegation of: they were not verified.
    """

    right: int = 0
    others: Counter[str] = field(default_factory=Counter)
    held: int = 0


def owner(acl: bytes) -> AclOwner | None:
    """Return the owner that an NT ACL names; None where that is no account of a machine or domain."""
    start = _descriptor(acl)
    if start is None:
        return None
    at = int.from_bytes(acl[start + 4 : start + 8], "little")
    if acl[at : at + len(_PREFIX)] != _PREFIX:
        return None
    first = at + len(_PREFIX)
    return AclOwner(_text(acl[first : first + _DOMAIN]), int.from_bytes(acl[first + _DOMAIN :][:_RID], "little"))


def replaced(acl: bytes, old: str, new: str) -> bytes:
    """Return an NT ACL whose accounts of the machine SID `old` are those of `new`."""
    start = _descriptor(acl)
    if start is None:
        return acl
    return acl[:start] + acl[start:].replace(_PREFIX + _bytes(old), _PREFIX + _bytes(new))


def homes(shares: Sequence[Share]) -> list[Home]:
    """Return the homes of the shares of type home that are on SMB."""
    return [
        Home(paths.ROOT / share.path.lstrip("/") / name, name, uid)
        for share in shares
        if share.type == "home" and share.smb is not None
        for name, uid in share.homes.items()
    ]


def rids(some: Sequence[Home], run: Runner) -> Rids:
    """Return the RIDs of the users of homes. Failed: pdbedit does not list them."""
    listed = must(run, [*PDBEDIT, "-L", "-v"]).split("---------------\n")
    by_name = {match["name"]: int(match["rid"]) for match in map(_ACCOUNT.search, listed) if match}
    return {home.uid: by_name[home.name] for home in some if home.name in by_name}


def of_files(some: Sequence[Home], run: Runner) -> str | None:
    """Return the machine SID by which most files of a sample name their owners; None where none names one.

    It counts where the RID is that of the local user who owns the file: accounts of a domain are no proof. Where there
    is no such file, those of users whose RID is not known count. Failed: pdbedit does not list the users.
    """
    # of every home: a new SID is recorded for the life of the pool where none is seen here
    seen = list(_sampled(some))
    if not seen:
        return None
    known = rids(some, run)
    counted = Counter(named.sid for home, named in seen if known.get(home.uid) == named.rid)
    counted = counted or Counter(named.sid for home, named in seen if home.uid not in known)
    return counted.most_common(1)[0][0] if counted else None


def named(some: Sequence[Home], run: Runner) -> list[str]:
    """Return the machine SIDs by which files of a sample name the local users who own them: what `count` counts.

    Failed: pdbedit does not list the users.
    """
    seen = list(_sampled(islice(some, HOMES)))
    if not seen:
        return []
    known = rids(some, run)
    return sorted({account.sid for home, account in seen if known.get(home.uid) == account.rid})


def _sampled(some: Iterable[Home]) -> Iterator[tuple[Home, AclOwner]]:
    """Yield the owner that the ACL names for some entries of homes, where the user of the home owns them."""
    for home in some:
        with gone_is_fine(), nofollow.directory(home.path) as at:
            device = os.fstat(at).st_dev
            for name, status in islice(entries(at), ENTRIES):
                if status.st_uid != home.uid or status.st_dev != device or not _is_counted(status.st_mode):
                    continue
                account = owner(_read(f"/proc/self/fd/{at}/{name}"))
                if account is not None:
                    yield home, account


def _is_counted(mode: int) -> bool:
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def count(
    some: Sequence[Home], sid: str, known: Rids, counted: SidCount, *, replace: bool, tick: Callable[[], None]
) -> None:
    """Walk homes; count in `counted` whose SIDs their ACLs name, and with `replace` put `sid` in place of former ones.

    A SID is a former one of this server where the owner that it names has the RID of the local user who owns the file.
    A file that a client has a delegation of is counted as held. `tick` is called at least every second; what it raises
    ends the walk.
    """
    for home in some:
        with gone_is_fine(), nofollow.directory(home.path) as at, Opener(at) as opener:
            visit = _Visit(opener, sid, known, counted, replace)
            descend(visit, 1, tick, visit.stop.set)


@dataclass
class _Visit:
    home: Opener
    sid: str
    known: Rids
    counted: SidCount
    replace: bool
    stop: Event = field(default_factory=Event)

    def __call__(self, path: Place) -> list[str]:
        inner: list[str] = []
        with gone_is_fine(), self.home.below(path) as at:
            self._look(at)
            device = os.fstat(at).st_dev
            for name, status in entries(at):
                if self.stop.is_set():
                    break
                if status.st_dev != device:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    inner.append(name)
                elif stat.S_ISREG(status.st_mode):
                    self._file(name, status.st_uid, at)
        return inner

    def _file(self, name: str, uid: int, at: int) -> None:
        # what is gone is one file: the rest of the directory is looked at
        with gone_is_fine():
            if not self.replace:
                self._account(_read(f"/proc/self/fd/{at}/{name}"), uid)
                return
            try:
                # not waiting: neither for the other end of a pipe that a client puts there, nor for a delegation
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
            except BlockingIOError:
                self.counted.held += 1
                return
            try:
                self._look(file)
            finally:
                os.close(file)

    def _look(self, file: int) -> None:
        acl = _read(file)
        other = self._account(acl, os.fstat(file).st_uid)
        if other is not None and self.replace:
            os.setxattr(file, NTACL, replaced(acl, other, self.sid), os.XATTR_REPLACE)

    def _account(self, acl: bytes, uid: int) -> str | None:
        """Count an ACL; return the former SID by which it names the owner."""
        named = owner(acl)
        if named is None or self.known.get(uid) != named.rid:
            return None
        if named.sid == self.sid:
            self.counted.right += 1
            return None
        self.counted.others[named.sid] += 1
        return named.sid


def _read(file: int | str) -> bytes:
    try:
        return os.getxattr(file, NTACL) if isinstance(file, int) else os.getxattr(file, NTACL, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NONE or isinstance(error, FileNotFoundError):
            return b""
        raise


def _descriptor(acl: bytes) -> int | None:
    """Where the security descriptor begins: its header points behind itself, at the owner, from the top of the ACL."""
    for match in _HEADER.finditer(acl):
        first = int.from_bytes(match[1], "little")
        if first == match.end():
            return match.start()
    return None


def _text(domain: bytes) -> str:
    return "S-1-5-21-" + "-".join(str(int.from_bytes(domain[at : at + 4], "little")) for at in (0, 4, 8))


def _bytes(sid: str) -> bytes:
    return b"".join(int(number).to_bytes(4, "little") for number in sid.split("-")[4:])
