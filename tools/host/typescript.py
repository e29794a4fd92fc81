# SPDX-License-Identifier: Apache-2.0
"""TypeScript of JSON Schema, as far as pydantic writes it; what is not known is refused, never `any`.

By hand: json-schema-to-typescript lets unknown keywords pass, and the test of drift would need Node.
"""

import json
from typing import Any

from millrace.system.errors import BadInput

INDENT = "    "
PREFIX = "#/$defs/"
# Limits of a value: TypeScript has no type for them, the verb checks them.
LIMITS = {
    "checks", "default", "description", "discriminator", "exclusiveMaximum", "exclusiveMinimum", "format", "maximum",
    "maxItems", "maxLength", "minimum", "minItems", "minLength", "pattern", "title", "uniqueItems", "when",
}  # fmt: skip
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Node = dict[str, Any]


def declaration(name: str, definition: Node) -> str:
    """Return one exported type with its description. BadInput: a keyword has no TypeScript here."""
    words = comment(str(definition.get("description", "")))
    if definition.get("type") != "object" or "properties" not in definition:
        return f"{words}export type {name} = {type_of(definition)};\n"
    _refuse_unknown(definition, {"type", "properties", "required", "additionalProperties"})
    required = definition.get("required", [])
    lines = []
    for field, schema in definition["properties"].items():
        lines.append(comment(str(schema.get("description", "")), INDENT))
        lines.append(f"{INDENT}{_key(field)}{'' if field in required else '?'}: {type_of(schema)};\n")
    return f"{words}export interface {name} {{\n{''.join(lines)}}}\n"


def type_of(node: Node) -> str:
    """Return the TypeScript of a JSON Schema. BadInput: it has a type or keyword that this module does not know."""
    for keyword, made in (
        ("$ref", _reference),
        ("const", lambda schema: json.dumps(schema["const"])),
        ("enum", lambda schema: _union([json.dumps(value) for value in schema["enum"]])),
        ("anyOf", lambda schema: _union([type_of(part) for part in schema["anyOf"]])),
        ("oneOf", lambda schema: _union([type_of(part) for part in schema["oneOf"]])),
        ("prefixItems", _tuple),
    ):
        if keyword in node:
            _refuse_unknown(node, {keyword, "type", "items"} if keyword == "prefixItems" else {keyword, "type"})
            return made(node)
    kind = node.get("type")
    if kind is None:
        _refuse_unknown(node, set())
        return "unknown"
    if kind == "array":
        _refuse_unknown(node, {"type", "items"})
        inside = type_of(node.get("items", {}))
        return f"({inside})[]" if " | " in inside else f"{inside}[]"
    if kind == "object":
        _refuse_unknown(node, {"type", "additionalProperties", "propertyNames"})
        values = node.get("additionalProperties", True)
        return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"
    if kind not in PLAIN:
        raise BadInput(f"tools/host/typescript.py has no TypeScript for the JSON Schema type {kind!r}: teach it")
    _refuse_unknown(node, {"type"})
    return PLAIN[kind]


def comment(text: str, indent: str = "") -> str:
    """Return a description as JSDoc; none for no text."""
    lines = [line.rstrip() for line in text.strip().replace("*/", "* /").splitlines()]
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


def _reference(node: Node) -> str:
    name: str = node["$ref"]
    if not name.startswith(PREFIX):
        raise BadInput(f"tools/host/typescript.py cannot follow {name}: it is no definition of this schema")
    return name.removeprefix(PREFIX)


def _tuple(node: Node) -> str:
    parts = [type_of(part) for part in node["prefixItems"]]
    return f"[{', '.join(parts)}]"


def _union(parts: list[str]) -> str:
    return " | ".join(dict.fromkeys(parts))


def _key(field: str) -> str:
    return field if field.isidentifier() else json.dumps(field)


def _refuse_unknown(node: Node, known: set[str]) -> None:
    unknown = sorted(set(node) - known - LIMITS)
    if unknown:
        raise BadInput(f"tools/host/typescript.py does not know the JSON Schema keyword {unknown[0]!r}: teach it")
