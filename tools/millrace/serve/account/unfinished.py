# SPDX-License-Identifier: Apache-2.0
"""Accounts of a change that a power cut or a kill ended: they are found, and removed where the desired state has none.

A change makes accounts before it writes the desired state, and removes them before it does. In between, an account that
nobody asked for has a password and can use shares.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace.serve.account import accounts
from millrace.serve.config.model import Config, Group, User
from millrace.system import paths
from millrace.system.account_files import AccountFiles
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.run import Runner


class Touched(Contract):
    """Numbers by name of the accounts that the last change makes or removes, whatever became of it."""

    schema_version: Literal[1] = 1
    users: dict[str, int] = Field(default_factory=dict)
    groups: dict[str, int] = Field(default_factory=dict)


def record_file() -> Path:
    """The record."""
    return paths.state_dir() / "accounts-touched.json"


def begin(users: Sequence[User], groups: Sequence[Group]) -> None:
    """Record accounts before a change makes or removes them. OSError: the boot drive does not take it."""
    made = Touched(users={user.name: user.uid for user in users}, groups={group.name: group.gid for group in groups})
    if made.users or made.groups:
        write_model(record_file(), made)


def finish(config: Config, run: Runner) -> list[str]:
    """Remove what is recorded, exists with the recorded number and is not in the desired state; return the names.

    Failed: programs of a user do not end; the next call tries it again.
    """
    try:
        touched = read_model(record_file(), Touched)
    except (BadInput, UnicodeDecodeError):
        # there is none, or a power cut tore it before any account was changed
        return []
    files = AccountFiles()
    wanted = {user.name for user in config.users}
    groups = {group.name for group in config.groups}
    left = [name for name, uid in touched.users.items() if name not in wanted and files.uid(name) == uid]
    empty = [name for name, gid in touched.groups.items() if name not in groups and files.gid(name) == gid]
    if left or empty:
        accounts.remove(left, empty, run)
    # a boot drive that is read-only keeps no account from being used; the next call does it
    with suppress(OSError):
        record_file().unlink(missing_ok=True)
    return [*left, *empty]
