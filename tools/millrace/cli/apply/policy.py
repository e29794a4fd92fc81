# SPDX-License-Identifier: Apache-2.0
"""Keys of the policy as the file wants them: set in the text of the policy file, as `millrace policy set` does."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from millrace.cli.apply.reading import Reading, of_model
from millrace.plan.policy import edit
from millrace.plan.policy.model import Policy
from millrace.system.errors import BadInput


def with_policy(text: str, reading: Reading, prune: bool) -> str:
    """Return the text of the policy with the keys of the file; what is wrong is noted in the reading."""
    wanted: Any = reading.document.policy
    if wanted is None:
        return text
    try:
        given: Mapping[str, Any] = tomllib.loads(text)
        before = Policy.model_validate(given)
    except (tomllib.TOMLDecodeError, ValidationError):
        reading.problem(("policy",), "the present policy cannot be read; correct it: millrace policy edit")
        return text
    sections = wanted if isinstance(wanted, dict) else {}
    kept = {section: table for section, table in given.items() if not prune or section not in sections}
    merged = _merged(kept, wanted) if isinstance(wanted, dict) else wanted
    try:
        after = Policy.model_validate(merged)
    except ValidationError as error:
        schema = Policy.model_json_schema()
        reading.problems += of_model(reading.path, reading.lines, error, ("policy",), schema)
        return text
    old, new, named = dict(_flat(before)), dict(_flat(after)), _named(merged)
    # a key with the value that it has without being named stays as it is
    changed = {key: new[key] if key in named else None for key in sorted(old) if old[key] != new[key]}
    try:
        return edit.with_keys(text, changed) if changed else text
    except BadInput as error:
        reading.problem(("policy",), str(error))
        return text


def removed(before: str, after: str) -> list[str]:
    """Return the keys that one text of a policy has and another has not."""
    if before == after:
        return []
    return sorted(_named(tomllib.loads(before)) - _named(tomllib.loads(after)))


def _merged(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {
        section: {**before.get(section, {}), **table} if isinstance(table, dict) else table
        for section, table in {**before, **wanted}.items()
    }


def _named(document: Mapping[str, Any]) -> set[str]:
    return {f"{section}.{name}" for section, table in document.items() for name in table}


def _flat(policy: Policy) -> Iterator[tuple[str, Any]]:
    for section, table in policy.model_dump(mode="json").items():
        yield from ((f"{section}.{name}", value) for name, value in table.items())
