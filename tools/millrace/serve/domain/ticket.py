# SPDX-License-Identifier: Apache-2.0
"""A ticket for the moment of its use: of the account that joins, or of this server."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.serve.config.model import Domain
from millrace.serve.domain import files
from millrace.serve.domain.net import Net
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.run import Result, last_words

# What kinit prints, and the remedy.
_REASONS = {
    "Password incorrect": "the password of {who} is not right",
    "Preauthentication failed": "the password of {who} is not right",
    "not found in Kerberos database": "the domain has no account {who}",
    "Clock skew too great": "the clocks of this server and of the domain are too far apart: set the time",
    "credentials have been revoked": "{who} is locked or disabled in the domain",
    "expired": "the password of {who} has expired: change it in the domain first",
    "Cannot contact any KDC": "no domain controller answers on port 88 (Kerberos)",
    "Resource temporarily unavailable": "DNS did not answer in time, try again",
    "Cannot find KDC": "DNS knows no Kerberos server of the domain",
}


@contextmanager
def of_account(domain: Domain, account: str, password: str, net: Net) -> Iterator[str]:
    """Return the path of a ticket of `account`, removed afterwards. Refused: the domain gives none, with its reason."""
    with _cache() as path:
        result = net.kerberos("kinit", "-c", path, f"{account}@{domain.realm}", stdin=f"{password}\n")
        if result.status != 0:
            raise Refused(_sentence(result, account, domain))
        yield path


@contextmanager
def of_this_server(domain: Domain, net: Net) -> Iterator[str]:
    """Return the path of a ticket that the machine account gets with the key in the keytab; it is removed afterwards.

    Refused: the domain gives none, with its reason.
    """
    with _cache() as path:
        who = f"{domain.machine}$@{domain.realm}"
        result = net.kerberos("kinit", "-c", path, "-k", "-t", str(paths.ROOT / files.KEYTAB), who)
        if result.status != 0:
            raise Refused(_sentence(result, f"{domain.machine}$", domain))
        yield path


@contextmanager
def _cache() -> Iterator[str]:
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    # A directory of our own: Kerberos replaces the file.
    with tempfile.TemporaryDirectory(prefix="ticket-", dir=paths.run_dir()) as directory:
        yield f"{directory}/cache"


def _sentence(result: Result, who: str, domain: Domain) -> str:
    said = result.err + result.out
    reason = next((words for sign, words in _REASONS.items() if sign in said), None)
    if reason is None:
        return f"{domain.zone} gives {who} no ticket: {last_words(result)}"
    return f"{domain.zone}: {reason.format(who=who)}"
