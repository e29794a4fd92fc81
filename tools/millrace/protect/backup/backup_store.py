# SPDX-License-Identifier: Apache-2.0
"""The backups of this server: decisions, what is known of each, and their secrets, for root alone.

A secret is a file of its own: systemd gives it to restic as a credential, and it is in no argument, no environment and
no log.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from millrace.protect.backup.backup_model import (
    Backup,
    BackupOutcome,
    BackupRecord,
    Backups,
    BackupState,
)
from millrace.protect.backup.backup_rules import backup_name
from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused
from millrace.system.files import sync, write_text
from millrace.system.text import shown

MOST = 50
LONGEST_SECRET = 512
PASSWORD, REPOSITORY, S3, SSH_KEY, KNOWN_HOSTS, AUTHORITY = (
    "password",
    "repository",
    "s3",
    "ssh-key",
    "known-hosts",
    "authority",
)
"""The files of a backup; those that its target does not need are missing."""
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP = 8, 5


def directory() -> Path:
    """Return the directory of decisions and secrets, which is kept on the pool."""
    return paths.state_dir() / "backup"


def backups_file() -> Path:
    """Return the file of the decisions; it has no secret."""
    return directory() / "backups.json"


def record_file() -> Path:
    """Return the file of what is known of each backup."""
    return paths.state_dir() / "backup-record.json"


def secrets_directory(name: str) -> Path:
    """Return the directory of the secrets of a backup."""
    return directory() / "secrets" / name


def lock() -> AbstractContextManager[None]:
    """Hold the lock of decisions and record; wait for it."""
    return locks.held(paths.run_dir() / "backup/store.lock")


def load() -> list[Backup]:
    """Return all backups. BadInput, LaterRelease: their file cannot be read, and nothing writes over it."""
    return read_model(backups_file(), Backups).backups if backups_file().exists() else []


def known(name: str) -> Backup:
    """Return a backup. BadInput: `name` is no name of one. Refused: there is none."""
    backup = next((each for each in load() if each.name == name), None)
    if backup is None:
        if problem := backup_name.problem(name):
            raise BadInput(problem)
        raise Refused(f"there is no backup {shown(name)}: millrace backup list")
    return backup


def add(backup: Backup, files: Mapping[str, str], made: bool) -> None:
    """Add a backup with its secrets. Refused: its name or its target is taken, or there are too many.

    `made`: the repository exists. BadInput: the backups cannot be read. OSError: the boot drive fails.
    """
    with lock():
        before = load()
        for each in before:
            if each.name == backup.name:
                raise Refused(f"there is a backup {each.name} already: choose another name, or remove it first")
            if _place(each) == _place(backup):
                raise Refused(f"backup {each.name} has this target already: each backup has a repository of its own")
        if len(before) >= MOST:
            raise Refused(f"there are {MOST} backups already: remove one of them (millrace backup list)")
        _write_secrets(backup.name, files)
        _write([*before, backup])
        _put(BackupState(name=backup.name, id=backup.id, made=made))


def change(name: str, update: Callable[[Backup], Backup]) -> Backup:
    """Change a backup; return it. BadInput, Refused: as for `known`. OSError: the boot drive fails."""
    with lock():
        changed = update(known(name))
        _write([changed if each.name == name else each for each in load()])
    return changed


def remove(name: str) -> Backup:
    """Remove a backup with its secrets; the repository stays. BadInput, Refused: as for `known`."""
    with lock():
        backup = known(name)
        _write([each for each in load() if each.name != name])
        shutil.rmtree(secrets_directory(name), ignore_errors=True)
        _write_record([each for each in _record().states if each.name != name])
    return backup


def state(backup: Backup) -> BackupState:
    """Return what is known of a backup; of a former one of this name nothing is."""
    empty = BackupState(name=backup.name, id=backup.id)
    return next((each for each in _record().states if (each.name, each.id) == (backup.name, backup.id)), empty)


def note(backup: Backup, update: Callable[[BackupState], BackupState]) -> BackupState:
    """Record something of a backup, unless it was removed meanwhile; return it."""
    with lock():
        after = update(state(backup))
        if any(each.id == backup.id for each in load()):
            _put(after)
    return after


def outcome(before: BackupOutcome | None, at: str, problem: str | None, red: bool = False) -> BackupOutcome:
    """Return how a task ended now, after how the one before did."""
    if problem is None:
        return BackupOutcome(at=at, succeeded=at)
    succeeded, failures = (None, 0) if before is None else (before.succeeded, before.failures)
    return BackupOutcome(at=at, succeeded=succeeded, problem=problem, failures=failures + 1, red=red)


def secret(name: str, file: str) -> str:
    """Return a secret of a backup. BadInput: it cannot be read, as after an adoption without secrets."""
    path = secrets_directory(name) / file
    try:
        return path.read_text().rstrip("\n")
    except OSError as error:
        raise BadInput(
            f"the secrets of backup {name} are not on this server ({path.name}): remove it, and attach its repository "
            "again: millrace backup attach"
        ) from error


def all_secrets() -> Iterator[str]:
    """Yield the secrets of all backups as a program could log them; what cannot be read is skipped."""
    for path in sorted((directory() / "secrets").glob("*/*")):
        with suppress(OSError):
            text = path.read_text(errors="replace").strip()
            if path.name == PASSWORD:
                yield text
            elif path.name == S3:
                yield text.rpartition("=")[2].strip()
            elif path.name == REPOSITORY and (given := urlsplit(text.partition(":")[2]).password) is not None:
                yield from (given, unquote(given))


def new_password() -> str:
    """Return a password of 200 random bits in groups, to be written on paper: it has no 0, 1, l and o."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS))


def checked_secret(text: str) -> str:
    """Return a secret that was typed. BadInput: it is none."""
    if not text.isprintable() or not 0 < len(text) <= LONGEST_SECRET or text != text.strip():
        raise BadInput(
            f"a secret is one line of 1 to {LONGEST_SECRET} printable characters, without blanks at its ends"
        )
    return text


@contextmanager
def staged_secrets(name: str) -> Iterator[Path]:
    """Have a directory for secrets that are being made; what is left in it is removed."""
    place = paths.run_dir() / "backup/new" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _place(backup: Backup) -> tuple[str, str, int, str]:
    target = backup.target
    return target.protocol, target.host, target.port, target.path


def _write(backups: list[Backup]) -> None:
    directory().mkdir(mode=0o700, exist_ok=True)
    write_model(backups_file(), Backups(backups=backups), 0o600)


def _write_secrets(name: str, files: Mapping[str, str]) -> None:
    place = secrets_directory(name)
    # of a backup whose removal was interrupted
    shutil.rmtree(place, ignore_errors=True)
    for above in (directory(), directory() / "secrets", place):
        above.mkdir(mode=0o700, exist_ok=True)
    for file, text in files.items():
        write_text(place / file, text if text.endswith("\n") else f"{text}\n", 0o600)
    sync(place)


def _record() -> BackupRecord:
    try:
        return read_model(record_file(), BackupRecord) if record_file().exists() else BackupRecord()
    except BadInput:
        # everything is due then, and the next run reads all files
        return BackupRecord()


def _put(after: BackupState) -> None:
    _write_record([*(each for each in _record().states if each.name != after.name), after])


def _write_record(states: list[BackupState]) -> None:
    write_model(record_file(), BackupRecord(states=states), 0o600)
