# SPDX-License-Identifier: Apache-2.0
"""What a release wrote is read by every later one, and what a later one added does not stop an earlier one."""

import inspect
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from host.layout import REPO
from millrace.lifecycle.keep import kept_files
from millrace.plan.model import Plan
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import Contract, migration, read_input, read_model
from millrace.system.errors import BadInput
from tests.unit.cli.schema.within import within
from tests.unit.serve.config.documents import BESIDE, DOCUMENTS, STATE, WRITERS

RELEASED = Path(__file__).parent / "released"
KINDS: dict[str, type[BaseModel]] = {name: model for name, (_, model) in DOCUMENTS.items()}
RECORDS = sorted(RELEASED.glob("*/*.json"))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a document, the document itself first."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(one)


def test_every_kind_is_recorded() -> None:
    assert {path.name for path in RELEASED.glob("0.1.0/*.json")} == set(KINDS)


def test_every_writer_of_documents_is_known_with_what_it_writes() -> None:
    package = REPO / "tools/millrace"
    writers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(?<!def )\bwrite_model\(", path.read_text())
    }
    assert writers == set(WRITERS), "enter it in tests/unit/serve/config/documents.py, and record its document"
    assert set().union(*WRITERS.values()) | BESIDE == set(KINDS)


def test_every_document_that_paths_names_and_that_is_kept_or_left_is_known() -> None:
    named = [function() for _, function in inspect.getmembers(paths, inspect.isfunction)]
    state = {str(path.relative_to(paths.ROOT)) for path in named if isinstance(path, Path)}
    known = {path for places, _ in DOCUMENTS.values() for path in places}
    assert {path for path in state if path.startswith(STATE) and path.endswith(".json")} <= known
    patterns = {one.path for one in (*kept_files.KEPT, *kept_files.LEFT) if fnmatchcase(one.path, f"{STATE}/*.json")}
    assert [one for one in sorted(patterns) if not any(fnmatchcase(path, one) for path in known)] == []
    assert [path for path in sorted(known) if path.startswith(f"{STATE}/") and kept_files.fate(path) is None] == []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_document_has_a_schema_version(name: str) -> None:
    assert json.loads((RELEASED / "0.1.0" / name).read_text())["schema_version"] == 1
    assert "schema_version" in KINDS[name].model_fields


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_released_document_is_read(path: Path) -> None:
    """Nothing that it says is lost or changed."""
    found = json.loads(read_model(path, KINDS[path.name]).model_dump_json())
    assert within(json.loads(path.read_text()), found)


def test_an_approved_plan_keeps_its_hash() -> None:
    plan = read_model(RELEASED / "0.1.0/plan.json", Plan)
    assert plan.digest() == read_model(RELEASED / "0.1.0/pool.json", Pool).plan_sha256


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_keys_of_a_later_release_are_ignored(path: Path, tmp_path: Path) -> None:
    document = json.loads(path.read_text())
    later = tmp_path / path.name
    added = 0
    for mapping in objects(document):
        # a map of names to values has no keys of its own
        if mapping and not set(mapping) & {
            "schema_version",
            "name",
            "serial",
            "array",
            "role",
            "value",
            "uuid",
            "label",
        }:
            continue
        mapping["added_by_a_later_release"] = {"any": ["thing"]}
        added += 1
    later.write_text(json.dumps(document))
    assert added
    assert read_model(later, KINDS[path.name]) == read_model(path, KINDS[path.name])


class Room(Contract):
    """A document whose schema changed once: `width` was `size` before."""

    schema_version: Literal[2] = 2
    width: int


@migration(Room)
def _room(document: dict[str, Any]) -> dict[str, Any]:
    return {"width": document["size"]}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_schema_before_is_migrated(tmp_path: Path) -> None:
    path = written(tmp_path / "room.json", '{"schema_version": 1, "size": 7, "gone": true}')
    assert read_model(path, Room) == Room(width=7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema_version": 3, "width": 7}', "was written by a later release .schema 3, .*schema 2.*start the later"),
        ('{"schema_version": 3, "release": "0.4.0"}', "was written by release '0.4.0', a later one .schema 3, this"),
        ('{"schema_version": 0, "width": 7}', "was written by an earlier release .schema 0."),
        ('{"schema_version": 2}', "width: is missing"),
        ('{"schema_version": 2, "wid', "is not valid JSON"),
        ('{"schema_version": "two", "width": 7}', "schema_version: must be 2"),
        ("[" * 100_000, "room.json: the document"),
    ],
)
def test_a_document_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path / "room.json", text)
    with pytest.raises(BadInput, match=words) as error:
        read_model(path, Room)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_key_in_what_people_name_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "room.json", '{"schema_version": 2, "width": 7, "widht": 8}')
    with pytest.raises(BadInput, match="widht: unknown key"):
        read_input(path, Room)
