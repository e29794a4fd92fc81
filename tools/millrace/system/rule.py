# SPDX-License-Identifier: Apache-2.0
"""Rules for text, as patterns with one sentence each: models check with them, and the pages' rules are made from them.

A pattern is read by Python's re and by a browser's RegExp alike (host/rules.py lists the differences). What no pattern
can express, such as the bits of an address, is checked where the rule is used; a page requests a dry run for it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from millrace.system.text import shown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

# The key in a JSON Schema under which a type says its checks.
CHECKS = "checks"

# As str.isprintable has it: re has no classes of Unicode.
PRINTABLE = r"(?:[^\p{C}\p{Z}]| )*"


@dataclass(frozen=True)
class Check:
    """The pattern of all that passes, and a sentence: $0 stands for the text, $1 for the number of its characters."""

    pattern: str
    sentence: str

    def passes(self, text: str) -> bool:
        """Whether all of the text matches."""
        return text.isprintable() if self.pattern == PRINTABLE else _compiled(self.pattern).fullmatch(text) is not None

    def sentence_for(self, text: str) -> str:
        """Return the sentence about this text."""
        return self.sentence.replace("$1", str(len(text))).replace("$0", shown(text))


class Rule:
    """Checks in their order: an annotation for pydantic, and a function that returns the text or raises ValueError.

    `then` is given what passed and returns the text in its normal form; it may refuse what no pattern can.
    """

    def __init__(self, *checks: Check, then: Callable[[str], str] = str) -> None:
        self.checks = checks
        self._then = then

    def __call__(self, text: str) -> str:
        """Return the text, in its normal form. ValueError: a check refuses it."""
        problem = self.problem(text)
        if problem is not None:
            raise ValueError(problem)
        return self._then(text)

    def problem(self, text: str) -> str | None:
        """Return the sentence of the first check that the text does not pass; None if it passes all."""
        failed = next((one for one in self.checks if not one.passes(text)), None)
        return failed.sentence_for(text) if failed else None

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> Mapping[str, Any]:
        return {**handler(schema), CHECKS: [[one.pattern, one.sentence] for one in self.checks]}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A dot is any character, as in the pages; compiled at the first use, which most command lines never come to.
    return re.compile(pattern, re.DOTALL)
