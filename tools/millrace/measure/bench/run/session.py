# SPDX-License-Identifier: Apache-2.0
"""A complete run: every rung on its target, monitored, saved after each, and all of it cleaned up at the end."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from threading import Event

from millrace import __version__
from millrace.inventory.model import DriveState
from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.prepare import PreparedRun, prepare
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.steps import RungStep, pending
from millrace.measure.bench.plan.workloads import digest
from millrace.measure.bench.report.export import METRICS, open_metrics
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.result.fio_output import Full
from millrace.measure.bench.result.model import BenchRun, BenchState, Provenance
from millrace.measure.bench.run import cleanup, space, targets
from millrace.measure.bench.run.bench_job import JOB, ORDER, BenchOrder
from millrace.measure.bench.run.environment import environment
from millrace.measure.bench.run.local import Local, RepeatStopped
from millrace.measure.bench.run.monitor import Monitor, RunWatch
from millrace.measure.bench.run.progress import ProgressReporter
from millrace.measure.bench.run.remote import target as remote
from millrace.measure.bench.run.remote.connection import Unreachable
from millrace.measure.bench.run.remote.measurer import Remote
from millrace.measure.bench.run.samples import Sampler
from millrace.measure.bench.run.step_runner import Measurer, StepRunner
from millrace.plan.labels import array_path
from millrace.storage.array.devices import array_device
from millrace.storage.array.machine import Linux
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import write_text
from millrace.system.jobs import record
from millrace.system.run import Runner, attempt

BY_USER = "stopped by the user"


def execute(run: Runner = attempt) -> BenchRun:
    """Carry out the order; return the run as it ended. Failed, Refused: it could not begin."""
    order = ORDER.read()
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with JOB.execution() as began:
            cleanup.mark_interrupted()
            ready = prepare(order.request)
            done = BenchSession(order, ready, run, stop).run_steps()
            if done.state is not BenchState.DONE:
                record.end(began, "cancelled" if done.reason == BY_USER else "failed", done.reason)
            return done
    except MillraceError as error:
        progress = ProgressReporter.without_estimate(order.run)
        progress.end(BenchState.FAILED, str(error))
        raise
    finally:
        ORDER.remove()


class BenchSession:
    """One active run."""

    def __init__(self, order: BenchOrder, ready: PreparedRun, run: Runner, stop: Event) -> None:
        self.ready, self.labels, self._run, self._stop = ready, order.labels, run, stop
        self.rungs = [pending(step, ready.sizes) for step in ready.steps]
        self.progress = ProgressReporter(order.run, ready.estimate)
        self.result = BenchRun(
            id=order.run,
            started=_now(),
            state=BenchState.RUNNING,
            request=order.request,
            labels=order.labels,
            provenance=Provenance(
                version=__version__,
                workload_hash=digest(sorted({rung.workload.sha256 for rung in self.rungs})),
                fio=attempt(["fio", "--version"]).out.strip(),
                started_by=order.by,
            ),
            environment=environment(ready.site, run),
            rungs=self.rungs,
        )

    def run_steps(self) -> BenchRun:
        """Run every step; at the end only the result remains, in any case."""
        self._save(BenchState.RUNNING)
        state, reason = BenchState.FAILED, None
        try:
            with ExitStack() as stack:
                monitor = monitor_of(self.ready.site, self._stop)
                stack.callback(monitor.close)
                state, reason = self._steps(stack, monitor)
        except (MillraceError, OSError) as error:
            reason = str(error)
        finally:
            with suppress(MillraceError, OSError):
                space.remove(self.ready.site.mountpoint, self._run)
            self._save(state, reason, ended=True)
            write_text(results.home() / METRICS, open_metrics(self.result))
            self.progress.end(state, reason)
        return self.result

    def _steps(self, stack: ExitStack, monitor: Monitor) -> tuple[BenchState, str | None]:
        site = self.ready.site
        nodes = stack.enter_context(targets.device_nodes(self._run))
        directory = space.make(site.mountpoint, self.ready.estimate.space, self._run)
        stack.callback(space.remove, site.mountpoint, self._run)
        runner = StepRunner(self.ready.sizes, directory, results.directory(self.result.id), monitor)
        local = Local(working_directory(), self._stop)
        monitor.start()
        numbered = [(number, step) for number, step in enumerate(self.ready.steps) if not step.skipped]
        # a protocol is mounted once for all its rungs, device nodes are made for each
        for (_, name, _), group in groupby(numbered, key=lambda pair: _target_of(*pair)):
            steps = list(group)
            try:
                with self._target(steps[0][1], directory, nodes, local) as (target, measurer):
                    for number, step in steps:
                        self._run_step(number, step, target, runner, measurer)
            except RepeatStopped:
                return BenchState.STOPPED, monitor.reason or BY_USER
            except Full as error:
                return BenchState.STOPPED, str(error)
            except (Failed, Unreachable, OSError) as error:
                self._give_up([number for number, _ in steps], f"{name}: {error}")
            self._save(BenchState.RUNNING)
        failed = [rung for rung in self.rungs if rung.state is BenchState.FAILED]
        if failed and not any(rung.state is BenchState.DONE for rung in self.rungs):
            return BenchState.FAILED, failed[0].reason
        return BenchState.DONE, f"{len(failed)} of {len(numbered)} workloads failed" if failed else None

    @contextmanager
    def _target(self, step: RungStep, directory: Path, nodes: Path, local: Local) -> Iterator[tuple[Target, Measurer]]:
        """The target of a step, and who measures there."""
        if step.layer is not BenchLayer.L3:
            with targets.opened(step, directory, nodes, self._run) as target:
                yield target, local
            return
        chosen = self.ready.site.clients
        with remote.opened(step.target, directory, chosen, self._stop, self._run) as (target, connections):
            yield target, Remote(local, connections)

    def _run_step(self, number: int, step: RungStep, target: Target, runner: StepRunner, measurer: Measurer) -> None:
        if target.write_devices:
            self._still_blank(step)
        self.rungs[number] = self.rungs[number].model_copy(update={"state": BenchState.RUNNING})
        self.progress.begin(number, step.id)
        try:
            self.rungs[number] = runner.run(self.rungs[number], step, target, measurer, self.progress.repeat)
        except (RepeatStopped, Full):
            self.rungs[number] = self.rungs[number].model_copy(update={"state": BenchState.STOPPED})
            raise
        except (Failed, OSError) as error:
            self._give_up([number], str(error))
        self._save(BenchState.RUNNING)
        self.progress.finished(self.rungs[number])

    def _still_blank(self, step: RungStep) -> None:
        """Right before the first write: every probe once more."""
        states = {one.serial: one.state for one in Linux().scan().drives}
        for serial in step.names:
            if states.get(serial) is not DriveState.BLANK:
                raise Refused(f"drive {serial} is no longer blank and is not written")

    def _give_up(self, numbers: list[int], why: str) -> None:
        for number in numbers:
            if self.rungs[number].state in (BenchState.PENDING, BenchState.RUNNING):
                self.rungs[number] = self.rungs[number].model_copy(update={"state": BenchState.FAILED, "reason": why})

    def _save(self, state: BenchState, reason: str | None = None, ended: bool = False) -> None:
        site = self.ready.site
        rungs = with_ceilings(self.rungs, site.inventory, site.arrays, "degraded" in self.labels)
        update = {"state": state, "reason": reason, "rungs": rungs, "ended": _now() if ended else None}
        self.result = self.result.model_copy(update=update)
        results.save(self.result)


def _target_of(number: int, step: RungStep) -> tuple[BenchLayer, str, int]:
    return step.layer, step.target, number if step.devices else -1


def monitor_of(site: Site, stop: Event) -> Monitor:
    """Return the monitor of a run on this server, which is not started yet."""
    watch = watch_of(site)
    by_path = {array_path(title): device for device, title in watch.arrays}
    drives = [one.name for one in site.data]
    array = drives[0] if site.pool.backend == "external" and drives else by_path.get(site.device)
    return Monitor(Sampler(drives, array), watch, stop)


def watch_of(site: Site) -> RunWatch:
    """Return what compares the drives and arrays of this server with those of now."""
    arrays = [(device, one.array.name) for one in site.pool.arrays if (device := array_device(one.array.name))]
    return RunWatch([(one.name, one.serial) for one in [*site.data, *site.log]], arrays)


def working_directory() -> Path:
    """Make fio's working directory, which it must be able to enter and not to write; return the one it is in."""
    where = targets.scratch()
    shutil.rmtree(where / "cwd", ignore_errors=True)
    (where / "cwd").mkdir(parents=True)
    return where


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
