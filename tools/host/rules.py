# SPDX-License-Identifier: Apache-2.0
"""The rules of the pages' forms, in TypeScript: of the JSON Schemas of what the command line takes."""

import json
from collections.abc import Mapping
from typing import Any

from millrace.system.rule import CHECKS

HEAD = """// SPDX-License-Identifier: Apache-2.0
// What may be typed and chosen, as the program has it. Made by `tools/host/enter types`; a test fails where it drifted.
import { _ } from "../lib/i18n";
import { rule } from "../lib/rule";

"""


def text(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the whole file: a function for each text, a list for each enumeration."""
    return HEAD + "\n".join(_declaration(name, schema) for name, schema in inputs.items())


def _declaration(name: str, schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"export const {name} = [{', '.join(map(_literal, schema['enum']))}] as const;\n"
    checks = "".join(
        f"    [{_literal(_browsers(one))}, () => _({_literal(words)})],\n" for one, words in schema[CHECKS]
    )
    return f"export const {name} = rule(\n{checks});\n"


def _browsers(pattern: str) -> str:
    """The pattern as RegExp reads it with the flag u: its \\w is ASCII, Python's knows every letter and digit."""
    return pattern.replace(r"[\w", r"[\p{L}\p{N}_")


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
