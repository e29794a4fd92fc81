# SPDX-License-Identifier: Apache-2.0
"""One repeat of one workload, on this server: fio itself, and what it reported.

fio runs as a user of its own that can read block devices but not write them, and write one directory of the pool.
"""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import IO

from millrace.measure.bench.plan.job import OWN, FioJob, directory_of, job_file, own_program
from millrace.measure.bench.result import fio_output
from millrace.measure.bench.result.fio_output import Document, RepeatOutcome, Stream
from millrace.measure.bench.result.model import Direction
from millrace.system.errors import Failed
from millrace.system.files import write_text

USER = "millrace-bench"
CREATED: dict[str, Direction] = {"filecreate": "create", "filestat": "stat", "filedelete": "delete"}
GRACE = 5.0
"""Seconds that fio gets to write its report after SIGTERM."""

Live = Callable[[RepeatOutcome], None]


class RepeatStopped(Failed):
    """The repeat was stopped before its end."""


@dataclass
class Local:
    """Runs fio on this server. `scratch` is its working directory, `stop` ends it early."""

    scratch: Path
    stop: Event
    user: str | None = USER
    program: str = "fio"
    isolated: bool = True
    environment: dict[str, str] = field(default_factory=lambda: {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})

    def run(self, job: FioJob, live: Live | None = None) -> RepeatOutcome:
        """Measure one repeat with fio.

        Failed: it did not get to its end; Full: space ran out; RepeatStopped: the run was stopped.
        """
        as_direction = CREATED.get(job.work.engine)
        text, status, errors = self._run_to_end(
            self._argv(job), lambda documents: self._report(documents, as_direction, live)
        )
        document = fio_output.final(text, status, errors) if not job.create_only else {}
        return fio_output.outcome(document, as_direction)

    def _argv(self, job: FioJob) -> list[str]:
        if job.work.engine == OWN and not job.create_only:
            name, *arguments = own_program(job, directory_of(job))
            isolated = ["-I"] if self.isolated else []
            return [sys.executable, *isolated, "-m", f"millrace_client.{name}", *arguments]
        path = self.scratch / "job.fio"
        write_text(path, job_file(job))
        # a second line of defence: the node of a device that is only read cannot be opened for writing
        reading = ["--readonly"] if job.target.devices and not job.target.write_devices else []
        return [self.program, *reading, "--status-interval=1", "--output-format=json+", str(path)]

    @staticmethod
    def _report(documents: Sequence[Document], as_direction: Direction | None, live: Live | None) -> None:
        if live is not None:
            for document in documents:
                live(fio_output.outcome(document, as_direction))

    def _run_to_end(self, argv: Sequence[str], receive: Callable[[Sequence[Document]], None]) -> tuple[str, int, str]:
        """Return fio's output, its status and its errors. RepeatStopped: the run was stopped."""
        errors_path = self.scratch / "fio.err"
        with errors_path.open("w+") as errors:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.scratch / "cwd",
                env=self.environment,
                start_new_session=True,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
            )
            try:
                assert process.stdout is not None
                text = self._read(process.stdout, receive)
                if self.stop.is_set():
                    _terminate(process)
                status = process.wait()
            finally:
                _terminate(process)
            errors.seek(0)
            complaint = errors.read()
        if self.stop.is_set():
            raise RepeatStopped("the measurement was stopped")
        return text, status, complaint

    def _read(self, pipe: IO[bytes], receive: Callable[[Sequence[Document]], None]) -> str:
        stream, pieces = Stream(), []
        while not self.stop.is_set():
            ready, _, _ = select.select([pipe], [], [], 0.2)
            if not ready:
                continue
            piece = os.read(pipe.fileno(), 1 << 16)
            if not piece:
                break
            text = piece.decode("utf-8", "replace")
            pieces.append(text)
            receive(stream.feed(text))
        return "".join(pieces)


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """fio ends its jobs, which have sessions of their own; what outlives it ends with the unit."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
