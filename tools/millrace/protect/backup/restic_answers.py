# SPDX-License-Identifier: Apache-2.0
"""What restic prints: lines of JSON on progress and results, and one sentence for each way in which it fails.

Its exit statuses: 1 failed, 3 some files could not be read, 10 no repository, 11 locked, 12 wrong password, 130
interrupted (restic 0.19).
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from millrace.protect.backup import backup_target
from millrace.protect.backup.backup_model import Backup
from millrace.system import ages
from millrace.system.command import command
from millrace.system.run import Result
from millrace.system.text import one_line

ABANDONED = timedelta(minutes=30)
"""restic refreshes its lock every five minutes, and takes one of this age for that of a program that has ended."""
UNREAD, MISSING, LOCKED, WRONG_PASSWORD, INTERRUPTED = 3, 10, 11, 12, (130, 143)

_DAMAGE = (
    *("ciphertext verification failed", "repository contains errors", "hash mismatch", "does not match"),
    *("pack file is truncated", "unexpected size"),
)
# by the first that matches: words of restic, ssh, Go's TLS and the far side, in lower case; {where} is the target
_REASONS = (
    (
        ("host key verification failed", "remote host identification has changed"),
        "the host key of {where} is not the one that was pinned when the backup was added: find out why before "
        "anything is sent there; if the server was installed again, remove the backup and attach it again",
    ),
    (
        ("permission denied (publickey", "permission denied, please try again", "permission denied (password"),
        "{where} does not accept the SSH key of this backup: install it there; to show it: {show}",
    ),
    (
        ("certificate signed by unknown authority", "certificate is valid for", "x509:", "tls: failed to verify"),
        "the certificate of {where} is not accepted: add the backup again with --ca, the authority that signed it",
    ),
    (
        ("401 unauthorized", "unexpected http response (401)", "invalidaccesskeyid", "signaturedoesnotmatch"),
        "{where} does not accept the user or the secret of this backup: remove it, and attach it again",
    ),
    (
        ("nosuchbucket", "the specified bucket does not exist"),
        "the bucket of {where} does not exist: create it first",
    ),
    (
        ("config file already exists",),
        "{where} has a repository already: remove this backup, and attach that repository "
        "(millrace backup attach), or choose another target",
    ),
    (
        ("no space left on device", "insufficient storage", "(507)", "disk quota exceeded", "quotaexceeded"),
        "{where} is full: free space there",
    ),
    (
        ("403 forbidden", "unexpected http response (403)", "access denied", "accessdenied", "permission denied"),
        "{where} refuses it: the user of this backup may not do that there",
    ),
    (
        ("no such host", "name or service not known", "temporary failure in name resolution", "server misbehaving"),
        "the name of {where} cannot be resolved: millrace network show",
    ),
    (
        (
            *(
                "connection refused",
                "no route to host",
                "network is unreachable",
                "i/o timeout",
                "connection timed out",
            ),
            *("connection reset", "broken pipe", "connection closed", "unexpected eof", "operation timed out"),
        ),
        "{where} cannot be reached, or ended the connection",
    ),
    (
        _DAMAGE,
        "the repository at {where} is damaged: {check} examines it again, and removes no version until it is intact; "
        "`restic repair` on any computer mends what can be mended, with the password of {password}",
    ),
)


class ResticSummary(BaseModel):
    """The last line of a backup (message type `summary`); bytes and seconds."""

    model_config = ConfigDict(extra="ignore")

    files_new: int = 0
    files_changed: int = 0
    files_unmodified: int = 0
    data_added_packed: int = 0
    total_files_processed: int = 0
    total_bytes_processed: int = 0
    total_duration: float = 0
    snapshot_id: str = ""


class ResticVersion(BaseModel):
    """A snapshot in the repository, as `restic snapshots` lists it; `original` is what it was rewritten from."""

    model_config = ConfigDict(extra="ignore")

    id: str
    time: str
    tags: list[str] = []
    original: str | None = None
    summary: ResticSummary = ResticSummary()


class ResticLock(BaseModel):
    """A lock of a repository: who holds it, and since when."""

    model_config = ConfigDict(extra="ignore")

    time: str = ""
    hostname: str = ""
    username: str = ""


def message(line: str) -> dict[str, Any] | None:
    """Return a line of JSON; None for anything else, such as what ssh prints."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_result(line: str) -> bool:
    """Whether a line is more than progress, which restic prints every second."""
    return not line.startswith('{"message_type":"status"')


def unread(out: str) -> int:
    """Return how many files and directories a backup could not read."""
    said = [message(line) for line in out.splitlines()]
    return sum(value is not None and value.get("message_type") == "error" for value in said)


def summary(out: str) -> ResticSummary | None:
    """Return the summary of a backup; None where it has none."""
    for line in reversed(out.splitlines()):
        value = message(line)
        if value is not None and value.get("message_type") == "summary":
            try:
                return ResticSummary.model_validate(value)
            except ValidationError:
                return None
    return None


def versions(out: str) -> list[ResticVersion]:
    """Return the versions that restic lists, the oldest first; none where its output has no list."""
    for line in out.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            try:
                listed = [ResticVersion.model_validate(each) for each in value]
            except ValidationError:
                return []
            return sorted(listed, key=lambda version: version.time)
    return []


def tagged(version: ResticVersion, name: str) -> str | None:
    """Return what a tag `name=VALUE` of a version says; None without one."""
    return next((tag.partition("=")[2] for tag in version.tags if tag.startswith(f"{name}=")), None)


def sentence(result: Result, backup: Backup) -> str:
    """Return why restic failed, with what to do. It names no file of the share: everybody reads how a job ended."""
    said = _said(result.out + "\n" + result.err)
    where = backup_target.words(backup.target)
    check = command("millrace backup check", backup.name)
    show = command("millrace backup show", backup.name)
    password = command("millrace backup password", backup.name)
    if result.status == WRONG_PASSWORD:
        return (
            f"the password of backup {backup.name} does not open the repository at {where}: remove the backup, and "
            "attach it with the right one (millrace backup attach)"
        )
    if result.status == LOCKED:
        return f"the repository at {where} is locked by another process; it is tried again later"
    lower = said.lower()
    for words, text in _REASONS:
        if any(word in lower for word in words):
            return text.format(where=where, show=show, check=check, password=password)
    if result.status == MISSING:
        return f"{where} has no repository: it was removed, or the directory is another one"
    if result.status == UNREAD:
        return "some files of the snapshot cannot be read; their names are in the journal"
    if result.status == 127:
        return "restic is not installed on this server"
    return f"restic failed with status {result.status}; what it printed is in the journal"


def is_damage(result: Result) -> bool:
    """Whether restic failed because the repository is damaged."""
    said = _said(result.out).lower()
    return any(word in said for word in _DAMAGE)


def errors(out: str) -> list[str]:
    """Return what restic and ssh printed on errors, for the journal: it may name files."""
    lines = []
    for line in out.splitlines():
        value = message(line)
        if value is None:
            lines += [one_line(line)] if line.strip() and not line.startswith("[") else []
        elif value.get("message_type") in ("error", "exit_error"):
            error = value.get("error")
            text = value.get("message") or (error.get("message") if isinstance(error, dict) else error)
            lines.append(one_line(f"{text} {value.get('item', '')}".strip()))
    return lines


def _said(out: str) -> str:
    return "\n".join(errors(out))


def foreign(locks: Iterable[ResticLock], host: str, user: str) -> list[ResticLock]:
    """Return the locks that this server does not hold."""
    return [lock for lock in locks if (lock.hostname, lock.username) != (host, user)]


def is_abandoned(lock: ResticLock, now: datetime) -> bool:
    """Whether a lock was not refreshed for so long that its program has ended; not where its time cannot be read."""
    try:
        age = ages.age(lock.time, now)
    except ValueError:
        return False
    return age is not None and age > ABANDONED
