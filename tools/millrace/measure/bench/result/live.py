# SPDX-License-Identifier: Apache-2.0
"""Live progress of the active run: lines in a file of this boot, which any number of readers may follow."""

import time
from collections.abc import Callable, Iterator

from millrace.measure.bench.result.model import State
from millrace.measure.bench.result.outputs import Progress
from millrace.system import paths
from millrace.system.files import write_text

POLL = 0.5
"""Seconds between two looks."""


def begin() -> None:
    """Remove the progress of the run before."""
    write_text(paths.progress_file(), "")


def write(progress: Progress) -> None:
    """Append a line."""
    with paths.progress_file().open("a") as out:
        out.write(progress.model_dump_json() + "\n")


def latest() -> Progress | None:
    """Return the last line; None where no run was started in this boot."""
    try:
        lines = paths.progress_file().read_text().splitlines()
    except FileNotFoundError:
        return None
    return Progress.model_validate_json(lines[-1]) if lines else None


def follow(alive: Callable[[], bool], wait: Callable[[float], None] = time.sleep) -> Iterator[Progress]:
    """Yield lines as they are written, until the run has cleaned up; `alive` tells whether its unit is active.

    A run that was killed gets a last line.
    """
    place, last = 0, None
    while True:
        working = alive()
        whole = _whole_lines(place)
        place += len(whole)
        for line in whole.splitlines():
            last = Progress.model_validate_json(line)
            yield last
            if last.state is not State.RUNNING:
                while alive() and _newest_is(last.run):
                    wait(POLL)
                return
        if not working:
            if last is not None:
                yield last.model_copy(update={"state": State.INTERRUPTED, "what": "the run ended without a message"})
            return
        wait(POLL)


def _newest_is(run: str) -> bool:
    """Whether no other run has begun meanwhile."""
    newest = latest()
    return newest is not None and newest.run == run


def _whole_lines(place: int) -> bytes:
    """What was written after `place`, without a line that is still being written."""
    try:
        with paths.progress_file().open("rb") as written:
            written.seek(place)
            text = written.read()
    except FileNotFoundError:
        return b""
    return text[: text.rfind(b"\n") + 1]
