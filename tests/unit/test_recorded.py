# SPDX-License-Identifier: Apache-2.0
"""tests/recorded.toml says of every document of the tests who makes it, or when and how it was recorded."""

import datetime
import tomllib
from pathlib import Path
from typing import Any

import pytest

from host.layout import REPO

KINDS = {"made": set(), "compared": set(), "composed": {"on", "how"}, "recorded": {"on", "how"}}
DIRECTORIES = ("golden", "samples", "released")
LISTED = tomllib.loads((REPO / "tests/recorded.toml").read_text())
ENTRIES = [(kind, entry) for kind, entries in LISTED.items() for entry in entries]


def documents() -> set[Path]:
    """What lies in a directory of documents, and documents beside the tests themselves."""
    tops = [REPO / "tests/unit", REPO / "cockpit-plugin/test"]
    found = [path for top in tops for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    kept = [path for path in found if set(DIRECTORIES) & set(path.parent.relative_to(REPO).parts)]
    beside = [path for path in (REPO / "tests/unit").glob("*/**/*") if path.suffix in (".json", ".txt", ".toml")]
    return {path for path in (*kept, *beside) if not path.name.startswith("README")}


@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=[entry["files"] for _, entry in ENTRIES])
def test_entry_names_documents_and_who_reads_or_makes_them(kind: str, entry: dict[str, Any]) -> None:
    assert entry.keys() == {"files", "by"} | KINDS[kind]
    assert list(REPO.glob(entry["files"]))
    directory = Path(entry["files"].replace("/*", "")).name.partition(".")[0]
    by = REPO / entry["by"]
    assert any(directory in path.read_text() for path in ([by] if by.is_file() else by.glob("*.py")))
    assert kind not in ("composed", "recorded") or (isinstance(entry["on"], datetime.date) and entry["how"])


def test_every_document_is_listed() -> None:
    listed = {path for _, entry in ENTRIES for path in REPO.glob(entry["files"])}
    assert len(documents()) > 150
    assert sorted(str(path.relative_to(REPO)) for path in documents() - listed) == []
