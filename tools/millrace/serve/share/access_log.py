# SPDX-License-Identifier: Apache-2.0
"""Accesses to the files of a share over SMB, from the lines that vfs_full_audit of Samba writes to the journal.

The journal is bounded (`mkosi.extra/usr/lib/systemd/journald.conf.d/`), and takes a limited number of lines an hour
from smbd (smbd.service.d/20-log.conf): a flood of accesses loses lines, and journald records how many. Each group of
priorities has that limit: accesses have the priority debug, so they push out no sign-in, and are pushed out by none.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from millrace.serve.share.model import AccessAction, Share, ShareLog, ShareLogEntry, ShareLogLoss
from millrace.system import ages
from millrace.system.errors import Failed
from millrace.system.run import Runner, last_words
from millrace.system.text import moment

IDENTIFIER: Final = "smbd_audit"

# Samba 4.25 (source3/modules/vfs_full_audit.c): user, address and share before operation, result and arguments. It is
# above vfs_catia, so a bar is in no name of Windows and macOS. A client with POSIX extensions sends names with bars.
PARAMETERS: Final = {
    "full_audit:prefix": "%u|%I|%S",
    "full_audit:success": "create_file renameat unlinkat fset_nt_acl",
    "full_audit:failure": "none",
    "full_audit:facility": "local5",
    "full_audit:priority": "debug",
}

MOST_LINES = 20_000
"""So many lines of the journal are read at most: others of the server are among them."""

# SD_MESSAGE_JOURNAL_DROPPED (systemd, sd-messages.h); journald alone writes over this transport
_DROPPED = ("MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e", "_TRANSPORT=driver")
_OF_SMBD = re.compile(r"Suppressed (\d+) messages from smbd\.service")

# [MS-SMB2] 2.2.13.1.1
_READ, _WRITE = 0x1, 0x2 | 0x4
_NEW = frozenset({"create", "overwrite_if", "supersede", "overwrite"})
# vfs mkdir use tmp name: smbd makes a directory under another name first
_TEMPORARY = "/.::TMPNAME:"


def access_log(share: Share, number: int, run: Runner) -> ShareLog:
    """Return the newest `number` accesses, and what was lost since. Failed: the journal cannot be read."""
    # without --all a line of 4 KiB is null, and two long names are one
    argv = ["journalctl", "--quiet", "--no-pager", "--output=json", "--all", f"--lines={MOST_LINES}"]
    # Everybody who signs in may use this identifier. The kernel says whose group a line comes from: smbd has the uid of
    # its client there and root's group, which no user has.
    result = run([*argv, "--output-fields=MESSAGE", f"SYSLOG_IDENTIFIER={IDENTIFIER}", "_GID=0"])
    if result.status != 0:
        raise Failed(f"journalctl does not list accesses: {last_words(result)}")
    entries = [entry for line in result.out.splitlines() for entry in _entries(line, share)][-number:]
    audit = bool(share.smb and share.smb.audit)
    # a loss is recorded up to an hour after it began
    lost = losses(run, entries[0].at if entries else None) if audit or entries else []
    return ShareLog(share=share.name, audit=audit, entries=entries, lost=lost)


def losses(run: Runner, since: str | None = None) -> list[ShareLogLoss]:
    """Return how many lines of smbd journald dropped since a time (ISO 8601), or as far as its journal goes back.

    A line is an access, a sign-in or a message: nobody knows what was dropped. Failed: the journal cannot be read.
    """
    argv = ["journalctl", "--quiet", "--no-pager", "--output=json", "--output-fields=MESSAGE"]
    after = [f"--since=@{ages.when(since).timestamp():.0f}"] if since else []
    result = run([*argv, *after, *_DROPPED])
    if result.status != 0:
        raise Failed(f"journalctl does not list what was dropped: {last_words(result)}")
    matches = (
        (record[0], _OF_SMBD.match(str(record[1]))) for line in result.out.splitlines() if (record := _record(line))
    )
    return [ShareLogLoss(at=at, lines=int(dropped[1])) for at, dropped in matches if dropped]


def _record(line: str) -> tuple[str, object] | None:
    """The time and the message of a line of journalctl; None for one that cannot be read."""
    try:
        record = json.loads(line)
        at = datetime.fromtimestamp(int(record["__REALTIME_TIMESTAMP"]) / 1e6, UTC).isoformat(timespec="milliseconds")
    except (ValueError, KeyError, TypeError):
        return None
    return at, record.get("MESSAGE")


def _entries(line: str, share: Share) -> Iterator[ShareLogEntry]:
    record = _record(line)
    if record is None:
        return
    at, message = record
    if isinstance(message, list):
        # so journalctl writes what has a control character, or is not UTF-8
        message = bytes(byte for byte in message if byte in range(256)).decode(errors="replace")
    if not isinstance(message, str):
        return
    fields = message.split("|")
    if len(fields) < 6 or fields[2] != share.name or fields[4] != "ok":
        return
    done = _action(fields[3], fields[5:])
    if done is None:
        return
    action, path, target = done
    yield ShareLogEntry(
        at=at,
        user=fields[0],
        host=fields[1],
        action=action,
        path=_below(path, share),
        target=None if target is None else _below(target, share),
    )


def _action(operation: str, rest: list[str]) -> tuple[AccessAction, str, str | None] | None:
    """What an operation did, with the path and a new name; None for one that neither reads nor changes a file."""
    if operation == "unlinkat":
        return "deleted", "|".join(rest), None
    if operation == "fset_nt_acl":
        return "permissions changed", "|".join(rest).removesuffix(" []"), None
    if operation == "renameat" and _TEMPORARY not in rest[0]:
        # with bars in a name, it is not known where the first name ends
        return ("renamed", rest[0], rest[1]) if len(rest) == 2 else ("renamed", "|".join(rest), None)
    if operation == "create_file" and len(rest) >= 4:
        return _opened(rest[0], rest[1], rest[2], "|".join(rest[3:]))
    return None


def _opened(access: str, kind: str, disposition: str, path: str) -> tuple[AccessAction, str, None] | None:
    if disposition in _NEW:
        return "created", path, None
    try:
        mask = int(access, 16)
    except ValueError:
        return None
    if kind != "file" or not mask & (_READ | _WRITE):
        return None
    return "opened to write" if mask & _WRITE else "read", path, None


def _below(path: str, share: Share) -> str:
    return path.removeprefix(share.path).lstrip("/")


def loss(log: ShareLog) -> str | None:
    """Return a sentence on what is missing in a log; None where journald dropped nothing."""
    if not log.lost:
        return None
    lines = sum(each.lines for each in log.lost)
    return (
        f"Accesses are missing: {lines} lines of the SMB server were dropped until {moment(log.lost[-1].at)}, more "
        "than the journal takes in an hour."
    )


def said(log: ShareLog) -> list[list[Any]]:
    """Return the rows of a table of accesses."""
    return [
        [
            entry.at,
            entry.user,
            entry.host,
            entry.action,
            f"{entry.path} -> {entry.target}" if entry.target else entry.path,
        ]
        for entry in log.entries
    ]
