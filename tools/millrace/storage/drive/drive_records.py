# SPDX-License-Identifier: Apache-2.0
"""Records of drives that outlive a boot and are worth less than what the drives report now."""

import sys
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError

Model = TypeVar("Model", bound=BaseModel)


def load(path: Path, empty: Model) -> Model:
    """Return the document; `empty` where it is missing or cannot be parsed: it begins again then."""
    try:
        return read_model(path, type(empty))
    except MillraceError:
        return empty


def save(path: Path, model: BaseModel) -> None:
    """Write the document, or warn on stderr: a boot drive that is full must not hide what the drives report now."""
    try:
        write_model(path, model)
    except OSError as error:
        print(f"millrace: warning: {path} cannot be written: {error.strerror}", file=sys.stderr)
