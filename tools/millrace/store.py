# SPDX-License-Identifier: Apache-2.0
"""JSON files that are whole or absent, never torn."""

import os
import tempfile
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from millrace.errors import BadInput

Model = TypeVar("Model", bound=BaseModel)


def write_text(path: Path, text: str, mode: int = 0o644) -> bool:
    """Write `text` to `path` atomically and durably; False if it already said so.

    The directory is synced too: after a power cut the old or the new file is there.
    """
    if path.is_file() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return True


def write_model(path: Path, model: BaseModel, mode: int = 0o644) -> bool:
    """Write a contract as indented JSON; False if nothing changed."""
    return write_text(path, model.model_dump_json(indent=2) + "\n", mode)


def read_model(path: Path, kind: type[Model]) -> Model:
    """Read a contract; BadInput names the file and the first key that is wrong."""
    try:
        return kind.model_validate_json(path.read_text())
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: the document: this is not text") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the document"
        raise BadInput(f"{path}: {key}: {first['msg']}") from error
