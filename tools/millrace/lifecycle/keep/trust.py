# SPDX-License-Identifier: Apache-2.0
"""Power over the server that a kept state gives: the writer of the drives decided it.

It is shown before an adoption, each kind with what tells it from another, and each can be left out. An adoption that
nobody confirms leaves out all of it.
"""

import base64
import hashlib
import json
import stat
import tomllib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, get_args

from millrace.lifecycle.access.one_time import USER
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.kept_files import KEPT, STATE, has
from millrace.lifecycle.keep.model import ManifestMember, Trusted, TrustKind
from millrace.plan.policy.edit import with_keys
from millrace.system.errors import BadInput
from millrace.system.text import one_line

KINDS: tuple[TrustKind, ...] = get_args(TrustKind)
SERVED: frozenset[TrustKind] = frozenset(("client-networks", "network"))
"""Kinds without which nobody is served: left out on request, and where nobody confirms the adoption."""

SHADOW = "accounts/shadow"
CONFIG = f"{STATE}/config.json"
# A rollback makes one of these the desired state.
EARLIER = f"{STATE}/config-history/*"
POLICIES = ("etc/millrace/policy.toml", f"{STATE}/policy.last-good.toml")
POLICY_KEYS: Mapping[TrustKind, tuple[str, ...]] = {
    "journal": ("journal.forward", "journal.ca"),
    "client-networks": ("nfs.networks", "nfs.copy_from"),
}
CONFIG_KEYS: Mapping[TrustKind, tuple[str, ...]] = {
    "people": ("admin",),
    "client-networks": ("nfs",),
    "network": ("network", "ports"),
}
OF_SHARES: frozenset[TrustKind] = frozenset(("readers", "replicas"))
"""Kinds that are parts of shares. They are servers: without client networks they do not come back, either."""
SHOWN_OF_NETWORK = {"dns": "DNS", "search": "search domain", "ntp": "NTP", "routes": "route"}
PATHS: Mapping[TrustKind, tuple[str, ...]] = {
    "people": (CONFIG, f"{STATE}/access/second-factor/*"),
    "password": (SHADOW,),
    "ssh-keys": ("home/admin/.ssh/authorized_keys", "root/.ssh/authorized_keys"),
    "ssh": ("etc/millrace/ssh-enabled",),
    "update-keys": ("etc/millrace/update-keys.pgp",),
    "updates": (f"{STATE}/update/source.json",),
    "alerts": (f"{STATE}/alert/*",),
    "backups": (f"{STATE}/backup/*",),
    "journal": POLICIES,
    "client-networks": (CONFIG, *POLICIES),
    "readers": (CONFIG,),
    "replicas": (CONFIG,),
    "network": (CONFIG,),
}
IN_PART = frozenset((CONFIG, SHADOW, *POLICIES))
"""Files of which a kind is a part: the rest of them stays."""
"""The members of a kind, as patterns of fnmatch(3)."""

LEFT_OUT: Mapping[TrustKind, str] = {
    "people": "administrators, operators and viewers do not come back, nor their keys and second factors",
    "password": f"{USER} keeps the password of this boot drive",
    "ssh-keys": "SSH keys that sign in do not come back",
    "ssh": "SSH stays as it is on this boot drive",
    "update-keys": "the key that signs updates does not come back: this server accepts the keys of its image",
    "updates": "the URL of updates does not come back",
    "alerts": "alert routes do not come back",
    "backups": "backups do not come back, nor the passwords of their repositories",
    "journal": "the journal is not forwarded",
    "client-networks": "client networks do not come back: NFS is closed until networks are named",
    "readers": "no server reads snapshots of shares: allow each again with millrace replica allow",
    "replicas": "replicas do not come back; their snapshots stay as those of former shares",
    "network": "addresses, bonds, routes, DNS and NTP do not come back: the ports ask for an address by DHCP",
}
UNREADABLE = "encrypted, or not readable"
# Others than admin have a password, too, and alerts and a policy are there without a route.
SHOWN_ALWAYS: frozenset[TrustKind] = frozenset(("ssh-keys", "ssh", "update-keys", "updates"))
MOST = 50
"""Details of one kind that are shown."""


def trusted(found: Generation) -> list[Trusted]:
    """Return what adopting this state would trust, in the order of `KINDS`; the details are text of others."""
    kinds = []
    for kind in KINDS:
        paths = [member.path for member in found.manifest.members if _is(kind, member.path)]
        details = [detail for path in paths for detail in _details(kind, path, found)]
        if paths and (details or kind in SHOWN_ALWAYS):
            kinds.append(Trusted(kind=kind, details=[one_line(detail) for detail in details[:MOST]]))
    return kinds


def refused_with(kinds: Iterable[TrustKind]) -> set[TrustKind]:
    """Return these kinds with those that do not come back without them."""
    refused = set(kinds)
    return refused | OF_SHARES if "client-networks" in refused else refused


def left(contents: Mapping[str, bytes], kinds: Iterable[TrustKind]) -> dict[str, bytes]:
    """Return what stays of the files of a state without these kinds."""
    refused = refused_with(kinds)
    stay = {
        path: data for path, data in contents.items() if path in IN_PART or not any(_is(kind, path) for kind in refused)
    }
    if refused & {*CONFIG_KEYS, *OF_SHARES}:
        states = {path: data for path, data in stay.items() if path == CONFIG or fnmatchcase(path, EARLIER)}
        stay |= {path: _without_parts(data, refused) for path, data in states.items()}
    if keys := [key for kind, keys in POLICY_KEYS.items() if kind in refused for key in keys]:
        policies = {path: _without_keys(stay.pop(path), keys) for path in POLICIES if path in stay}
        stay |= {path: data for path, data in policies.items() if data is not None}
    if "password" in refused and SHADOW in stay:
        stay[SHADOW] = b"".join(line for line in stay[SHADOW].splitlines(keepends=True) if not _of_admin(line))
    return stay


def without_secrets(members: Sequence[ManifestMember], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what stays of the files of a state without its secrets, whatever the state itself calls one."""
    secret = {member.path for member in members if _is_secret(member)}
    kinds = [kind for kind in KINDS if kind not in SERVED]
    return {path: data for path, data in left(contents, kinds).items() if path not in secret}


def _without_keys(data: bytes, keys: Iterable[str]) -> bytes | None:
    """A policy without these keys; None where it cannot be read: nothing of it stays."""
    try:
        return with_keys(data.decode(), dict.fromkeys(keys)).encode()
    except (BadInput, UnicodeDecodeError):
        return None


def _without_parts(data: bytes, refused: Collection[TrustKind]) -> bytes:
    """A desired state, or a change with it, without the parts of these kinds, such as accounts that manage it."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        # the adoption refuses a state that cannot be read
        return data
    if not isinstance(document, dict):
        return data
    change = document.get("config")
    for config in (document, change) if isinstance(change, dict) else (document,):
        for key in (key for kind in refused for key in CONFIG_KEYS.get(kind, ())):
            config.pop(key, None)
        users = config.get("users")
        if "people" in refused and isinstance(users, list):
            config["users"] = [user for user in users if not _manages(user)]
        shares = config.get("shares")
        if isinstance(shares, list):
            config["shares"] = list(_shares(shares, refused))
    return json.dumps(document).encode()


def _shares(shares: list[object], refused: Collection[TrustKind]) -> Iterator[object]:
    """Shares without readers; a replica is left out as `millrace replica remove` does."""
    for share in shares:
        if isinstance(share, dict) and "readers" in refused:
            share.pop("readers", None)
        if not isinstance(share, dict) or share.get("replica") is None or "replicas" not in refused:
            yield share


def _manages(user: object) -> bool:
    return isinstance(user, dict) and (user.get("role") is not None or user.get("console") is True)


def _people(data: bytes) -> Iterator[str]:
    """Yield each account that manages the server with its role, and each key that signs in."""
    try:
        config = json.loads(data)
    except (ValueError, RecursionError):
        yield UNREADABLE
        return
    if not isinstance(config, dict):
        return
    users = config.get("users")
    people = [user for user in users if _manages(user)] if isinstance(users, list) else []
    for user in people:
        yield f"{user.get('name')}: {user.get('role') or 'viewer'}"
    for name, person in [(USER, config.get("admin")), *((user.get("name"), user) for user in people)]:
        keys = person.get("keys") if isinstance(person, dict) else None
        lines = "\n".join(str(key) for key in keys) if isinstance(keys, list) else ""
        yield from (f"{name}: {key}" for key in _fingerprints(lines.encode()))


def _networks(data: bytes) -> Iterator[str]:
    """Yield the networks whose clients mount shares, and servers that files are copied from."""
    document = _document(data)
    nfs = document.get("nfs") if document else None
    if isinstance(nfs, dict):
        yield from _texts(nfs.get("networks"))
        yield from (f"copies from {server}" for server in _texts(nfs.get("copy_from")))


def _servers(data: bytes, key: str) -> Iterator[str]:
    """Yield the servers that read snapshots of shares, or that replicas come from, with the CAs of both."""
    shares = (_document(data) or {}).get("shares")
    for share in shares if isinstance(shares, list) else ():
        held = share.get(key) if isinstance(share, dict) else None
        for server in held if isinstance(held, list) else [held]:
            if isinstance(server, dict):
                yield f"{share.get('name')}: {server.get('address')}, CA {server.get('fingerprint')}"


def _network(data: bytes) -> Iterator[str]:
    """Yield addresses of links, and what decides where names, time and packets come from."""
    document = _document(data) or {}
    network = document.get("network")
    settings = network if isinstance(network, dict) else {}
    links = [document.get("ports"), settings.get("bonds"), settings.get("vlans")]
    for link in (link for several in links if isinstance(several, list) for link in several if isinstance(link, dict)):
        yield from (f"{link.get('name')}: {address}" for address in _texts(link.get("addresses")))
        if link.get("gateway"):
            yield f"{link.get('name')}: gateway {link['gateway']}"
    for name, word in SHOWN_OF_NETWORK.items():
        values = settings.get(name)
        for value in values if isinstance(values, list) else ():
            text = f"{value.get('network')} via {value.get('gateway')}" if isinstance(value, dict) else value
            yield f"{word} {text}"


def _forward(data: bytes) -> Iterator[str]:
    document = _document(data) or {}
    journal = document.get("journal")
    yield from _texts([journal.get("forward")] if isinstance(journal, dict) else None)


def _document(data: bytes) -> dict[str, Any] | None:
    """A desired state in JSON, or a policy in TOML; None for neither."""
    for parse in (json.loads, tomllib.loads):
        try:
            document = parse(data.decode())
        except (ValueError, RecursionError):
            continue
        return document if isinstance(document, dict) else None
    return None


def _texts(values: object) -> Iterator[str]:
    yield from (value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def _is_secret(member: ManifestMember) -> bool:
    private = member.link is None and not member.mode & stat.S_IROTH
    return private or any(kept.secret for kept in KEPT if has(kept, member.path))


def _is(kind: TrustKind, path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in PATHS[kind])


def _of_admin(line: bytes) -> bool:
    return line.partition(b":")[0] == USER.encode()


def _details(kind: TrustKind, path: str, state: Generation) -> Iterator[str]:
    if any(member.path == path and member.sealed for member in state.manifest.members):
        yield UNREADABLE
        return
    data = state.stored.get(path, b"")
    match kind:
        case "people":
            yield from _people(data) if path == CONFIG else ()
        case "password":
            yield from (USER for line in data.splitlines() if _of_admin(line))
        case "ssh-keys":
            yield from (f"{path.split('/')[-3]}: {key}" for key in _fingerprints(data))
        case "ssh":
            return
        case "update-keys":
            yield f"SHA-256 of the file: {hashlib.sha256(data).hexdigest()}"
        case "updates":
            yield from _strings(data, "url")
        case "alerts":
            yield from _strings(data, "host") if path.endswith("/routes.json") else ()
        case "backups":
            yield from _strings(data, "host") if path.endswith("/backups.json") else ()
        case "journal":
            yield from _forward(data) if path == POLICIES[0] else ()
        case "client-networks":
            yield from _networks(data) if path in (CONFIG, POLICIES[0]) else ()
        case "readers":
            yield from _servers(data, "readers")
        case "replicas":
            yield from _servers(data, "replica")
        case "network":
            yield from _network(data)


def _fingerprints(data: bytes) -> Iterator[str]:
    """Yield the fingerprint of each key as ssh-keygen(1) prints it, with the comment."""
    for line in data.decode(errors="replace").splitlines():
        words = line.split()
        at = next((index for index, word in enumerate(words) if word.startswith("AAAA")), None)
        if at is None:
            if words and not line.startswith("#"):
                yield UNREADABLE
            continue
        try:
            blob = base64.b64decode(words[at], validate=True)
        except ValueError:
            # also of letters that are none of ASCII
            yield UNREADABLE
            continue
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        yield f"SHA256:{digest} {' '.join(words[at + 1 :])}".rstrip()


def _strings(data: bytes, name: str) -> Iterator[str]:
    """Yield the strings of this name anywhere in a JSON document."""
    try:
        values = deque([json.loads(data)])
    except (ValueError, RecursionError):
        yield UNREADABLE
        return
    while values:
        value = values.popleft()
        if isinstance(value, dict):
            text = value.get(name)
            if isinstance(text, str) and text:
                yield text
            values += value.values()
        elif isinstance(value, list):
            values += value
