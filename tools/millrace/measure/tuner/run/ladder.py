# SPDX-License-Identifier: Apache-2.0
"""The goals of a run as short jobs of the benchmark's ladder: files are laid out once, places stay open.

Only SMB is opened for each reading: a connection keeps the credits that it was made with. Its smbd serves nothing else
and ends with the reading, so nothing of its settings is left behind.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event

from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.steps import RungStep, pending
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.run import space, targets
from millrace.measure.bench.run.local import Local
from millrace.measure.bench.run.monitor import Monitor
from millrace.measure.bench.run.remote import target as remote
from millrace.measure.bench.run.remote.measurer import Remote
from millrace.measure.bench.run.session import working_directory
from millrace.measure.bench.run.step_runner import Measurer, StepRunner
from millrace.measure.tuner.model import Figures, Goal
from millrace.measure.tuner.run.plan import PreparedSearch
from millrace.measure.tuner.search.goals import GOALS
from millrace.plan.defaults import SmbdSettings
from millrace.system.errors import Failed
from millrace.system.run import Runner


@dataclass(frozen=True)
class Ladder:
    """The steps of all goals at their open places; `open_smb` opens that of a step over SMB."""

    ready: PreparedSearch
    runner: StepRunner
    places: dict[tuple[BenchLayer, str], tuple[Target, Measurer]]
    open_smb: Callable[[RungStep, SmbdSettings], AbstractContextManager[tuple[Target, Measurer]]]

    @property
    def remote(self) -> bool:
        """Whether clients drive the load: one that disappears ends the run."""
        return bool(self.ready.site.clients)

    def figures(self, begins: Callable[[Goal], None], smbd: SmbdSettings) -> Figures:
        """Measure every goal of the ladder once, over SMB with the settings `smbd`; `begins` is called before each.

        Failed: one was not measured; Full: space ran out; RepeatStopped: the run was stopped.
        """
        by_goal: Figures = {}
        with ExitStack() as stack:
            places = dict(self.places)
            for goal, step in zip(self.ready.measured, self.ready.steps, strict=True):
                begins(goal)
                if (step.layer, step.target) not in places:
                    places[step.layer, step.target] = stack.enter_context(self.open_smb(step, smbd))
                by_goal[goal.name] = self._measured(goal, step, *places[step.layer, step.target])
        return by_goal

    def _measured(self, goal: Goal, step: RungStep, target: Target, measurer: Measurer) -> float:
        rung = self.runner.run(pending(step, self.ready.sizes), step, target, measurer, _silent)
        kind = GOALS[goal.name]
        series = rung.find(kind.quantity, kind.direction)
        if series is None or series.median <= 0:
            raise Failed(f"{step.id} has no result")
        return series.median


@contextmanager
def opened(ready: PreparedSearch, monitor: Monitor, stop: Event, run: Runner) -> Iterator[Ladder]:
    """Open the places of all goals. Failed: one cannot be mounted or a client does not answer; Refused as well."""
    with ExitStack() as stack:
        directory = space.make(ready.site.mountpoint, ready.space, run)
        stack.callback(space.remove, ready.site.mountpoint, run)
        local = Local(working_directory(), stop)
        places: dict[tuple[BenchLayer, str], tuple[Target, Measurer]] = {}

        @contextmanager
        def smb(step: RungStep, smbd: SmbdSettings) -> Iterator[tuple[Target, Measurer]]:
            with targets.opened(step, directory, directory, run, smbd) as target:
                yield target, local

        for step in _one_of_each(ready.steps):
            if step.layer is BenchLayer.L3:
                way = remote.opened(step.target, directory, ready.site.clients, stop, run)
                target, connections = stack.enter_context(way)
                places[step.layer, step.target] = target, Remote(local, connections)
            elif step.target != "smb":
                target = stack.enter_context(targets.opened(step, directory, directory, run))
                places[step.layer, step.target] = target, local
        # fio's own reports are not kept: there are hundreds
        raw = targets.scratch() / "tuner"
        yield Ladder(ready, StepRunner(ready.sizes, directory, raw, monitor), places, smb)


def _one_of_each(steps: Sequence[RungStep]) -> list[RungStep]:
    return list({(one.layer, one.target): one for one in steps}.values())


def _silent(number: int, outcome: RepeatOutcome | None) -> None:
    """The progress of a run counts readings and tests."""
