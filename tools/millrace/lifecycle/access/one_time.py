# SPDX-License-Identifier: Apache-2.0
"""The one-time password: made, shown on the console only, removed once it was used."""

import secrets

from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.files import write_text

USER = "admin"
ISSUE = "run/issue.d/60-millrace-admin.issue"
# The hash of the last one-time password: `chage -d 0` ages a password of the owner's own in the same way.
UNUSED = "admin-one-time"

# Without the signs that a console font or a tired eye mixes up, and without upper case: it is typed on BMC keyboards.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
# 5 groups of 4 out of 31 signs: 99 bits.
GROUPS, GROUP = 5, 4


def generate() -> str:
    """Return a random password such as `abcd-efgh-2345-jkmn-pqrs`."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(GROUPS))


def show(password: str) -> None:
    """Show the password on the console, until it is changed or the server restarts; only root (agetty) reads the file.

    Refused: the caller is not root.
    """
    text = f"Sign in as {USER}; you will be asked to set a new password.\nOne-time password: {password}\n\n"
    write_text(paths.ROOT / ISSUE, text, mode=0o600)
    write_text(paths.state_dir() / UNUSED, _shadow()[1], mode=0o600)


def is_lost() -> bool:
    """Whether the password is still a one-time password, and not on the console of this boot. Refused: not root."""
    try:
        unused = (paths.state_dir() / UNUSED).read_text()
    except FileNotFoundError:
        return False
    return unused == _shadow()[1] and must_change() and not is_shown()


def is_shown() -> bool:
    """Whether a one-time password of this boot is on the console."""
    return (paths.ROOT / ISSUE).exists()


def forget_if_used() -> bool:
    """Remove the password from the console once it is not valid any more; return whether it was removed."""
    if not is_shown() or must_change():
        return False
    (paths.ROOT / ISSUE).unlink(missing_ok=True)
    return True


def must_change() -> bool:
    """Whether the administrator still has to change the password: the day of its last change is 0.

    False where there is no such user. Refused: the caller is not root.
    """
    return _shadow()[2] == "0"


def _shadow() -> list[str]:
    """The fields of the administrator in shadow(5), empty ones where there is none."""
    try:
        text = (paths.ROOT / "etc/shadow").read_text()
    except PermissionError as error:
        raise Refused("reading the age of a password requires root; run this command with sudo") from error
    lines = [line.split(":") for line in text.splitlines()]
    return next((fields for fields in lines if fields[0] == USER), ["", "", ""])
