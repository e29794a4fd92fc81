# SPDX-License-Identifier: Apache-2.0
"""Power over the server that a kept state gives: the writer of the drives decided it.

It is shown before an adoption, each kind with what tells it from another, and each can be left out. An adoption that
nobody confirms leaves out all of it.
"""

import base64
import hashlib
import json
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, get_args

from millrace.lifecycle.access.one_time import USER
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.kept import KEPT, STATE, has
from millrace.lifecycle.keep.model import ManifestMember
from millrace.system.documents import Contract
from millrace.system.text import one_line

TrustKind = Literal["people", "password", "ssh-keys", "ssh", "update-keys", "updates", "alerts"]
KINDS: tuple[TrustKind, ...] = get_args(TrustKind)

SHADOW = "accounts/shadow"
CONFIG = f"{STATE}/config.json"
# A rollback makes one of these the desired state.
EARLIER = f"{STATE}/config-history/*"
PATHS: Mapping[TrustKind, tuple[str, ...]] = {
    "people": (CONFIG, f"{STATE}/access/second-factor/*"),
    "password": (SHADOW,),
    "ssh-keys": ("home/admin/.ssh/authorized_keys", "root/.ssh/authorized_keys"),
    "ssh": ("etc/millrace/ssh-enabled",),
    "update-keys": ("etc/millrace/update-keys.pgp",),
    "updates": (f"{STATE}/update/source.json",),
    "alerts": (f"{STATE}/alert/*",),
}
"""The members of a kind, as patterns of fnmatch(3)."""

LEFT_OUT: Mapping[TrustKind, str] = {
    "people": "administrators, operators and viewers do not come back, nor their keys and second factors",
    "password": f"{USER} keeps the password of this boot drive",
    "ssh-keys": "SSH keys that sign in do not come back",
    "ssh": "SSH stays as it is on this boot drive",
    "update-keys": "the key that signs updates does not come back: this server accepts the keys of its image",
    "updates": "the URL of updates does not come back",
    "alerts": "alert routes do not come back",
}
UNREADABLE = "encrypted, or not readable"
MOST = 50
"""Details of one kind that are shown."""


class Trusted(Contract):
    """One kind of power that the state gives. `details` tell it from another: fingerprints, a URL, hosts."""

    kind: TrustKind
    details: list[str]


def trusted(found: Generation) -> list[Trusted]:
    """Return what adopting this state would trust, in the order of `KINDS`; the details are text of others."""
    kinds = []
    for kind in KINDS:
        paths = [member.path for member in found.manifest.members if _is(kind, member.path)]
        details = [detail for path in paths for detail in _details(kind, path, found)]
        # others than admin have a password, too, and alerts are there without a route
        if paths and (details or kind not in ("people", "password", "alerts")):
            kinds.append(Trusted(kind=kind, details=[one_line(detail) for detail in details[:MOST]]))
    return kinds


def left(contents: Mapping[str, bytes], kinds: Iterable[TrustKind]) -> dict[str, bytes]:
    """Return what stays of the files of a state without these kinds."""
    refused = set(kinds)
    in_part = {"people": CONFIG, "password": SHADOW}
    stay = {
        path: data
        for path, data in contents.items()
        if not any(_is(kind, path) for kind in refused if path != in_part.get(kind))
    }
    if "people" in refused:
        states = {path: data for path, data in stay.items() if path == CONFIG or fnmatchcase(path, EARLIER)}
        stay |= {path: _without_people(data) for path, data in states.items()}
    if "password" in refused and SHADOW in stay:
        stay[SHADOW] = b"".join(line for line in stay[SHADOW].splitlines(keepends=True) if not _of_admin(line))
    return stay


def without_secrets(members: Sequence[ManifestMember], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what stays of the files of a state without its secrets, whatever the state itself calls one."""
    secret = {member.path for member in members if _is_secret(member)}
    return {path: data for path, data in left(contents, KINDS).items() if path not in secret}


def _without_people(data: bytes) -> bytes:
    """A desired state, or a change with it, without accounts that manage the server, and without keys of `admin`."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        # the adoption refuses a state that cannot be read
        return data
    if not isinstance(document, dict):
        return data
    change = document.get("config")
    for config in (document, change) if isinstance(change, dict) else (document,):
        users = config.get("users")
        config.pop("admin", None)
        if isinstance(users, list):
            config["users"] = [user for user in users if not _manages(user)]
    return json.dumps(document).encode()


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
