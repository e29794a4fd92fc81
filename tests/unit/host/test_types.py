# SPDX-License-Identifier: Apache-2.0
"""The TypeScript types and rules of the pages follow the outputs of the verbs."""

from typing import Any

import pytest

from host import rules, types
from host.typescript import comment, declaration, type_of
from millrace.cli.schema.document import schema
from millrace.system.errors import BadInput


def test_the_types_in_the_tree_are_those_of_the_verbs() -> None:
    assert types.FILE.read_text() == types.text(schema()), "run tools/host/enter types and look at what changed"


def test_the_rules_in_the_tree_are_those_of_the_program() -> None:
    assert types.RULES.read_text() == rules.text(schema().inputs), "run tools/host/enter types and look at what changed"


def test_a_pattern_becomes_one_of_browsers() -> None:
    made = rules.text({"word": {"checks": [[r"[\w.]+\\", 'say "$0"']]}, "ALL": {"enum": ["a", "b"]}})
    assert 'export const word = rule(\n    ["[\\\\p{L}\\\\p{N}_.]+\\\\\\\\", () => _("say \\"$0\\"")],\n);\n' in made
    assert 'export const ALL = ["a", "b"] as const;\n' in made


def test_every_output_has_its_type() -> None:
    text = types.text(schema())
    assert '    "share list": ShareList;\n' in text
    assert "export type LineVerb = " in text


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "integer", "minimum": 0}, "number"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}], "title": "T"}, "number | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"const": 1, "type": "integer", "default": 1}, "1"),
        ({"enum": ["OK", "it's"], "type": "string"}, '"OK" | "it\'s"'),
        ({"$ref": "#/$defs/Level", "description": "d", "default": "OK"}, "Level"),
        ({"type": "array", "items": {"$ref": "#/$defs/Drive"}}, "Drive[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string, number]"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "Record<string, boolean>"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"discriminator": {}, "oneOf": [{"$ref": "#/$defs/Plan"}, {"$ref": "#/$defs/Refusal"}]}, "Plan | Refusal"),
        ({}, "unknown"),
    ],
)
def test_json_schema_becomes_typescript(node: dict[str, Any], made: str) -> None:
    assert type_of(node) == made


def test_an_object_becomes_an_interface_with_its_words() -> None:
    definition = {
        "type": "object",
        "additionalProperties": False,
        "description": "A drive.\n\nSizes in bytes.",
        "properties": {"size": {"type": "integer", "description": "Bytes."}, "max-speed": {"type": "number"}},
        "required": ["size"],
    }
    assert declaration("Drive", definition) == (
        "/**\n * A drive.\n *\n * Sizes in bytes.\n */\n"
        "export interface Drive {\n    /** Bytes. */\n    size: number;\n"
        '    "max-speed"?: number;\n}\n'
    )


def test_a_description_cannot_end_its_comment() -> None:
    assert comment("a */ b") == "/** a * / b */\n"


@pytest.mark.parametrize("node", [{"not": {}}, {"type": "decimal"}, {"$ref": "http:x"}])
def test_what_is_not_known_is_refused(node: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"typescript\.py"):
        type_of(node)
