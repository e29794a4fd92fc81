# SPDX-License-Identifier: Apache-2.0
"""The user of this process, for the history, and what only root may do."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.system import paths
from millrace.system.errors import Refused


def invoking_user() -> str:
    """Return the user that became root by sudo or polkit, else the user of this process."""
    name = os.environ.get("SUDO_USER")
    if name:
        return name
    number = os.environ.get("PKEXEC_UID", "")
    uid = int(number) if number.isdigit() else os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def only_root() -> None:
    """Verify that the caller is root. Refused: it is not."""
    if os.geteuid() != 0:
        raise Refused("changing this server requires root; run this command with sudo")


@contextmanager
def as_root() -> Iterator[None]:
    """Turn the PermissionError of what only root may do into Refused with a sentence."""
    try:
        yield
    except PermissionError as error:
        raise Refused(f"this requires root ({error.filename or paths.state_dir()}); run it with sudo") from error
