# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel's SMB server answers over RDMA: this server mounts a share as a user that exists only then."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from millrace.serve.config.model import Config
from millrace.serve.share.direct.configuration import configuration, served, write_users
from millrace.serve.share.direct.listener import is_listening
from millrace.serve.share.model import Share
from millrace.serve.share.server import ShareServer
from millrace.serve.share.smb_account import account
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.names import several
from millrace.system.paths import VERIFY_PREFIX
from millrace.system.run import Runner, last_words
from millrace.system.smb_passwords import DIRECT
from millrace.system.wait import wait_until

TRIES, PAUSE = 60, 0.5
RETRIES = (0.5, 1.0, 2.0, 4.0)
SECONDS = "60"


def verify(wanted: Sequence[Share], every: Sequence[Share], config: Config, server: ShareServer) -> list[str]:
    """Return what was verified of the shares `wanted`, of `every` one of the server, in words.

    Failed: the kernel's SMB server does not answer over RDMA, or one of them cannot be mounted from this server.
    """
    shares = served(wanted)
    if not shares:
        return []
    run, pause = server.run, server.pause
    problem = wait_until(lambda: silent(run), lambda problem: not problem, [PAUSE] * (TRIES - 1), pause)
    if problem:
        raise Failed(problem)
    address = next((str(address.ip) for port in server.ports if port.rdma for address in port.addresses), None)
    if address is None:
        raise Failed("no port with an RDMA device has an address: millrace network show")
    with account(config.domain, run) as credentials, _checker_may_open(every, config, run):
        for share in shares:
            problem = wait_until(
                partial(_refused, share, address, credentials, run), lambda problem: not problem, RETRIES, pause
            )
            if problem:
                raise Failed(problem)
    return [f"SMB Direct: test mount of {several([share.name for share in shares])} from this server succeeded"]


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


def _refused(share: Share, address: str, credentials: str, run: Runner) -> str | None:
    """Why a share does not mount over RDMA; None where it does. A daemon that was just told does not know it yet."""
    with tempfile.TemporaryDirectory(prefix=VERIFY_PREFIX, dir=paths.run_dir()) as where:
        # a connection of its own: the one of a share that was just mounted has other rights
        options = f"ro,vers=3.1.1,rdma,nosharesock,ip={address},credentials={credentials}"
        result = run(["timeout", SECONDS, "mount", "-t", "cifs", "-o", options, f"//millrace/{share.name}", where])
        if result.status == 0:
            run(["umount", "--force", "--lazy", where])
            return None
    # the last line names a manual page
    said = (result.err.strip().splitlines() or [last_words(result)])[0]
    return f"{share.name} does not mount over SMB Direct from this server: {said}"
