# SPDX-License-Identifier: Apache-2.0
"""A complete run: every reading on settings that are journalled first, and all of them put back at the end."""

import platform
import signal
import socket
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

from millrace import __version__
from millrace.measure.bench.result.fio_output import Full
from millrace.measure.bench.run import bench_job, space
from millrace.measure.bench.run import cleanup as bench_cleanup
from millrace.measure.bench.run.environment import environment
from millrace.measure.bench.run.local import RepeatStopped
from millrace.measure.bench.run.monitor import Monitor
from millrace.measure.bench.run.session import monitor_of
from millrace.measure.tuner.model import (
    Combination,
    Effect,
    Figures,
    Goal,
    MeasuredCombination,
    Phase,
    ScoredReading,
    TunerOutcome,
    TunerRun,
    TunerState,
    Versions,
)
from millrace.measure.tuner.run import guard, ladder, live, rebuild, restore, store
from millrace.measure.tuner.run.ladder import Ladder
from millrace.measure.tuner.run.outputs import TunerProgress
from millrace.measure.tuner.run.plan import PreparedSearch, prepare
from millrace.measure.tuner.run.tuner_job import JOB, ORDER, TunerOrder
from millrace.measure.tuner.run.tuner_journal import TunerJournal
from millrace.measure.tuner.search.goals import REBUILD
from millrace.measure.tuner.search.tune import tune
from millrace.plan.defaults import SmbdSettings
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.jobs import record
from millrace.system.run import Runner, attempt
from millrace.tune.originals import tune_lock
from millrace.tune.tuner_hold import held

BY_USER = "stopped by the user"


def execute(run: Runner = attempt) -> TunerRun:
    """Carry out the order; return the run as it ended. Failed, Refused, BadInput: it could not begin."""
    order = ORDER.read()
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        # whose clean-up would remove the files of this run
        with JOB.execution() as began, bench_job.JOB.alone():
            restore.put_back(run)
            store.mark_interrupted()
            bench_cleanup.mark_interrupted()
            ready = prepare(order.request, run)
            ready.check_budget()
            for sentence in guard.obstacles(ready.bench, ready.site, run, own=True):
                raise Refused(sentence)
            done = TunerSession(order, ready, run, stop).run_all()
            if done.state is not TunerState.DONE:
                record.end(began, "cancelled" if done.reason == BY_USER else "failed", done.reason)
            return done
    except MillraceError as error:
        last = TunerProgress(run=order.run, time=time.time(), state=TunerState.FAILED, what=str(error))
        live.write(last)
        raise
    finally:
        ORDER.remove()


class TunerSession:
    """One active run. It takes what the search finds, so that a run that is interrupted shows it."""

    def __init__(self, order: TunerOrder, ready: PreparedSearch, run: Runner, stop: Event) -> None:
        self.ready, self._run, self._stop = ready, run, stop
        self._began = time.monotonic()
        self._journal = TunerJournal(order.run)
        self._monitor: Monitor = monitor_of(ready.site, stop)
        self._ladder: Ladder | None = None
        self._measuring: tuple[Combination, Phase] | None = None
        self.result = TunerRun(
            id=order.run,
            started=_now(),
            state=TunerState.RUNNING,
            host=socket.gethostname(),
            versions=Versions(
                millrace=__version__, kernel=platform.release(), fio=run(["fio", "--version"]).out.strip()
            ),
            environment=environment(ready.site, run),
            profile=order.profile,
            budget=order.request.budget,
            knobs=ready.knobs,
            goals=ready.goals,
            clients=order.request.clients,
        )

    def run_all(self) -> TunerRun:
        """Search; at the end the settings are back and only the result remains, in any case."""
        self._keep()
        live.write(self._line(TunerState.RUNNING, "files are written"))
        state, reason, outcome = TunerState.FAILED, None, None
        try:
            # what a link that comes back starts is not to set the plan's values meanwhile
            tried = held(self.ready.surface.endings(self.ready.knobs))
            with tried, ladder.opened(self.ready, self._monitor, self._stop, self._run) as self._ladder:
                self._monitor.start()
                self._leave_out_refused()
                outcome = tune(self.ready.knobs, self.ready.goals, self.measure, self.time_left, self)
            state, reason = TunerState.DONE, outcome.reason
        except RepeatStopped:
            state, reason = TunerState.STOPPED, self._monitor.reason or BY_USER
        except Full as error:
            state, reason = TunerState.STOPPED, str(error)
        except (MillraceError, OSError) as error:
            reason = str(error)
        finally:
            self._monitor.close()
            state, reason = self._end(state, reason, outcome)
        return self.result

    def measure(self, combination: Combination) -> MeasuredCombination:
        """Set a combination and measure every goal.

        RepeatStopped: the run is to end. Failed: it cannot go on; a client disappeared, or other settings changed.
        Refused: something prevents it now. Full: space ran out.
        """
        started, began = _now(), time.monotonic()
        self._go_on()
        try:
            with tune_lock():
                self.ready.surface.apply(combination, self._journal.before)
        except Failed as error:
            return _failed(started, began, error)
        assert self._ladder is not None
        try:
            figures = self._figures(self._ladder, self.ready.surface.wanted(combination).smbd)
        except (RepeatStopped, Full):
            raise
        except (Failed, OSError) as error:
            if self._ladder.remote:
                raise Failed(f"{error}; the run has ended") from error
            return _failed(started, began, error)
        for label in self.ready.surface.differing(combination):
            raise Failed(f"{label} was changed by something else while it was measured; start the tuner again")
        return MeasuredCombination(started=started, seconds=time.monotonic() - began, figures=figures)

    def _figures(self, of: Ladder, smbd: SmbdSettings) -> Figures:
        if not self.ready.checks:
            return of.figures(self._report_reading, smbd)
        with rebuild.beside(self.ready.checks, self._journal.before) as rate:
            found = of.figures(self._report_reading, smbd)
            return found | {REBUILD: rate()}

    def time_left(self) -> float:
        """Return the seconds of the budget that are left."""
        return self.ready.request.budget - (time.monotonic() - self._began)

    def begins(self, combination: Combination, phase: Phase) -> None:
        """Report the reading that begins."""
        self._measuring = combination, phase
        self._report_reading()

    def reading(self, one: ScoredReading) -> None:
        """Keep a reading; the next one, or the end, reports it."""
        self.result = self.result.model_copy(update={"readings": [*self.result.readings, one]})
        self._keep()

    def effects(self, found: list[Effect]) -> None:
        """Keep the table of effects."""
        self.result = self.result.model_copy(update={"effects": found})
        self._keep()

    def _leave_out_refused(self) -> None:
        """Refused: no setting is left to try."""
        with tune_lock():
            refused = self.ready.surface.refused(self.ready.knobs, self._journal.before)
        names = {refusal.name for refusal in refused}
        knobs = [knob for knob in self.ready.knobs if knob.name not in names]
        if not knobs:
            raise Refused(f"no setting is left to try: {refused[0].reason}")
        self.ready = replace(self.ready, knobs=knobs)
        self.result = self.result.model_copy(update={"knobs": knobs, "refused": refused})
        self._keep()

    def _go_on(self) -> None:
        """RepeatStopped, Refused: the run must end."""
        if self._stop.is_set():
            raise RepeatStopped(self._monitor.reason or BY_USER)
        for sentence in guard.obstacles(self.ready.bench, self.ready.site, self._run, own=True, connected=True):
            raise Refused(f"the run has ended: {sentence}")

    def _end(
        self, state: TunerState, reason: str | None, outcome: TunerOutcome | None
    ) -> tuple[TunerState, str | None]:
        try:
            restore.put_back(self._run)
        except (MillraceError, OSError) as error:
            why = reason if state is TunerState.FAILED else None
            state, reason = TunerState.FAILED, "; ".join(filter(None, [why, str(error)]))
        with suppress(MillraceError, OSError):
            space.remove(self.ready.site.mountpoint, self._run)
        update = {"state": state, "reason": reason, "outcome": outcome, "ended": _now()}
        self.result = self.result.model_copy(update=update)
        self._keep()
        live.write(self._line(state, reason or state.value).model_copy(update={"seconds_left": None, "progress": 1.0}))
        return state, reason

    def _report_reading(self, goal: Goal | None = None) -> None:
        assert self._measuring is not None
        combination, phase = self._measuring
        line = self._line(TunerState.RUNNING, f"reading {len(self.result.readings) + 1}")
        live.write(line.model_copy(update={"phase": phase, "combination": combination, "goal": goal}))

    def _line(self, state: TunerState, what: str) -> TunerProgress:
        left = max(0.0, self.time_left())
        scores = [reading.score for reading in self.result.readings if reading.score is not None]
        return TunerProgress(
            run=self.result.id,
            time=time.time(),
            started=self.result.started,
            state=state,
            what=what,
            readings=len(self.result.readings),
            progress=round(min(1.0, 1 - left / self.ready.request.budget), 4),
            seconds_left=round(left, 1),
            best=max(scores, default=None),
        )

    def _keep(self) -> None:
        store.save(self.result)


def _failed(started: str, began: float, error: Exception) -> MeasuredCombination:
    return MeasuredCombination(started=started, seconds=time.monotonic() - began, validity="failed", reason=str(error))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
