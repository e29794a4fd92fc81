# SPDX-License-Identifier: Apache-2.0
"""Is a share really served over SMB: smbd lists it, and opens it, to an account that exists only while it looks.

Anonymous listing is refused by policy, and no person's password is known here. So one local user without shell or home
gets a random password for the seconds of a look and loses its SMB account after it.
"""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from millrace import paths
from millrace.command import Result
from millrace.errors import Failed
from millrace.share.model import Share
from millrace.share.smb_parameters import CHECKER
from millrace.share.tools import Runner, is_active, last_words, must

HOST = "127.0.0.1"
TRIES, PAUSE = 20, 0.5
_DENIED = "NT_STATUS_ACCESS_DENIED"

# The user database is the same, and a broken smb.conf must not keep the account from going away.
SMBPASSWD = ("smbpasswd", "-c", "/dev/null")

Pause = Callable[[float], None]


def verify(wanted: Sequence[Share], gone: Sequence[str], run: Runner, pause: Pause) -> list[str]:
    """What was seen, in words; Failed says which share smbd does not serve, or still lists."""
    names = [share.name for share in wanted if share.smb is not None]
    hidden = [*gone, *(share.name for share in wanted if share.smb is None)]
    if not names and not is_active("smbd.service", run):
        return []
    if not is_active("smbd.service", run):
        raise Failed("the SMB server is not running: systemctl status smbd.service")
    with _account(run) as credentials:
        _listed(names, hidden, credentials, run, pause)
        for share in wanted:
            if share.smb is not None:
                _opened(share, credentials, run)
    return [f"SMB: {name} is listed and opens" for name in names] + [f"SMB: {name} is not listed" for name in hidden]


def listing(text: str) -> list[str]:
    """Names of the disk shares in the output of `smbclient -g -L`."""
    fields = [line.split("|") for line in text.splitlines()]
    return [one[1] for one in fields if len(one) >= 2 and one[0] == "Disk"]


def _listed(names: Sequence[str], hidden: Sequence[str], credentials: str, run: Runner, pause: Pause) -> None:
    """smbd takes its configuration on in its own time, and is restarted where a port is new: some tries."""
    complaint = ""
    for _ in range(TRIES):
        result = run([*_client(credentials), "-g", "-L", HOST])
        found = listing(result.out)
        complaint = _complaint(names, hidden, found) if result.status == 0 else f"listing fails: {last_words(result)}"
        if not complaint:
            return
        pause(PAUSE)
    raise Failed(f"the SMB server does not serve what it should: {complaint}")


def _complaint(names: Sequence[str], hidden: Sequence[str], found: Sequence[str]) -> str:
    absent = [name for name in names if name not in found]
    left = [name for name in hidden if name in found]
    return "; ".join(
        [f"{', '.join(group)} {words}" for group, words in ((absent, "not listed"), (left, "still listed")) if group]
    )


def _opened(share: Share, credentials: str, run: Runner) -> None:
    result = run([*_client(credentials), f"//{HOST}/{share.name}", "-c", "exit"])
    if share.profile == "home":
        # The account has no home here: to be kept out is the right answer.
        if _DENIED not in result.out + result.err:
            raise Failed(f"{share.name} does not keep strangers out over SMB: {_said(result)}")
    elif result.status != 0:
        raise Failed(f"{share.name} is listed and does not open over SMB: {_said(result)}")


def _said(result: Result) -> str:
    return f"smbclient status {result.status}, {last_words(result)}"


def _client(credentials: str) -> list[str]:
    return ["timeout", "60", "smbclient", "-m", "SMB3_11", "-A", credentials]


@contextmanager
def _account(run: Runner) -> Iterator[str]:
    """The path of a credentials file that only root reads; the account is gone afterwards."""
    if run(["getent", "passwd", CHECKER]).status != 0:
        must(run, ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", CHECKER])
    password = secrets.token_urlsafe(32)
    must(run, [*SMBPASSWD, "-s", "-a", CHECKER], f"{password}\n{password}\n")
    try:
        with _credentials(password) as path:
            yield path
    finally:
        run([*SMBPASSWD, "-x", CHECKER])


@contextmanager
def _credentials(password: str) -> Iterator[str]:
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="look-", dir=paths.run_dir())
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"username = {CHECKER}\npassword = {password}\n")
        yield name
    finally:
        Path(name).unlink(missing_ok=True)
