# SPDX-License-Identifier: Apache-2.0
"""What is known of updates here: the one on trial, those that failed, how the last one ended, their source."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from millrace.lifecycle.update import update_paths
from millrace.lifecycle.update.model import (
    CheckedSource,
    FailedVersion,
    FailedVersions,
    LastUpdate,
    Release,
    Source,
    Trial,
)
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.files import sync

Model = TypeVar("Model", bound=Contract)


def trial() -> Trial | None:
    """Return the version that is on trial. BadInput: its record cannot be read."""
    return _read(update_paths.trial_file(), Trial)


def save_trial(found: Trial) -> None:
    """Write the record of the version that is on trial."""
    write_model(update_paths.trial_file(), found, mode=0o644)


def end_trial() -> None:
    """Remove the record of the version that is on trial."""
    update_paths.trial_file().unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        sync(update_paths.directory())


def failed() -> FailedVersions:
    """Return the versions that failed here; none where that cannot be read."""
    try:
        return _read(update_paths.failed_file(), FailedVersions) or FailedVersions()
    except BadInput:
        return FailedVersions()


def add_failed(version: str, problems: list[str]) -> None:
    """Record that a version failed; it is not offered again."""
    others = [one for one in failed().versions if one.version != version]
    made = FailedVersion(version=version, at=now(), problems=problems)
    write_model(update_paths.failed_file(), FailedVersions(versions=[*others, made][-20:]))


def forget_failed(version: str) -> None:
    """Remove a version from those that failed: it was tried once more and serves."""
    known = failed().versions
    if any(one.version == version for one in known):
        left = [one for one in known if one.version != version]
        write_model(update_paths.failed_file(), FailedVersions(versions=left))


def last() -> LastUpdate | None:
    """Return how the last update ended; None without one, and where its record cannot be read."""
    try:
        return _read(update_paths.last_file(), LastUpdate)
    except BadInput:
        return None


def save_last(found: LastUpdate) -> None:
    """Write how the last update ended."""
    write_model(update_paths.last_file(), found)


def source() -> str | None:
    """Return the URL of updates that the owner set; None without one. BadInput: it cannot be read."""
    found = _read(update_paths.source_file(), Source)
    return found.url if found else None


def save_source(url: str | None) -> None:
    """Set the URL of updates, or remove it. Root alone reads it: it may have a password."""
    write_model(update_paths.source_file(), Source(url=url), mode=0o600)
    # What another source offered says nothing of this one.
    update_paths.checked_file().unlink(missing_ok=True)


def checked_source() -> CheckedSource | None:
    """Return what the source offered at the last check; None before one. BadInput: it cannot be read."""
    return _read(update_paths.checked_file(), CheckedSource)


def save_checked_source(found: Release) -> None:
    """Write what the source offered now."""
    write_model(update_paths.checked_file(), CheckedSource(version=found.version, expires=found.expires, at=now()))


def now() -> str:
    """Return the time as documents have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path, kind: type[Model]) -> Model | None:
    return read_model(path, kind) if path.exists() else None
