# SPDX-License-Identifier: Apache-2.0
"""Make the administrator. A power cut at any step, and the next boot does it over: the marker is written last."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from millrace.lifecycle.access import one_time
from millrace.lifecycle.access.one_time import USER
from millrace.serve.account import accounts
from millrace.serve.account.password import strong_password
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Failed
from millrace.system.files import write_text
from millrace.system.run import Runner, last_words

CREDENTIAL = "millrace.admin-password"
MARKER = "admin-created"


class AdminReport(Contract):
    """What was done. The password is not part of it: output ends up in the journal."""

    schema_version: Literal[1] = 1
    user: str = USER
    outcome: Literal["exists", "created", "new-password"]
    one_time: bool


class CheckReport(Contract):
    """Whether the one-time password was removed from the console."""

    schema_version: Literal[1] = 1
    forgotten: bool


def create(run: Runner) -> AdminReport:
    """Create the administrator with a password for login and SMB; do nothing if that was done.

    A one-time password is lost with a restart unless it was used, and then replaced: the server must not lock its owner
    out. A password that the owner set and root has expired (`chage -d 0 admin`) is kept.
    BadInput: the password in the credential is too weak. Failed: the user cannot be created.
    """
    marker = paths.state_dir() / MARKER
    if marker.exists() and not one_time.is_lost():
        return AdminReport(outcome="exists", one_time=False)
    existed = _ensure_user(run)
    given = _given_password(run)
    password = given or one_time.generate()
    _set_passwords(password, run)
    if given is None:
        _run(run, ["chage", "-d", "0", USER])
        one_time.show(password)
    write_text(marker, "")
    return AdminReport(outcome="new-password" if existed else "created", one_time=given is None)


def _ensure_user(run: Runner) -> bool:
    """Whether the user was there already, perhaps half made."""
    if run(["getent", "passwd", USER]).status != 0:
        _run(run, ["useradd", "--create-home", "--uid", "1000", "--groups", "sudo", "--shell", "/bin/bash", USER])
        return False
    _run(run, ["usermod", "--append", "--groups", "sudo", "--shell", "/bin/bash", USER])
    _run(run, ["mkhomedir_helper", USER, "0077"])
    return True


def _given_password(run: Runner) -> str | None:
    """The password of the credential; BadInput where no user could choose it."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    path = Path(directory) / CREDENTIAL if directory else None
    if path is None or not path.exists():
        return None
    try:
        return strong_password(USER, path.read_text().removesuffix("\n"), run)
    except BadInput as error:
        raise BadInput(f"the credential {CREDENTIAL}: {error}") from error


def _set_passwords(password: str, run: Runner) -> None:
    try:
        accounts.set_password(USER, password, run)
    except Failed as error:
        raise Failed(f"Cannot create the administrator: {error}") from error


def _run(run: Runner, argv: Sequence[str], stdin: str | None = None) -> None:
    result = run(argv, stdin)
    if result.status != 0:
        words = f"{argv[0]} failed with status {result.status}: {last_words(result)}"
        raise Failed(f"Cannot create the administrator: {words}")
