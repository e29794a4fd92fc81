# SPDX-License-Identifier: Apache-2.0
"""The record of what was rendered last: an edit by hand differs from it and is never silently lost."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.files import write_text

# In the place of a sha256 where no file may be, too.
ABSENT = "absent"


class Rendered(Contract):
    """`files`: the sha256 of what may be in each file: of one text, or of two while it is written and reloaded.

    `quotas`: what is set on each tree, throughout.
    """

    schema_version: Literal[1] = 1
    files: dict[str, list[str]] = Field(default_factory=dict)
    quotas: dict[str, str] = Field(default_factory=dict)


def record_file() -> Path:
    """The record of what was rendered."""
    return paths.state_dir() / "rendered.json"


def aside_dir() -> Path:
    """The directory of edits by hand that a rendering replaced."""
    return paths.state_dir() / "replaced"


def load() -> Rendered:
    """Return the record; an empty one where it is missing or damaged: only the detection of edits depends on it."""
    try:
        return read_model(record_file(), Rendered)
    except (BadInput, UnicodeDecodeError):
        return Rendered()


def edited() -> list[str]:
    """Return the names of rendered files that were changed or deleted by hand."""
    return [name for name, known in load().files.items() if (digest(content(name)) or ABSENT) not in known]


def is_ours(name: str) -> bool:
    """Whether a file was rendered here."""
    return name in load().files


def set_quotas(states: Mapping[str, str]) -> None:
    """Record the quotas that are set on complete trees; `states` are `PROJECT LIMITS` by tree."""
    record = load()
    write_model(record_file(), record.model_copy(update={"quotas": {**record.quotas, **states}}))


def forget_quota(tree: str) -> None:
    """Record no quota of a tree any more."""
    record = load()
    if tree in record.quotas:
        left = {name: state for name, state in record.quotas.items() if name != tree}
        write_model(record_file(), record.model_copy(update={"quotas": left}))


def save(record: Rendered, files: Mapping[str, list[str]]) -> Rendered:
    """Return the record with other files; write it where it differs."""
    if record.files == files:
        return record
    made = record.model_copy(update={"files": dict(files)})
    write_model(record_file(), made)
    return made


def content(name: str) -> bytes | None:
    """Return the content of a file; None where there is none."""
    path = paths.ROOT / name
    return path.read_bytes() if path.is_file() else None


def digest(found: bytes | None) -> str | None:
    """Return the sha256 by which the record knows a content."""
    return None if found is None else hashlib.sha256(found).hexdigest()


def keep_aside(name: str, found: bytes) -> None:
    """Keep a copy of an edit by hand that is about to be replaced."""
    stem = f"{Path(name).name}.{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    # files of one name in two directories are replaced within a second
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    target = next(path for path in map(aside_dir().joinpath, names) if not path.exists())
    write_text(target, found.decode(errors="replace"), mode=0o600)
