# SPDX-License-Identifier: Apache-2.0
"""One repeat of one workload, on this server: fio's job file, fio itself, and what it said.

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

from millrace.bench.plan.sizes import Files
from millrace.bench.plan.workloads import Work
from millrace.bench.result import fio_output
from millrace.bench.result.fio_output import Document, Outcome, Stream
from millrace.bench.result.model import Direction
from millrace.errors import Failed

USER = "millrace-bench"
OWN = "millrace"
"""The engine of what fio cannot do."""
PERCENTILES = "50:95:99:99.9"
CREATED: dict[str, Direction] = {"filecreate": "create", "filestat": "stat", "filedelete": "delete"}
GRACE = 5.0
"""Seconds that fio gets to write its report after it was told to end."""

Live = Callable[[Outcome], None]


class Stopped(Failed):
    """The repeat was ended before its time."""


@dataclass(frozen=True)
class Spot:
    """Where a rung stands: a directory, or block devices with their names. `mount` is the mount point of a protocol.

    Each of `copies` clients has files of its own; `copy` is the number of the one whose they are.
    """

    directory: Path | None = None
    copies: int = 1
    copy: int = 0
    devices: tuple[tuple[str, str], ...] = ()
    mount: str | None = None
    write_devices: bool = False
    offset: int = 0


@dataclass(frozen=True)
class Job:
    """All that a repeat needs to know. `seconds` is None for work of a given amount."""

    work: Work
    spot: Spot
    jobs: int
    files: Files
    seconds: float | None
    create_only: bool = False


def job_file(job: Job) -> str:
    """fio's job file: a section for all jobs on files, or a section a device, called like it."""
    work, options = job.work, dict(job.work.options)
    # libaio and the file engines are the work's; a layout is written by the plainest one
    lines = ["[global]", f"ioengine={'psync' if job.create_only else work.engine}"]
    lines += [f"{name}={value}" for name, value in options.items()]
    lines += [f"percentile_list={PERCENTILES}", "randrepeat=1", "allow_mounted_write=0"]
    if job.create_only:
        lines += ["create_only=1"]
    elif job.seconds is not None:
        lines += ["time_based=1", f"runtime={job.seconds:g}"]
    if job.spot.devices:
        size = [f"offset={job.spot.offset}", f"size={job.files.most}"] if job.spot.write_devices else []
        for name, path in job.spot.devices:
            lines += [f"[{name}]", f"filename={path}", *size]
        return "\n".join(lines) + "\n"
    files = job.files
    extent = f"{files.least}" if files.least == files.most else f"{files.least}-{files.most}"
    lines += [
        f"directory={directory_of(job)}",
        "filename_format=f.$jobnum.$filenum",
        f"numjobs={job.jobs}",
        f"nrfiles={files.per_job}",
        f"filesize={extent}",
        f"[{work.profile}]",
    ]
    return "\n".join(lines) + "\n"


def own_program(job: Job, directory: Path) -> list[str]:
    """Name and arguments of what fio cannot do."""
    if job.work.operation == "train":
        return ["au", str(directory), job.work.profile, "--seconds", f"{job.seconds or 0:g}"]
    amounts = (job.jobs, job.files.per_job, job.files.most, job.seconds or 0)
    return ["kvcache", str(directory), *map(str, amounts)]


def directory_of(job: Job) -> Path:
    assert job.spot.directory is not None
    return job.spot.directory / folder(job.work, job.spot.copy)


def folder(work: Work, copy: int) -> str:
    """What the directory of a workload's files is called."""
    return work.layout if copy == 0 else f"{work.layout}.{copy}"


@dataclass
class Local:
    """Runs fio on this server. `scratch` is its working directory, `stop` ends it early."""

    scratch: Path
    stop: Event
    user: str | None = USER
    program: str = "fio"
    isolated: bool = True
    environment: dict[str, str] = field(default_factory=lambda: {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})

    def run(self, job: Job, live: Live | None = None) -> Outcome:
        """One repeat; Failed, Full or Stopped where it did not get to its end."""
        as_direction = CREATED.get(job.work.engine)
        text, status, said = self._finished(self._argv(job), lambda found: self._tell(found, as_direction, live))
        document = fio_output.final(text, status, said) if not job.create_only else {}
        return fio_output.outcome(document, as_direction)

    def _argv(self, job: Job) -> list[str]:
        if job.work.engine == OWN and not job.create_only:
            name, *arguments = own_program(job, directory_of(job))
            isolated = ["-I"] if self.isolated else []
            return [sys.executable, *isolated, "-m", f"millrace_client.{name}", *arguments]
        path = self.scratch / "job.fio"
        path.write_text(job_file(job))
        # a second line of defence: the node of a device that is only read cannot be opened for writing
        reading = ["--readonly"] if job.spot.devices and not job.spot.write_devices else []
        return [self.program, *reading, "--status-interval=1", "--output-format=json+", str(path)]

    @staticmethod
    def _tell(found: Sequence[Document], as_direction: Direction | None, live: Live | None) -> None:
        if live is not None:
            for document in found:
                live(fio_output.outcome(document, as_direction))

    def _finished(self, argv: Sequence[str], tell: Callable[[Sequence[Document]], None]) -> tuple[str, int, str]:
        """All that fio printed, its status and its complaints; Stopped if it was told to end."""
        said_path = self.scratch / "fio.err"
        with said_path.open("w+") as said:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=self.scratch / "cwd",
                env=self.environment,
                start_new_session=True,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
            )
            try:
                assert process.stdout is not None
                text = self._read(process.stdout, tell)
                if self.stop.is_set():
                    _end(process)
                status = process.wait()
            finally:
                _end(process)
            said.seek(0)
            words = said.read()
        if self.stop.is_set():
            raise Stopped("the measurement was stopped")
        return text, status, words

    def _read(self, pipe: IO[bytes], tell: Callable[[Sequence[Document]], None]) -> str:
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
            tell(stream.feed(text))
        return "".join(pieces)


def _end(process: subprocess.Popen[bytes]) -> None:
    """fio ends its jobs, which have sessions of their own; what outlives it ends with the unit."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
