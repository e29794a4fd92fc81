# SPDX-License-Identifier: Apache-2.0
"""Whether shares are really served over SMB: smbd lists them, and opens them to an account that exists only meanwhile.

Anonymous listing is refused by policy, and no user's password is known here.
"""

from collections.abc import Callable, Sequence

from millrace.serve.config.model import Domain
from millrace.serve.share.model import Share
from millrace.serve.share.smb_account import account
from millrace.system import units
from millrace.system.errors import Failed
from millrace.system.names import several
from millrace.system.run import Result, Runner, last_words
from millrace.system.wait import wait_until

HOST = "127.0.0.1"
TRIES, PAUSE = 20, 0.5

# systemd's own limit for a start is 90 s; a restart that is still queued or under way is waited for.
START_TRIES = 240

# So many in one call of smbclient: its command line has a limit.
AT_ONCE = 400
_IPC = "IPC|IPC$|"
_OPENS, _HIDDEN = "listed and accessible", "not listed"
_DENIED = "NT_STATUS_ACCESS_DENIED"

Pause = Callable[[float], None]


def verify(wanted: Sequence[Share], gone: Sequence[str], domain: Domain | None, run: Runner, pause: Pause) -> list[str]:
    """Return what was verified, in words. Failed: smbd does not serve a share, or still lists one."""
    shares = [share for share in wanted if share.smb is not None]
    names = [share.name for share in shares]
    hidden = [*gone, *(share.name for share in wanted if share.smb is None)]
    if not _is_running(run, pause):
        if names:
            raise Failed("the SMB server is not running: systemctl status smbd.service")
        return []
    with account(domain, run) as credentials:
        _wait_listed(names, hidden, credentials, run, pause)
        for first in range(0, len(shares), AT_ONCE):
            _open_each(shares[first : first + AT_ONCE], credentials, run)
    return [f"SMB: {several(group)} is {words}" for group, words in ((names, _OPENS), (hidden, _HIDDEN)) if group]


def verify_each(wanted: Sequence[Share], domain: Domain | None, run: Runner, pause: Pause) -> dict[str, list[str]]:
    """Return what was verified of each share, by its name, in one session. Failed: one of them is not served."""
    if not verify(wanted, [], domain, run, pause):
        return {}
    return {share.name: [f"SMB: {share.name} is {_HIDDEN if share.smb is None else _OPENS}"] for share in wanted}


def listing(text: str) -> list[str]:
    """Return the names of the disk shares in the output of `smbclient -g -L`."""
    fields = [line.split("|") for line in text.splitlines()]
    return [one[1] for one in fields if len(one) >= 2 and one[0] == "Disk"]


def _is_running(run: Runner, pause: Pause) -> bool:
    """Whether smbd is up, when a restart that this very change asked for is over."""
    found = wait_until(
        lambda: units.state("smbd.service", run),
        lambda seen: not _restarting(seen),
        [PAUSE] * (START_TRIES - 1),
        pause,
    )
    return found.active == "active" and not _restarting(found)


def _restarting(found: units.UnitState) -> bool:
    return found.queued or found.active in ("activating", "reloading", "deactivating")


def _wait_listed(names: Sequence[str], hidden: Sequence[str], credentials: str, run: Runner, pause: Pause) -> None:
    """Retry: smbd applies its configuration asynchronously."""

    def attempt_listing() -> str:
        result = run([*_client(credentials), "-g", "-L", HOST])
        # smbclient succeeds without a list where the server takes longer than 20 s to answer; IPC$ is in every list
        if result.status != 0 or not any(line.startswith(_IPC) for line in result.out.splitlines()):
            return f"listing fails: {last_words(result)}"
        return _complaint(names, hidden, listing(result.out))

    complaint = wait_until(attempt_listing, lambda complaint: not complaint, [PAUSE] * (TRIES - 1), pause)
    if complaint:
        raise Failed(f"the SMB server does not serve the configured shares: {complaint}")


def _complaint(names: Sequence[str], hidden: Sequence[str], found: Sequence[str]) -> str:
    absent = [name for name in names if name not in found]
    left = [name for name in hidden if name in found]
    return "; ".join(
        [f"{several(group)} {words}" for group, words in ((absent, "not listed"), (left, "still listed")) if group]
    )


def _open_each(shares: Sequence[Share], credentials: str, run: Runner) -> None:
    """One session that opens each share in turn: smbclient answers each `tcon` in one line."""
    commands = "; ".join(f"tcon {share.name}; tdis" for share in shares)
    result = run([*_client(credentials), f"//{HOST}/IPC$", "-c", commands])
    answers = [line.strip() for line in result.out.splitlines() if line.startswith("tcon ")]
    if len(answers) != len(shares):
        raise Failed(
            f"the SMB server failed to open {several([share.name for share in shares])}: {_error_text(result)}"
        )
    for share, answer in zip(shares, answers, strict=True):
        if share.type == "home":
            # The account has no home here: to be kept out is the right answer.
            if _DENIED not in answer:
                raise Failed(f"{share.name} is accessible over SMB without permission: {answer}")
        elif not answer.startswith(f"tcon to {share.name} successful"):
            raise Failed(f"{share.name} is listed but cannot be opened over SMB: {answer}")


def _error_text(result: Result) -> str:
    return f"smbclient status {result.status}, {last_words(result)}"


def _client(credentials: str) -> list[str]:
    return ["timeout", "60", "smbclient", "-m", "SMB3_11", "-A", credentials]
