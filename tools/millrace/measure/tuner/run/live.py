# SPDX-License-Identifier: Apache-2.0
"""Live progress of the run of this boot: one document, which is replaced at each change."""

from pathlib import Path

from millrace.measure.tuner.model import TunerState
from millrace.measure.tuner.run.outputs import TunerProgress
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.jobs import job_paths
from millrace.system.jobs.job import KILLED


def file() -> Path:
    """The progress of the newest run of this boot."""
    return job_paths.tuner_progress_file()


def write(progress: TunerProgress) -> None:
    """Replace what is known."""
    write_model(file(), progress)


def latest() -> TunerProgress | None:
    """Return the newest; None where no run was started in this boot."""
    try:
        return read_model(file(), TunerProgress) if file().exists() else None
    except BadInput:
        return None


def end_interrupted() -> None:
    """End the progress of a run that was killed."""
    last = latest()
    if last is not None and last.state is TunerState.RUNNING:
        write(last.model_copy(update={"state": TunerState.INTERRUPTED, "what": KILLED, "seconds_left": None}))
