# SPDX-License-Identifier: Apache-2.0
"""A factory reset in lines: what goes and what stays, before it is confirmed."""

from collections.abc import Iterator, Sequence

from millrace.lifecycle.reset.model import ResetStatus
from millrace.serve.config.reset_journal import What
from millrace.system.printing import notes
from millrace.system.text import moment

SHOWN = 10
"""Names of clients, users and shares that a line has."""

HOW = {"keep": "the pool with its state was kept", "forget": "users, passwords and keys were forgotten"}


def lines(reset: ResetStatus) -> Iterator[str]:
    """Yield what `reset show` prints."""
    if reset.under_way is not None:
        yield f"a factory reset by {reset.under_way.by} is under way, begun {moment(reset.under_way.at)}"
        return
    yield "factory reset with the pool kept: millrace reset start"
    yield from notes(consequences(reset, "keep"))
    yield "factory reset that also forgets people: millrace reset start --forget-people"
    yield from notes(consequences(reset, "forget"))
    if reset.obstacle:
        yield f"not possible now: {reset.obstacle}"
    if reset.failed is not None:
        yield f"the last attempt ({moment(reset.failed.at)}) failed: {reset.failed.problem}"
    if reset.last is not None:
        yield f"last reset: by {reset.last.by}, {moment(reset.last.at)}; {HOW[reset.last.what]}"


def consequences(reset: ResetStatus, what: What) -> Iterator[str]:
    """Yield what goes and what stays, a line each."""
    yield "goes: everything on the boot drive but Millrace itself: its journal, measurements, changes made by hand"
    if reset.pool is None:
        yield "goes: users, passwords, keys and addresses: this server has no pool that they are kept on"
    elif what == "keep":
        yield "stays on the pool, and comes back with millrace pool adopt: data, shares, users, passwords and keys"
        if reset.sealed:
            yield "passwords and keys on the pool are encrypted: without the passphrase they do not come back"
    else:
        yield f"goes on the pool, too: users ({_names(reset.users)}), passwords, keys, certificates, SIDs, alert routes"
        yield f"stays on the pool: all data, and the shares as directories: {_names(reset.shares)}"
        yield "after millrace pool adopt no share is exported until you allow clients and users again"
        yield "files keep the numbers of their owners; no new user gets such a number by itself"
    if reset.domain and (what == "forget" or reset.pool is None):
        yield f"the computer account in {reset.domain} stays there: delete it, or first run millrace domain leave"
    yield "until it is adopted, the server has new keys, a new host name, an address by DHCP, and a one-time password"
    yield "for admin on its console"
    if reset.credentials:
        yield f"stays on the boot partition and applies again: {', '.join(reset.credentials)}"
    if reset.clients:
        hosts = sorted({client.host for client in reset.clients})
        yield f"disconnected: {len(hosts)} clients ({_names(hosts)})"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "none"
