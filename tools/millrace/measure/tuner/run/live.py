# SPDX-License-Identifier: Apache-2.0
"""Live progress of the run of this boot: one document, which is replaced at each change."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from millrace.measure.tuner.model import State
from millrace.measure.tuner.run.outputs import Progress
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput

POLL = 0.5
"""Seconds between two looks."""
KILLED = "the program was killed, or the power was cut"


def file() -> Path:
    """The progress of the newest run of this boot."""
    return paths.tuner_progress_file()


def write(progress: Progress) -> None:
    """Replace what is known."""
    write_model(file(), progress)


def latest() -> Progress | None:
    """Return the newest; None where no run was started in this boot."""
    try:
        return read_model(file(), Progress) if file().exists() else None
    except BadInput:
        return None


def end_interrupted() -> None:
    """End the progress of a run that was killed."""
    last = latest()
    if last is not None and last.state is State.RUNNING:
        write(last.model_copy(update={"state": State.INTERRUPTED, "what": KILLED, "seconds_left": None}))


def follow(alive: Callable[[], bool], wait: Callable[[float], None] = time.sleep) -> Iterator[Progress]:
    """Yield what is new until the run has ended and its settings are back; `alive` tells whether its unit is active."""
    shown: Progress | None = None
    working = True
    while working:
        working = alive()
        now = latest()
        if now is not None and now != shown and (now.state is State.RUNNING or not working):
            yield now
            shown = now
        if working:
            wait(POLL)
    if shown is not None and shown.state is State.RUNNING:
        yield shown.model_copy(update={"state": State.INTERRUPTED, "what": KILLED, "seconds_left": None})
