# SPDX-License-Identifier: Apache-2.0
"""Live progress of the active run: lines in a file of this boot, which any number of readers follow."""

import os

from millrace.measure.bench.result.outputs import BenchProgress
from millrace.system.files import write_text
from millrace.system.jobs import job_paths


def begin() -> None:
    """Remove the progress of the run before."""
    write_text(job_paths.bench_progress_file(), "")


def write(progress: BenchProgress) -> None:
    """Append a line."""
    with job_paths.bench_progress_file().open("a") as out:
        out.write(progress.model_dump_json() + "\n")


def latest() -> BenchProgress | None:
    """Return the last line; None where no run was started in this boot."""
    lines = Lines().new()
    return lines[-1] if lines else None


class Lines:
    """What one reader has not read yet."""

    def __init__(self) -> None:
        self._file, self._place = 0, 0

    def new(self) -> list[BenchProgress] | None:
        """Return the complete lines that were written since the last call; None where there is none.

        Those of a run that began meanwhile come alone.
        """
        try:
            with job_paths.bench_progress_file().open("rb") as written:
                if (file := os.fstat(written.fileno()).st_ino) != self._file:
                    self._file, self._place = file, 0
                written.seek(self._place)
                text = written.read()
        except FileNotFoundError:
            return None
        whole = text[: text.rfind(b"\n") + 1]
        self._place += len(whole)
        return [BenchProgress.model_validate_json(line) for line in whole.splitlines()] or None
