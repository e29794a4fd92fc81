# SPDX-License-Identifier: Apache-2.0
"""The local users and groups: passwd(5), shadow(5), group(5) and gshadow(5), read once and rewritten once.

useradd(8) and its companions take one account a process and rewrite the four files for each of them. Here any number of
accounts is one change, under the lock that those tools, systemd-sysusers and PAM take as well (lckpwdf(3)). Users of a
domain are not in these files.
"""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from millrace.system import locks, paths
from millrace.system.errors import Failed
from millrace.system.files import replace_together

PASSWD, SHADOW, GROUP, GSHADOW = "etc/passwd", "etc/shadow", "etc/group", "etc/gshadow"
# Lines of users that useradd(8) made; none is added here, and none stays when its user is removed.
SUBORDINATE = ("etc/subuid", "etc/subgid")
LOCK = "etc/.pwd.lock"
# As long as lckpwdf(3) waits: 15 s.
PAUSES = (0.1,) * 10 + (0.5,) * 28
BUSY = "another program is changing users and groups of this server: try again when it has ended"

# In the place of a password: none opens the account, and a key of SSH still may.
NO_PASSWORD = "!"
_HOMELESS = "/nonexistent"
_EXPIRED = "1"
_AGEING = ("PASS_MIN_DAYS", "PASS_MAX_DAYS", "PASS_WARN_AGE")

Row = list[str]


class AccountFiles:
    """What is in the files. Changes are kept here until `editing` writes them."""

    def __init__(self) -> None:
        lines = {name: _lines(name) for name in (SHADOW, GSHADOW, GROUP, PASSWD, *SUBORDINATE)}
        self._rows = {name: [line.split(":") for line in those] for name, those in lines.items()}
        self._before = {name: _text(rows) for name, rows in self._rows.items()}
        self._users = _by_name(self._rows[PASSWD], 7)
        self._shadow = _by_name(self._rows[SHADOW], 9)
        self._groups = _by_name(self._rows[GROUP], 4)
        self._gshadow = _by_name(self._rows[GSHADOW], 4)
        self._members = {name: _names(row[3]) for name, row in self._groups.items()}
        self._joined: dict[str, set[str]] = {}
        for group, members in self._members.items():
            for name in members:
                self._joined.setdefault(name, set()).add(group)

    def uid(self, name: str) -> int | None:
        """Return the number of a user; None if there is none."""
        return _number(self._users.get(name))

    def gid(self, name: str) -> int | None:
        """Return the number of a group; None if there is none."""
        return _number(self._groups.get(name))

    def shell(self, name: str) -> str:
        """Return the shell of a user that exists."""
        return self._users[name][6]

    def groups(self, name: str) -> set[str]:
        """Return the groups that name a user as a member; its own is not among them."""
        return set(self._joined.get(name, ()))

    def is_complete(self, name: str) -> bool:
        """Whether a user also stands in shadow(5): a power cut leaves it out at worst."""
        return name in self._shadow

    def password(self, name: str) -> str:
        """Return what shadow(5) has as the password of a user; empty if it has no such user."""
        row = self._shadow.get(name)
        return row[1] if row else ""

    def set_password(self, name: str, value: str) -> None:
        """Set what shadow(5) has as the password of a user; one that is not there is passed over."""
        row = self._shadow.get(name)
        if row:
            row[1] = _row(value)[0]

    def add_group(self, name: str, gid: int) -> None:
        """Add a group without members."""
        self._groups[name] = _row(name, "x", str(gid), "")
        self._rows[GROUP].append(self._groups[name])
        self._members[name] = {}
        if name not in self._gshadow:
            self._gshadow[name] = _row(name, NO_PASSWORD, "", "")
            self._rows[GSHADOW].append(self._gshadow[name])

    def add_user(self, name: str, number: int, shell: str) -> None:
        """Add a user without a password and without a home, whose own group has the same number."""
        self._users[name] = _row(name, "x", str(number), str(number), "", _HOMELESS, shell)
        self._rows[PASSWD].append(self._users[name])
        self.complete(name)

    def complete(self, name: str) -> None:
        """Add a user without a password to shadow(5) where it is missing there."""
        if name in self._shadow:
            return
        today = str(int(time.time()) // 86400)
        self._shadow[name] = _row(name, NO_PASSWORD, today, *_ageing(), "", "", "")
        self._rows[SHADOW].append(self._shadow[name])

    def set_shell(self, name: str, shell: str) -> None:
        """Set the shell of a user that exists."""
        self._users[name][6] = _row(shell)[0]

    def set_full_name(self, name: str, full_name: str) -> None:
        """Set the full name of a user that exists."""
        self._users[name][4] = _row(full_name)[0]

    def set_home(self, name: str, home: str) -> None:
        """Set the home directory of a user that exists; empty for none."""
        self._users[name][5] = _row(home or _HOMELESS)[0]

    def set_groups(self, name: str, wanted: Iterable[str]) -> None:
        """Make a user a member of these groups and no others. Failed: one of them does not exist."""
        groups = set(wanted)
        missing = sorted(groups - self._groups.keys())
        if missing:
            raise Failed(f"group {missing[0]} does not exist")
        for group in groups ^ self.groups(name):
            self._set_member(group, name, group in groups)
        self._joined[name] = groups

    def lock(self, name: str) -> None:
        """Let a user log in by no password and no key, as `usermod --lock --expiredate 1` does."""
        row = self._shadow.get(name)
        if row:
            row[1] = row[1] if row[1].startswith("!") else f"!{row[1]}"
            row[7] = _EXPIRED

    def unlock(self, name: str) -> None:
        """Undo `lock`; a user without a password still has none."""
        row = self._shadow.get(name)
        if row:
            row[1] = row[1].removeprefix("!") or NO_PASSWORD
            row[7] = "" if row[7] == _EXPIRED else row[7]

    def has_password(self, name: str) -> bool:
        """Whether a password opens the account."""
        return self.password(name).startswith("$")

    def remove_users(self, names: Iterable[str]) -> None:
        """Remove users, with their own groups and from all others."""
        gone = set(names)
        for name in gone:
            self.set_groups(name, ())
            for users in (self._users, self._shadow):
                users.pop(name, None)
        for file in (PASSWD, SHADOW, *SUBORDINATE):
            self._drop(file, gone)
        self.remove_groups(gone)

    def remove_groups(self, names: Iterable[str]) -> None:
        """Remove groups."""
        gone = set(names)
        for name in gone:
            for member in self._members.pop(name, {}):
                self._joined[member].discard(name)
            for groups in (self._groups, self._gshadow):
                groups.pop(name, None)
        for file in (GROUP, GSHADOW):
            self._drop(file, gone)

    def changed(self) -> dict[str, bytes]:
        """Return the files that differ from what was read, by path, in the order in which they are to be replaced.

        A user is in passwd(5) last, and out of shadow(5) first: after a power cut in between nobody logs in who should
        not, and the next rendering of the users does the rest.
        """
        for name, members in self._members.items():
            self._groups[name][3] = ",".join(members)
        texts = {file: _text(rows) for file, rows in self._rows.items()}
        return {file: text for file, text in texts.items() if text != self._before[file]}

    def _set_member(self, group: str, name: str, joins: bool) -> None:
        row = self._gshadow.get(group)
        hidden = _names(row[3]) if row else {}
        for members in (self._members[group], hidden):
            if joins:
                members[name] = None
            else:
                members.pop(name, None)
        if row:
            row[3] = ",".join(hidden)

    def _drop(self, file: str, names: set[str]) -> None:
        self._rows[file] = [row for row in self._rows[file] if row[0] not in names]


@contextmanager
def editing() -> Iterator[AccountFiles]:
    """Hold the lock of the accounts and yield what the files have now; write what was changed when the block ends.

    Nothing is written if the block raises; modes and owners stay, and what was there before is kept beside it
    (`/etc/passwd-`), as useradd(8) does. No tool that changes accounts may be run in the block: it waits for the same
    lock. Busy: another program holds the lock for 15 s.
    """
    with locks.shared_with_tools(paths.ROOT / LOCK, PAUSES, BUSY):
        files = AccountFiles()
        yield files
        changed = files.changed()
        if changed:
            replace_together({paths.ROOT / name: content for name, content in changed.items()})


def running(numbers: Iterable[int]) -> set[int]:
    """Return those of these user numbers as which programs run: their sessions, not what serves them files."""
    wanted, seen = set(numbers), set()
    for status in (paths.ROOT / "proc").glob("[0-9]*/status"):
        try:
            match = re.search(r"^Uid:\t(\d+)", status.read_text(errors="replace"), re.MULTILINE)
        except OSError:
            continue
        # the real number: smbd is root and changes only the effective one
        if match and int(match[1]) in wanted:
            seen.add(int(match[1]))
    return seen


def _lines(name: str) -> list[str]:
    try:
        text = (paths.ROOT / name).read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        return []
    # not splitlines(), which knows more ends of a line than these files
    return text.removesuffix("\n").split("\n") if text else []


def _text(rows: Iterable[Row]) -> bytes:
    return "".join(f"{':'.join(row)}\n" for row in rows).encode(errors="surrogateescape")


def _by_name(rows: Iterable[Row], fields: int) -> dict[str, Row]:
    """Rows by name, the first of each, as getpwnam(3) finds it; what is not complete is left alone."""
    found: dict[str, Row] = {}
    for row in rows:
        if len(row) == fields and row[0]:
            found.setdefault(row[0], row)
    return found


def _names(field: str) -> dict[str, None]:
    return dict.fromkeys(name for name in field.split(",") if name)


def _number(row: Row | None) -> int | None:
    return int(row[2]) if row else None


def _row(*fields: str) -> Row:
    # The model has checked each name; this is where a line that was not would become another account.
    if any(re.search(r"[:,\n]", field) for field in fields):
        raise ValueError("a field of an account has a colon, a comma or a line break")
    return list(fields)


def _ageing() -> list[str]:
    """The least and most days of a password, and those of a warning, from login.defs(5); empty where it has none."""
    text = "\n".join(_lines("etc/login.defs"))
    matches = (re.search(rf"^\s*{key}\s+(\d+)", text, re.MULTILINE) for key in _AGEING)
    return [match[1] if match else "" for match in matches]
