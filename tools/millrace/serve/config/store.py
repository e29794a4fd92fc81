# SPDX-License-Identifier: Apache-2.0
"""The desired state on disk: read with a fallback, changed by one writer at a time, old or new and never torn."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from millrace.serve.config import audit_log, files, history, reset_journal, restrictions
from millrace.serve.config.history import RecordedChange
from millrace.serve.config.model import Config, first_config
from millrace.system import locks
from millrace.system.documents import checked, read_model, write_model
from millrace.system.errors import BadInput, Failed

Mutate = Callable[[Config], Config]
Effect = Callable[[Config, Config], None]


@dataclass(frozen=True)
class Loaded:
    """The desired state, and what was wrong with its file where another had to replace it."""

    config: Config
    problem: str | None = None


def load() -> Config:
    """Return the desired state; warn on standard error where the last good one had to replace it."""
    loaded = read()
    if loaded.problem:
        print(f"millrace: {loaded.problem}", file=sys.stderr)
    return loaded.config


def read() -> Loaded:
    """Return the desired state: the file, else the last good change, else that of a new server.

    Failed: the file is damaged and no change can replace it; to serve a default instead would open what was closed.
    """
    try:
        return Loaded(read_model(files.config_file(), Config))
    except (BadInput, OSError, UnicodeDecodeError) as error:
        damage = _damage(error)
    change = history.last_good()
    if change is not None:
        return Loaded(
            change.config,
            f"{damage}; the state after change {change.number} ({change.what}, {change.when}) is used until "
            "the next change",
        )
    if files.config_file().exists() or files.history_numbers():
        raise Failed(f"{damage}, and {files.history_dir()} has no usable change; import an exported configuration")
    return Loaded(first_config())


def change(who: str, what: str, mutate: Mutate, effect: Effect | None = None, overwrite: bool = False) -> Config:
    """Change the desired state: `mutate` returns the new one, `effect(old, new)` makes it true, then it is written.

    Nothing is written if either raises; an effect undoes what it did. Waits while another change is under way.
    `overwrite` is for an import: it accepts an old state that cannot be read. BadInput: the new state contradicts
    itself, with one sentence. Refused: a factory reset is under way.
    """
    with config_lock():
        reset_journal.refuse_if_reset()
        old = _read_or_first() if overwrite else read()
        new = _mutated(old.config, mutate)
        if effect is not None:
            effect(old.config, new)
        _keep(new, who, what, old.problem is not None)
    return new


def preview(mutate: Mutate) -> Config:
    """Return the desired state that a change would make; no lock is held. BadInput: as for the change."""
    return _mutated(read().config, mutate)


def _mutated(old: Config, mutate: Mutate) -> Config:
    new = checked(lambda: _renumbered(old, mutate(old)))
    restrictions.refuse(old, new)
    return new


def _read_or_first() -> Loaded:
    try:
        return read()
    except Failed as error:
        return Loaded(first_config(), str(error))


def config_lock() -> AbstractContextManager[None]:
    """Hold the lock of the desired state, waiting for it. Refused: the caller is not root."""
    return locks.held(files.lock_file())


def _renumbered(old: Config, new: Config) -> Config:
    # Not model_copy alone: that checks nothing.
    values = new.model_dump() | {
        "serial": old.serial + 1,
        "next_id": max(old.next_id, new.next_id, *(1 + number for number in _accounts(new))),
        "next_project": max(old.next_project, new.next_project, *(1 + one.project for one in new.shares)),
    }
    return Config.model_validate(values)


def _accounts(config: Config) -> list[int]:
    return [one.uid for one in config.users] + [one.gid for one in config.groups]


def _keep(new: Config, who: str, what: str, damaged: bool) -> None:
    when = datetime.now(UTC).isoformat(timespec="seconds")
    # The history first: config.json is never newer than what can stand in for it.
    history.record(RecordedChange(number=new.serial, who=who, when=when, what=what, config=new))
    if damaged and files.config_file().exists():
        os.replace(files.config_file(), files.unreadable_file())
    write_model(files.config_file(), new)
    audit_log.record(new.serial, who, what)


def _damage(error: Exception) -> str:
    """One sentence about a file that could not be read."""
    path = files.config_file()
    if not path.exists():
        return f"{path} is missing"
    if isinstance(error, BadInput):
        cause = error.__cause__
        return f"{path} is damaged" if isinstance(cause, ValidationError) and _is_torn(cause) else str(error)
    return f"{path} cannot be read: {error}"


def _is_torn(error: ValidationError) -> bool:
    return error.errors()[0]["type"] == "json_invalid"
