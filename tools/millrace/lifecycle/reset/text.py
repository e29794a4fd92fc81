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


def lines(found: ResetStatus) -> Iterator[str]:
    """Yield what `reset show` prints."""
    if found.under_way is not None:
        yield f"a factory reset by {found.under_way.by} is under way, begun {moment(found.under_way.at)}"
        return
    yield "factory reset with the pool kept: millrace reset start"
    yield from notes(consequences(found, "keep"))
    yield "factory reset that also forgets people: millrace reset start --forget-people"
    yield from notes(consequences(found, "forget"))
    if found.obstacle:
        yield f"not possible now: {found.obstacle}"
    if found.failed is not None:
        yield f"the last attempt ({moment(found.failed.at)}) failed: {found.failed.problem}"
    if found.last is not None:
        yield f"last reset: by {found.last.by}, {moment(found.last.at)}; {HOW[found.last.what]}"


def consequences(found: ResetStatus, what: What) -> Iterator[str]:
    """Yield what goes and what stays, a line each."""
    yield "goes: everything on the boot drive but Millrace itself: its journal, measurements, changes made by hand"
    if found.pool is None:
        yield "goes: users, passwords, keys and addresses: this server has no pool that they are kept on"
    elif what == "keep":
        yield "stays on the pool, and comes back with millrace pool adopt: data, shares, users, passwords and keys"
        if found.sealed:
            yield "passwords and keys on the pool are encrypted: without the passphrase they do not come back"
    else:
        yield f"goes on the pool, too: users ({_names(found.users)}), passwords, keys, certificates, SIDs, alert routes"
        yield f"stays on the pool: all data, and the shares as directories: {_names(found.shares)}"
        yield "after millrace pool adopt no share is exported until you allow clients and users again"
        yield "files keep the numbers of their owners; no new user gets such a number by itself"
    if found.domain and (what == "forget" or found.pool is None):
        yield f"the computer account in {found.domain} stays there: delete it, or first run millrace domain leave"
    yield "until it is adopted, the server has new keys, a new host name, an address by DHCP, and a one-time password"
    yield "for admin on its console"
    if found.credentials:
        yield f"stays on the boot partition and applies again: {', '.join(found.credentials)}"
    if found.clients:
        hosts = sorted({one.host for one in found.clients})
        yield f"disconnected: {len(hosts)} clients ({_names(hosts)})"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "none"
