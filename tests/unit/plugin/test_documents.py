# SPDX-License-Identifier: Apache-2.0
"""Documents that the tests of the pages read are documents of the verbs, field by field."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from host.layout import REPO
from millrace.cli.schema.outputs import lines, outputs
from tests.unit.cli.schema.within import within

OUTPUTS = outputs()
LINES = lines()
GOLDEN = REPO / "cockpit-plugin/test/golden"


def documents() -> list[Path]:
    """VERB-WORDS[.CASE].json, or .jsonl for a verb that prints lines."""
    return sorted(GOLDEN.glob("*.json*"))


def verb(path: Path) -> str:
    """The longest verb that the name begins with."""
    stem = path.name.partition(".")[0]
    option = " --dry-run" if ".--dry-run." in path.name else ""
    return next(one for one in OUTPUTS if one.replace(" ", "-") == stem + option.replace(" ", "-"))


def adapter(words: str) -> TypeAdapter[Any]:
    module, _, name = OUTPUTS[words].partition(":")
    return TypeAdapter(getattr(import_module(module), name))


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_a_golden_document_is_one_of_its_verb(path: Path) -> None:
    words = verb(path)
    text = path.read_text()
    texts = text.splitlines() if words in LINES else [text]
    assert texts and (path.suffix == ".jsonl") == (words in LINES)
    for one in texts:
        found = adapter(words).validate_json(one)
        assert within(json.loads(one), adapter(words).dump_python(found, mode="json"))
