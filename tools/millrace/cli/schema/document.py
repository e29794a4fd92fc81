# SPDX-License-Identifier: Apache-2.0
"""The schemas of all outputs in one document. A type has the name of its class, which no other class has."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from millrace.cli.schema.outputs import lines, outputs
from millrace.cli.schema.rules import CHOICES, TEXTS
from millrace.system.documents import Contract
from millrace.system.output import contract

PREFIX = "#/$defs/"


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
    return Schema(
        outputs=dict(sorted((verb, document) for (verb, _), document in schemas.items())),
        lines=lines(),
        inputs=_inputs(),
        definitions=dict(sorted((name, _whole(definition)) for name, definition in definitions.items())),
    )


def _inputs() -> dict[str, dict[str, JsonValue]]:
    texts: dict[str, TypeAdapter[str]] = {
        name: TypeAdapter(Annotated[str, contract(where)]) for name, where in TEXTS.items()
    }
    choices = {name: TypeAdapter(contract(where)) for name, where in CHOICES.items()}
    return {name: one.json_schema() for name, one in (texts | choices).items()}


def _whole(definition: dict[str, Any]) -> dict[str, Any]:
    """A verb prints every field, also one that has its default: a reader need not expect that it is missing."""
    if "properties" not in definition:
        return definition
    return {**definition, "required": list(definition["properties"])}
