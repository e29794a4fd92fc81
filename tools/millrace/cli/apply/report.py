# SPDX-License-Identifier: Apache-2.0
"""What applying a file changes: by thing and key, for programs and for people."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import JsonValue

from millrace.observe.alert.model import Route
from millrace.plan.policy import keys
from millrace.plan.policy.model import Policy
from millrace.serve.config.model import Config
from millrace.serve.share.options import size_text
from millrace.system.documents import Contract, Count

Action = Literal["create", "change", "remove"]
SIGNS: dict[Action, str] = {"create": "+", "change": "~", "remove": "-"}

SIZES = {"size", "soft_size", "child_size"}
# given out by this server, or another form of what is shown
OF_SERVER = {"name", "uid", "gid", "project", "fsid", "console", "sealed", "parent"}


class ApplyKey(Contract):
    """A key that differs; null where it is not decided. Secrets are not in it."""

    key: str
    before: JsonValue
    after: JsonValue


class ApplyChange(Contract):
    """One thing that is created, changed or removed, as `share data`."""

    thing: str
    action: Action
    keys: list[ApplyKey]


class ApplyReport(Contract):
    """`millrace apply --json`. `applied` is false with --check and where nothing was to be done.

    `serial` is the change of the desired state; null where it stayed. `without_password` are accounts that cannot sign
    in yet. `confirm_seconds` is the time to confirm a change of the network; null where it stayed.
    """

    schema_version: Literal[1] = 1
    file: str
    applied: bool
    serial: Count | None
    changes: list[ApplyChange]
    verified: list[str]
    warnings: list[str]
    without_password: list[str]
    confirm_seconds: Count | None


def of_state(old: Config, new: Config) -> list[ApplyChange]:
    """Return what differs between two states, in the order of the file."""
    return [
        *_of_tables("network", {"": _network(old)}, {"": _network(new)}),
        *_of_tables("port", _named(old.ports), _named(new.ports)),
        *_of_tables("bond", _named(old.network.bonds), _named(new.network.bonds)),
        *_of_tables("VLAN", _named(old.network.vlans), _named(new.network.vlans)),
        *_of_tables("nfs", {"": _flat(old.nfs.model_dump(mode="json"))}, {"": _flat(new.nfs.model_dump(mode="json"))}),
        *_of_tables("account", _people(old), _people(new)),
        *_of_tables("group", _named(old.groups), _named(new.groups)),
        *_of_tables("user", _users(old), _users(new)),
        *_of_tables("share", _named(old.shares), _named(new.shares)),
    ]


def of_routes(old: list[Route], new: list[Route]) -> list[ApplyChange]:
    """Return what differs between two lists of alert routes."""
    return [*_of_tables("alert route", _named(old), _named(new))]


def of_policy(old: Policy, new: Policy) -> list[ApplyChange]:
    """Return the keys of the policy whose values differ."""
    changed = [ApplyKey(key=each.key, before=each.before, after=each.after) for each in keys.changes(old, new)]
    return [ApplyChange(thing="policy", action="change", keys=changed)] if changed else []


def of_secret(thing: str) -> ApplyChange:
    """Return the change of a secret, which is not shown."""
    return ApplyChange(thing=thing, action="change", keys=[ApplyKey(key="password", before=None, after="(secret)")])


def lines(changes: list[ApplyChange], diff: bool) -> Iterator[str]:
    """Yield one line a thing, with `diff` one more for each of its keys."""
    for change in changes:
        yield f"{SIGNS[change.action]} {change.thing}"
        if not diff or change.action == "remove":
            continue
        for key in change.keys:
            before = "" if change.action == "create" else f"{_text(key.key, key.before)} -> "
            yield f"    {key.key}: {before}{_text(key.key, key.after)}"


def _of_tables(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ApplyChange]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        action: Action = "create" if before is None else "remove" if after is None else "change"
        pairs = {key: ((before or {}).get(key), (after or {}).get(key)) for key in {**(before or {}), **(after or {})}}
        differing = [
            ApplyKey(key=key, before=was, after=now)
            for key, (was, now) in pairs.items()
            if was != now and (action == "change" or now not in (None, [], ""))
        ]
        yield ApplyChange(thing=f"{kind} {name}".strip(), action=action, keys=differing)


def _named(things: Any) -> dict[str, dict[str, JsonValue]]:
    return {thing.name: _flat(thing.model_dump(mode="json")) for thing in things}


def _network(config: Config) -> dict[str, JsonValue]:
    names = {port.mac: port.name for port in config.ports}
    values = _flat(config.network.model_dump(mode="json", exclude={"bonds", "vlans"}))
    return {**values, "management": [names.get(mac, mac) for mac in config.management]}


def _people(config: Config) -> dict[str, dict[str, JsonValue]]:
    shown = {"full_name", "keys", "locked"}
    return {
        name: {"role": role, **person.model_dump(mode="json", include=shown)}
        for name, (person, role) in config.people.items()
    }


def _users(config: Config) -> dict[str, dict[str, JsonValue]]:
    return {user.name: {"groups": list(user.groups)} for user in config.users if user.role is None}


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, JsonValue]:
    flat: dict[str, JsonValue] = {}
    for key, value in values.items():
        if not above and key in OF_SERVER:
            continue
        if isinstance(value, dict):
            flat |= _flat(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def _text(key: str, value: JsonValue) -> str:
    if value is None:
        return "none"
    if key in SIZES and isinstance(value, int):
        return size_text(value)
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
