# SPDX-License-Identifier: Apache-2.0
"""How far the adoption of this boot is. It is in memory alone: an adoption that goes on does all of its steps again."""

from contextlib import suppress
from typing import get_args

from millrace.lifecycle.adopt.model import AdoptionProgress, AdoptionStep
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput

STEPS: tuple[AdoptionStep, ...] = get_args(AdoptionStep)


def record(step: AdoptionStep) -> None:
    """Record that a step begins. An adoption never fails because nobody can see how far it is."""
    done = STEPS.index(step)
    with suppress(OSError):
        write_model(paths.adoption_progress_file(), AdoptionProgress(step=step, done=done, total=len(STEPS)))


def recorded() -> AdoptionProgress | None:
    """Return the step that is under way; None where none was recorded."""
    try:
        return read_model(paths.adoption_progress_file(), AdoptionProgress)
    except (BadInput, OSError):
        return None


def forget() -> None:
    """Remove the record: the adoption is over, or begins."""
    paths.adoption_progress_file().unlink(missing_ok=True)
