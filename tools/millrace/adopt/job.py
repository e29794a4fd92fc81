# SPDX-License-Identifier: Apache-2.0
"""The adoption as a job of the server: it goes on when the page that began it is closed."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from millrace import paths
from millrace.adopt import journal
from millrace.adopt.model import Adopted, Adoption, Found, FoundHere
from millrace.system.documents import read_model, write_model
from millrace.system.run import Runner, must
from millrace.system.units import is_working

UNIT = "millrace-adopt.service"

Model = TypeVar("Model", bound=BaseModel)


def state(run: Runner) -> FoundHere:
    """Return what the search of this boot found, and how far its adoption is. Needs no privileges; no drive is read.

    BadInput: one of the records cannot be read.
    """
    adoption = journal.under_way()
    return FoundHere(
        found=_read(paths.found_file(), Found),
        adoption=adoption,
        running=adoption is not None and is_working(UNIT, run),
        adopted=_read(paths.adopted_file(), Adopted),
    )


def start(adoption: Adoption, run: Runner) -> None:
    """Let millrace-adopt.service finish an adoption that was begun, and do not wait. Failed: it cannot be started."""
    if adoption.problem is not None:
        write_model(paths.adoption_file(), adoption.model_copy(update={"problem": None}))
    must(run, ["systemctl", "start", "--no-block", UNIT])


def _read(path: Path, kind: type[Model]) -> Model | None:
    return read_model(path, kind) if path.exists() else None
