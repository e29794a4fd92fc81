# SPDX-License-Identifier: Apache-2.0
"""How far the adoption of this boot is. It is in memory alone: an adoption that goes on does all of its steps again."""

from contextlib import suppress
from typing import get_args

from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.model import AdoptionProgress, AdoptionStep
from millrace.system.jobs.job import Document

STEPS: tuple[AdoptionStep, ...] = get_args(AdoptionStep)
PROGRESS = Document(adopt_paths.progress_file, AdoptionProgress)


def record(step: AdoptionStep) -> None:
    """Record that a step begins. An adoption never fails because nobody can see how far it is."""
    done = STEPS.index(step)
    with suppress(OSError):
        PROGRESS.write(AdoptionProgress(step=step, done=done, total=len(STEPS)))
