# SPDX-License-Identifier: Apache-2.0
"""What was rendered last, so that an edit by hand is told from an old rendering and is never silently lost."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace import paths
from millrace.errors import BadInput
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.files import write_text


class Rendered(Contract):
    """`files`: the sha256 of what may stand in each file. `quotas`: what is set on each tree, throughout."""

    schema_version: Literal[1] = 1
    files: dict[str, list[str]] = Field(default_factory=dict)
    quotas: dict[str, str] = Field(default_factory=dict)


def record_file() -> Path:
    """The record of what was rendered."""
    return paths.state_dir() / "rendered.json"


def aside_dir() -> Path:
    """Where edits by hand are kept that a rendering replaced."""
    return paths.state_dir() / "replaced"


def load() -> Rendered:
    """The record; an empty one where there is none or it is damaged, as nothing depends on it but drift."""
    try:
        return read_model(record_file(), Rendered)
    except (BadInput, UnicodeDecodeError):
        return Rendered()


def edited() -> list[str]:
    """Names of rendered files that somebody changed or deleted by hand."""
    return [name for name, known in load().files.items() if _digest(name) not in known]


def is_edited(name: str) -> bool:
    """Whether a file was rendered before and is something else now. A deleted one holds nothing that could be lost."""
    known = load().files.get(name, [])
    found = _digest(name)
    return bool(known) and found is not None and found not in known


def put(name: str, text: str) -> bool:
    """Write a rendered file; whether it changed. An edit by hand in the way is kept aside."""
    path = paths.ROOT / name
    wanted = hashlib.sha256(text.encode()).hexdigest()
    found = _digest(name)
    if found == wanted:
        _record(name, [wanted])
        return False
    if found is not None and is_edited(name):
        _keep_aside(path)
    # Ahead of the write: a kill in between must not make our own text look like an edit.
    _record(name, [wanted] if found is None else [found, wanted])
    write_text(path, text)
    _record(name, [wanted])
    return True


def remove(name: str) -> None:
    """Delete a rendered file where it is; an edit by hand is kept aside."""
    path = paths.ROOT / name
    if is_edited(name):
        _keep_aside(path)
    path.unlink(missing_ok=True)
    record = load()
    if name in record.files:
        files = {other: digests for other, digests in record.files.items() if other != name}
        write_model(record_file(), record.model_copy(update={"files": files}))


def is_ours(name: str) -> bool:
    """Whether a file was rendered here."""
    return name in load().files


def set_quotas(states: Mapping[str, str]) -> None:
    """Remember the quotas that are set on whole trees."""
    record = load()
    write_model(record_file(), record.model_copy(update={"quotas": {**record.quotas, **states}}))


def _record(name: str, digests: list[str]) -> None:
    record = load()
    if record.files.get(name) != digests:
        write_model(record_file(), record.model_copy(update={"files": {**record.files, name: digests}}))


def _digest(name: str) -> str | None:
    path = paths.ROOT / name
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _keep_aside(path: Path) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    write_text(aside_dir() / f"{path.name}.{stamp}", path.read_text(errors="replace"), mode=0o600)
