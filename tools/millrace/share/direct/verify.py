# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel's SMB server answers over RDMA and opens its shares to an account that exists only meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from millrace import paths
from millrace.errors import Failed
from millrace.share.direct.configuration import configuration, served, write_users
from millrace.share.direct.listener import is_listening
from millrace.share.model import Share
from millrace.share.smb_account import account
from millrace.share.smb_parameters import CHECKER
from millrace.state.model import Config
from millrace.system.files import write_text
from millrace.system.names import several
from millrace.system.run import Runner, last_words
from millrace.system.smb_passwords import DIRECT
from millrace.system.wait import wait_until

HOST, PORT = "127.0.0.1", 4455
TRIES, PAUSE = 60, 0.5

Pause = Callable[[float], None]


def verify(wanted: Sequence[Share], every: Sequence[Share], config: Config, run: Runner, pause: Pause) -> list[str]:
    """Return what was verified of the shares `wanted`, of `every` one of the server, in words.

    Failed: the kernel's SMB server does not answer over RDMA, or does not open one of them.
    """
    shares = served(wanted)
    if not shares:
        return []
    problem = wait_until(lambda: silent(run), lambda found: not found, [PAUSE] * (TRIES - 1), pause)
    if problem:
        raise Failed(problem)
    with account(config.domain, run) as credentials, _checker_may_open(every, config, run):
        problem = wait_until(
            lambda: _refused(shares, credentials, run), lambda found: not found, [PAUSE] * (TRIES - 1), pause
        )
    if problem:
        raise Failed(problem)
    return [f"SMB Direct: {several([share.name for share in shares])} is accessible"]


def silent(run: Runner) -> str | None:
    """Return in words that the server does not answer over RDMA; None where it does."""
    if is_listening(run):
        return None
    return f"the kernel's SMB server does not answer over RDMA: systemctl status {DIRECT}"


@contextmanager
def _checker_may_open(every: Sequence[Share], config: Config, run: Runner) -> Iterator[None]:
    file = paths.ROOT / paths.SMB_DIRECT
    write_text(file, configuration(every, CHECKER))
    write_users(config, run, CHECKER)
    # not by systemd, which would write the users again
    run(["ksmbd.control", "--reload"])
    try:
        yield
    finally:
        write_text(file, configuration(every))
        write_users(config, run)
        run(["ksmbd.control", "--reload"])


def _refused(shares: Sequence[Share], credentials: str, run: Runner) -> str | None:
    for share in shares:
        where = [f"//{HOST}/{share.name}", "-p", str(PORT), "-c", "quit"]
        result = run(["timeout", "60", "smbclient", "-m", "SMB3_11", "-A", credentials, *where])
        if result.status != 0:
            return f"{share.name} cannot be opened over SMB Direct: {last_words(result)}"
    return None
