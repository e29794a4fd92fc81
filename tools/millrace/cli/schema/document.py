# SPDX-License-Identifier: Apache-2.0
"""The schemas of all outputs in one document, with one name for each type."""

import json
import re
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from millrace.cli.schema.outputs import lines, outputs
from millrace.cli.schema.rules import CHOICES, TEXTS
from millrace.system.documents import Contract
from millrace.system.output import contract

PREFIX = "#/$defs/"
# pydantic names classes of the same name by their module: millrace__observe__health__model__Finding
# A name that a browser has already keeps its meaning in the code of a page.
_TAKEN = {"Array": "MdArray", "File": "ClientFile", "History": "ConfigHistory", "Node": "NumaNode"}
# What pages called so before the tuner had a class of that name.
_FIRST = {
    "bench": {"Estimate", "Run", "RunList", "RunSummary", "Started", "State", "Stopped"},
    "health": {"Status"},
}
# What pages called the rooms before the rooms had these names.
_BEFORE = {"config": "state", "network": "port"}
_WINGS = "cli|observe|measure|lifecycle|serve|storage"
_QUALIFIED = re.compile(rf"millrace__(?:(?:{_WINGS})__)?(\w+?)__(?:\w+__)?(\w+)")


class Schema(Contract):
    """JSON Schemas by the words of the verb. `lines` are the verbs that print one document a line until they end.

    The schemas share `$defs`. `inputs` are the rules of what may be typed or chosen: `checks` of a text are its
    patterns in their order, each with the sentence for what does not match; $0 stands for the text, $1 for its length.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    schema_version: Literal[1] = 1
    outputs: dict[str, dict[str, JsonValue]]
    lines: list[str]
    inputs: dict[str, dict[str, JsonValue]]
    definitions: dict[str, dict[str, JsonValue]] = Field(serialization_alias="$defs")


def schema() -> Schema:
    """Return the schemas of everything that the verbs print."""
    inputs = [(verb, "serialization", TypeAdapter(contract(where))) for verb, where in outputs().items()]
    schemas, shared = TypeAdapter.json_schemas(inputs, ref_template=PREFIX + "{model}")  # type: ignore[arg-type]
    definitions = shared.get("$defs", {})
    names = _names(list(definitions))
    renamed = _renamed({verb: definition for (verb, _), definition in schemas.items()}, names)
    return Schema(
        outputs=dict(sorted(renamed.items())),
        lines=lines(),
        inputs=_inputs(),
        definitions=dict(
            sorted((names[old], _whole(definition)) for old, definition in _renamed(definitions, names).items())
        ),
    )


def _inputs() -> dict[str, dict[str, JsonValue]]:
    texts: dict[str, TypeAdapter[str]] = {
        name: TypeAdapter(Annotated[str, contract(where)]) for name, where in TEXTS.items()
    }
    choices = {name: TypeAdapter(contract(where)) for name, where in CHOICES.items()}
    return {name: one.json_schema() for name, one in (texts | choices).items()}


def _names(keys: list[str]) -> dict[str, str]:
    """A readable name: of two classes with one name, the room's own noun keeps it, the other gets its room."""
    found = {key: _name(key) for key in keys}
    twice = [name for name, count in Counter(found.values()).items() if count > 1]
    if twice:
        raise ValueError(f"two types are called {', '.join(twice)}: give one of the classes another name")
    return found


def _name(key: str) -> str:
    match = _QUALIFIED.fullmatch(key)
    if match is None:
        return _TAKEN.get(key, key)
    noun, name = _BEFORE.get(match[1], match[1]), match[2]
    room = noun.capitalize()
    return name if room == name or name in _FIRST.get(noun, ()) else room + name


def _whole(definition: dict[str, Any]) -> dict[str, Any]:
    """A verb prints every field, also one that has its default: a reader need not expect that it is missing."""
    if "properties" not in definition:
        return definition
    return {**definition, "required": list(definition["properties"])}


def _renamed(document: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    text = re.sub(
        re.escape(json.dumps(PREFIX)[1:-1]) + r"([^\"]+)", lambda match: PREFIX + names[match[1]], json.dumps(document)
    )
    renamed: dict[str, Any] = json.loads(text)
    return renamed
