# SPDX-License-Identifier: Apache-2.0
"""The keys of the policy: what each means, takes and is now; their documentation stands in the model."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from millrace.plan.policy.model import Policy, Section, When
from millrace.system.documents import Contract

EFFECT: dict[When, str] = {
    "now": "at once",
    "boot": "at the next boot",
    "new pool": "only in a new pool; the present one keeps what it was made with",
}


class PolicyKey(Contract):
    """One key, as `layout.spares`. `value` is in force; `default` null leaves the decision to the planner.

    `is_set`: whether the file has the key. `range` is what it takes, in words, empty where the meaning says it.
    """

    key: str
    meaning: str
    range: str
    default: JsonValue
    value: JsonValue
    is_set: bool
    when: When


class PolicyReport(Contract):
    """What `millrace policy show --json` prints: all keys, and the file that the policy comes from, null for none.

    `problem` is why the file is not in force; then the values are those of the last policy that could be read.
    """

    schema_version: Literal[1] = 1
    file: str | None
    problem: str | None
    keys: list[PolicyKey]


class PolicyChange(Contract):
    """One key that changes, with its values; null where the planner decides."""

    key: str
    before: JsonValue
    after: JsonValue
    when: When


class PolicyChanges(Contract):
    """What `millrace policy set`, `edit` and `diff` print with --json: the changes, and the units that applied them."""

    schema_version: Literal[1] = 1
    file: str
    changes: list[PolicyChange]
    applied: list[str]


def described(policy: Policy) -> list[PolicyKey]:
    """Return all keys with their values in this policy, in the order of the model."""
    values, given = policy.model_dump(mode="json"), policy.model_dump(mode="json", exclude_unset=True)
    defaults = Policy().model_dump(mode="json")
    return [
        PolicyKey(
            key=f"{section}.{name}",
            meaning=field.description or "",
            range=taken(field),
            default=defaults[section][name],
            value=values[section][name],
            is_set=name in given.get(section, {}),
            when=when(field),
        )
        for section, name, field in fields()
    ]


def fields() -> Iterator[tuple[str, str, FieldInfo]]:
    """Yield section, name and field of each key."""
    for section, table in Policy.model_fields.items():
        kind = table.annotation
        assert isinstance(kind, type) and issubclass(kind, Section)
        yield from ((section, name, field) for name, field in kind.model_fields.items())


def when(field: FieldInfo) -> When:
    """Return when a changed key takes effect."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    found: When = next(each for each in get_args(When) if each == extra["when"])
    return found


def taken(field: FieldInfo) -> str:
    """Return what a key takes, in words: `4 to 4096`, `single or double`."""
    words: list[str] = []
    least, most = _limits(field)
    for kind in _kinds(field.annotation):
        if kind is bool:
            words.append("true or false")
        elif kind is int:
            words.append(f"{least} to {most}" if most is not None else f"at least {least}")
        elif choices := [str(each) for each in get_args(kind) if isinstance(each, str)]:
            words += choices
        elif str(kind).startswith("list"):
            words.append("a list")
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)


def words(value: JsonValue) -> str | None:
    """Return a value for a table; None, a dash, where Millrace decides."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return None if value is None else str(value)


def changes(before: Policy, after: Policy) -> list[PolicyChange]:
    """Return the keys whose values differ."""
    return [
        PolicyChange(key=new.key, before=old.value, after=new.value, when=new.when)
        for old, new in zip(described(before), described(after), strict=True)
        if old.value != new.value
    ]


def _kinds(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type, without None and without what only checks them."""
    inner = get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        yield from _kinds(inner[0])
    elif (inner and type(None) in inner) or str(annotation).startswith("typing.Union"):
        for each in inner:
            yield from _kinds(each)
    elif annotation is not type(None):
        yield annotation


def _limits(field: FieldInfo) -> tuple[int | None, int | None]:
    given: list[Any] = [*field.metadata, *_metadata(field.annotation)]
    limits: dict[str, Any] = {}
    for limit in given:
        for inner in [limit, *getattr(limit, "metadata", ())]:
            for name in ("ge", "le"):
                if (value := getattr(inner, name, None)) is not None:
                    limits[name] = value
    return limits.get("ge"), limits.get("le")


def _metadata(annotation: Any) -> Iterator[Any]:
    yield from getattr(annotation, "__metadata__", ())
    for each in get_args(annotation):
        yield from _metadata(each)
