# SPDX-License-Identifier: Apache-2.0
"""What was found and what was adopted, in lines."""

from collections.abc import Iterator, Mapping

from millrace.lifecycle.adopt.model import (
    Adopted,
    Adoption,
    AdoptionProgress,
    AdoptionStep,
    FoundArray,
    FoundHere,
    FoundPool,
    KeptPort,
    KeptState,
    Origin,
    SearchResult,
)
from millrace.lifecycle.keep import home
from millrace.lifecycle.keep.model import Forgotten, Trusted, TrustKind
from millrace.system.printing import notes
from millrace.system.text import moment


def lines(report: SearchResult) -> Iterator[str]:
    """Yield what `pool find` prints."""
    if report.pool is None:
        yield f"{report.problem}; {report.todo}"
        return
    yield f"pool {report.pool.uuid or '(not readable)'}"
    yield from notes(_array(array) for array in report.pool.arrays)
    yield from notes(f"external device {device}" for device in report.pool.devices)
    yield from notes(f"made {clause}" for clause in report.pool.lacks)
    if report.pool.kept is not None:
        yield from _kept(report.pool.kept)
    if report.problem:
        yield f"it cannot be adopted: {report.problem}"
        yield f"{report.todo}"
    else:
        yield "nothing was written; to bring it back on this server: millrace pool adopt"


def here(state: FoundHere) -> Iterator[str]:
    """Yield what `pool found` prints."""
    if state.adoption is not None:
        yield from _under_way(state.adoption, state.progress, state.running)
    elif state.elsewhere is not None:
        yield f"the pool is not served: {home.sentence(state.elsewhere)}"
        yield home.DECIDE
    elif state.adopted is not None:
        yield from adopted(state.adopted)
    elif state.found is not None:
        yield from lines(state.found)
    else:
        yield "no pool was searched for in this boot"


STEPS: Mapping[AdoptionStep, str] = {
    "files": "restoring files and databases",
    "accounts": "restoring users and passwords",
    "ports": "setting addresses",
    "services": "restarting services",
    "pool": "recording the pool",
}


def step(now: AdoptionProgress) -> str:
    """Return the step of an adoption in a line."""
    return f"step {now.done + 1} of {now.total}: {STEPS[now.step]}"


def _under_way(one: Adoption, now: AdoptionProgress | None, running: bool) -> Iterator[str]:
    if running:
        yield f"the adoption of pool {one.pool} is under way, begun {moment(one.at)}"
        if now is not None:
            yield step(now)
        return
    yield f"the adoption of pool {one.pool} stopped: {one.problem or 'it was interrupted'}"
    yield "to go on: millrace pool adopt"


def question(pool: FoundPool) -> str:
    """Return what is confirmed before an adoption."""
    if pool.kept is not None and pool.kept.origin != "kept":
        return "Adopt the pool, with its shares closed and without users and keys?"
    host = pool.kept.host if pool.kept else "another server"
    return f"Adopt the pool of {host}, with its users, shares, keys and addresses?"


def adopted(done: Adopted) -> Iterator[str]:
    """Yield what `pool adopt` prints."""
    yield f"the pool of {done.host} is adopted: {len(done.shares)} shares, {len(done.users)} users"
    yield from done.missing
    yield "`millrace status` shows it"


CLOSED = "no share is exported until you allow clients and users: millrace share set"


def closed(origin: Origin, forgotten: Forgotten | None) -> Iterator[str]:
    """Yield why a state has neither users nor keys; nothing for one that was kept."""
    if origin == "forgotten":
        by = f" by {forgotten.by}, {moment(forgotten.at)}," if forgotten else ""
        yield f"a factory reset{by} forgot users, passwords and keys: {CLOSED}"
    elif origin == "drives":
        yield f"no kept state can be read: the shares are the directories with a quota project; {CLOSED}"
        yield "types and sizes of shares, users, passwords and keys do not come back"


def _array(one: FoundArray) -> str:
    state = "complete" if len(one.serials) == one.slots else f"{len(one.serials)} of {one.slots} members"
    away = f"; outdated: {', '.join(one.outdated)}" if one.outdated else ""
    lost = f"; missing: {', '.join(one.away)}" if one.away else ""
    spare = f"; hot spare: {', '.join(one.spares)}" if one.spares else ""
    return f"{one.name}: {one.level}, {state}{lost}{spare}{away}"


def _kept(kept: KeptState) -> Iterator[str]:
    if kept.origin != "kept":
        yield from notes(closed(kept.origin, kept.forgotten))
        yield from notes([f"shares: {', '.join(kept.shares) or 'none'}"])
        yield from notes(f"not a share: {problem}" for problem in kept.problems)
        yield from notes(f"damaged and not used: {damage}" for damage in kept.damaged)
        return
    yield from notes([f"state {kept.generation} of {kept.host}, kept {moment(kept.written)}, Millrace {kept.release}"])
    yield from notes([f"shares: {', '.join(kept.shares) or 'none'}"])
    yield from notes([f"users: {', '.join(kept.users) or 'none'}"])
    yield from notes(_port(port) for port in kept.ports)
    if kept.domain:
        yield from notes([f"domain: {kept.domain}"])
    if kept.sealed:
        yield from notes(["passwords, keys and identities are encrypted: the passphrase is needed"])
    yield from notes(line for power in kept.trusted for line in trusted(power))
    yield from notes(f"not kept: {problem}" for problem in kept.problems)
    yield from notes(f"damaged and not used: {damage}" for damage in kept.damaged)


TRUSTED: Mapping[TrustKind, str] = {
    "people": "administrators, operators and viewers of the last server, with their keys",
    "password": "the password of the last server opens this one",
    "ssh-keys": "SSH keys sign in",
    "ssh": "SSH is turned on",
    "update-keys": "a key of the last server signs updates",
    "updates": "updates come from the URL of the last server",
    "alerts": "alerts go to the receivers of the last server",
    "backups": "backups go to the targets of the last server, with its credentials",
    "journal": "the journal goes to the host of the last server",
    "client-networks": "clients of these networks mount shares",
    "readers": "these servers read the snapshots of shares",
    "replicas": "replicas are read from these servers",
    "network": "addresses, DNS, NTP and routes are those of the last server",
}


def trusted(one: Trusted, whole: bool = False) -> Iterator[str]:
    """Yield what a state lets in, and how it is left out; a `whole` state is taken over as it is."""
    details = f": {', '.join(one.details)}" if one.details else ""
    yield f"{TRUSTED[one.kind]}{details}" + ("" if whole else f" (leave out: --without {one.kind})")


def _port(one: KeptPort) -> str:
    addresses = ", ".join(one.addresses) or "its bond or VLANs"
    if one.here is None:
        return f"port {one.name} ({one.mac}) is not in this server: {addresses} will not be set"
    return f"port {one.here} gets {addresses}" + ("" if one.by == "mac" else f", as {one.name} ({one.mac}) had")
