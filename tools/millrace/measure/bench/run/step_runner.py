# SPDX-License-Identifier: Apache-2.0
"""One rung: its files, a warm-up that is discarded, the repeats."""

import os
import pwd
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from millrace.measure.bench.plan.job import FioJob, Target, folder
from millrace.measure.bench.plan.sizes import Files, Sizes
from millrace.measure.bench.plan.steps import RungStep
from millrace.measure.bench.plan.workloads import UNREAD
from millrace.measure.bench.result import figures
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.result.model import Rung
from millrace.measure.bench.run import space
from millrace.measure.bench.run.local import USER, Live
from millrace.measure.bench.run.monitor import Monitor
from millrace.measure.bench.run.targets import EDGE
from millrace.system.trees import nofollow


class Measurer(Protocol):
    """Measures one repeat: `Local` on this server, others on clients."""

    def run(self, job: FioJob, live: Live | None = None) -> RepeatOutcome:
        """Measure one repeat; `live` receives what is known so far.

        Failed: it did not get to its end; Full: space ran out; RepeatStopped: the run was stopped.
        """
        ...


@dataclass
class StepRunner:
    """Runs the steps of a run, a rung each. `directory` is the benchmark's own in the pool, `results` that of the run.

    `report` is called with the number of the repeat (0: the warm-up) and what is known of it so far.
    """

    sizes: Sizes
    directory: Path
    results: Path
    monitor: Monitor
    user: str | None = USER
    laid_out: set[str] = field(default_factory=set)

    def run(
        self,
        rung: Rung,
        step: RungStep,
        target: Target,
        measurer: Measurer,
        report: Callable[[int, RepeatOutcome | None], None],
    ) -> Rung:
        """Return the rung with its result.

        Failed: there is none; Full: space ran out; RepeatStopped: the run was stopped.
        """
        job = self._job(rung, step, target)
        if not target.devices:
            for copy in range(target.copies):
                self._lay_out(job, copy, measurer)
        self.monitor.rung(target.mount)
        began = time.monotonic()
        if step.work.warmed:
            report(0, None)
            self._prepare_repeat(job)
            measurer.run(self._warm_up(job))
        repeats: list[RepeatOutcome] = []
        for number in range(1, self.sizes.repeats + 1):
            report(number, None)
            self._prepare_repeat(job)
            self.monitor.record(True)
            try:
                outcome = measurer.run(job, lambda now, number=number: report(number, now))  # type: ignore[misc]
            finally:
                self.monitor.record(False)
            repeats.append(outcome)
        raw = [
            results.keep(self.results, rung.id, number, outcome.raw) for number, outcome in enumerate(repeats, start=1)
        ]
        done = figures.completed(rung, repeats, self.monitor.moments(), time.monotonic() - began)
        return figures.with_training_figures(done.model_copy(update={"raw": raw}), self.sizes.checkpoint)

    def _job(self, rung: Rung, step: RungStep, target: Target) -> FioJob:
        files = self.sizes.files(step.work)
        if target.write_devices:
            # only of the one drive that was named: a part of it, the ends stay blank
            files = Files(1, room := self._room(target), room)
        seconds = self.sizes.seconds if step.work.timed else None
        return FioJob(step.work, target, rung.jobs, files, seconds)

    def _room(self, target: Target) -> int:
        (_, node) = target.devices[0]
        with open(node, "rb") as device:
            size = device.seek(0, os.SEEK_END)
        return min(self.sizes.budget, size - 2 * EDGE)

    def _warm_up(self, job: FioJob) -> FioJob:
        warm = self.sizes.warm if job.seconds is not None else None
        return FioJob(job.work, job.target, job.jobs, job.files, warm)

    def _lay_out(self, job: FioJob, copy: int, measurer: Measurer) -> None:
        """The files, made once and through the local file system: over a protocol they are only measured."""
        name = folder(job.work, copy)
        if name in self.laid_out:
            return
        # clients have the directory mounted meanwhile: they may put a link there
        with nofollow.directory(self.directory) as home:
            nofollow.make_directory(name, 0o700, home, self._owner)
        if job.work.layout not in UNREAD and job.work.operation != "save":
            local = Target(directory=self.directory, copy=copy)
            measurer.run(FioJob(job.work, local, self._most_jobs(job), job.files, None, create_only=True))
            self.laid_out.add(name)

    def _most_jobs(self, job: FioJob) -> int:
        """Workloads with fewer jobs use some of the files of those with more."""
        return max(job.jobs, self.sizes.jobs) if job.work.layout == "common" else job.jobs

    def _prepare_repeat(self, job: FioJob) -> None:
        """As each repeat must find it: files that are to be made are not there, what is read is in no cache."""
        if not job.target.devices:
            with nofollow.directory(self.directory) as home:
                for copy in range(job.target.copies):
                    self._prepare_files(home, folder(job.work, copy), job)

    def _prepare_files(self, home: int, name: str, job: FioJob) -> None:
        if job.work.operation == "create":
            shutil.rmtree(name, dir_fd=home)
            nofollow.make_directory(name, 0o700, home, self._owner)
            return
        with nofollow.directory(name, home) as where:
            if job.work.operation in ("delete", "stat"):
                for number in range(job.jobs):
                    for index in range(job.files.per_job):
                        nofollow.make_file(f"f.{number}.{index}", job.files.most, where, self._owner)
            elif job.work.operation == "save":
                for file in os.listdir(where):
                    if file.startswith("f."):
                        os.unlink(file, dir_fd=where)
            else:
                space.drop_cached(where)

    @property
    def _owner(self) -> tuple[int, int] | None:
        if self.user is None:
            return None
        who = pwd.getpwnam(self.user)
        return who.pw_uid, who.pw_gid
