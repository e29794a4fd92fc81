# SPDX-License-Identifier: Apache-2.0
"""The log of changing verbs: a line with account, time and words before each, and a line with its end after it.

One file for each account, and one older beside it: many changes of an account push out only its own entries.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from millrace.system import locks, paths, sysfs
from millrace.system.documents import Contract
from millrace.system.files import append_line, rename
from millrace.system.roles import Caller, Role
from millrace.system.text import one_line

Origin = Literal["page", "command line"]

LARGEST = 256 << 10
"""Bytes of a file; with the older one, an account has at most twice as many."""

_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_PAGES = "cockpit-bridge"
# Between the verb and who started it: the program itself as `millrace answer`, and how it became root.
_PASSED = frozenset({"millrace", "sudo", "pkexec", "python3"})
_MOST_PARENTS = 8


def change_log_dir() -> Path:
    """The log of changing verbs, one file for each account, for root alone."""
    return paths.state_dir() / "access/log"


class ChangeEntry(Contract):
    """A changing verb that an account ran. `status` is its exit status, null while it runs and where it was killed.

    `when` is ISO 8601 in UTC. `words` are what was typed after `millrace`; secrets are never among them.
    """

    when: str
    name: str
    role: Role | None
    origin: Origin
    words: str
    status: int | None


def begin(who: Caller, words: Sequence[str]) -> str:
    """Write that a verb begins; return the number for `end`. A log that cannot be written stops no change."""
    number = secrets.token_hex(4)
    _write(
        who.name,
        {
            "id": number,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "role": who.role,
            "origin": origin(),
            "words": one_line(" ".join(words)),
        },
    )
    return number


def end(who: Caller, number: str, status: int) -> None:
    """Write how a verb ended."""
    _write(who.name, {"id": number, "status": status})


def entries(most: int, name: str | None = None) -> list[ChangeEntry]:
    """Return the newest entries, newest first, of all people or of one. PermissionError: the caller is not root."""
    directory = change_log_dir()
    accounts = {path.name.removesuffix(".jsonl").removesuffix(".old") for path in directory.glob("*.jsonl")}
    wanted = accounts if name is None else accounts & {name}
    found = [entry for account in sorted(wanted) for entry in _of_account(account)]
    return sorted(found, key=lambda entry: entry.when, reverse=True)[:most]


def origin() -> Origin:
    """Whether a page of the web console started this process, or a shell, that of its terminal included."""
    at = os.getppid()
    for _ in range(_MOST_PARENTS):
        name = sysfs.text(paths.ROOT / f"proc/{at}/comm") or ""
        if name == _PAGES:
            return "page"
        stat = sysfs.text(paths.ROOT / f"proc/{at}/stat") or ""
        fields = stat.rpartition(")")[2].split()
        if name not in _PASSED or len(fields) < 2:
            break
        at = int(fields[1])
    return "command line"


def _of_account(account: str) -> Iterator[ChangeEntry]:
    begun: dict[str, dict[str, object]] = {}
    for path in (_file(account, ".old"), _file(account)):
        for line in (sysfs.text(path) or "").splitlines():
            # a power cut may leave a part of a line
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                values = json.loads(line)
                begun.setdefault(values["id"], {"status": None}).update(values)
    for values in begun.values():
        with suppress(ValueError):
            values.pop("id")
            yield ChangeEntry.model_validate({**values, "name": account})


def _write(name: str, values: dict[str, object]) -> None:
    account = name if _ACCOUNT.fullmatch(name) else "other"
    path = _file(account)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locks.held(path.parent / ".lock"):
            if path.exists() and path.stat().st_size > LARGEST:
                rename(path, _file(account, ".old"))
            append_line(path, json.dumps(values), mode=0o600)


def _file(account: str, suffix: str = "") -> Path:
    return change_log_dir() / f"{account}{suffix}.jsonl"
