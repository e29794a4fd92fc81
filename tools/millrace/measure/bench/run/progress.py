# SPDX-License-Identifier: Apache-2.0
"""The progress of a run, for all who follow it."""

import time

from millrace.measure.bench.result import live
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.result.model import BenchState, Rung
from millrace.measure.bench.result.outputs import BenchEstimate, BenchProgress


class ProgressReporter:
    """Writes lines of progress. Time left is the estimate, corrected by how far it was off so far."""

    def __init__(self, run: str, estimate: BenchEstimate | None) -> None:
        self._run, self._estimate = run, estimate
        self._began = time.monotonic()
        self._number, self._what = 0, "starting"
        self._repeat = 0
        self._before: tuple[float, float, float] | None = None

    @classmethod
    def without_estimate(cls, run: str) -> "ProgressReporter":
        """Return a reporter for a run that could not begin."""
        return cls(run, None)

    def begin(self, number: int, rung: str) -> None:
        """Report the begin of a rung, by its place in the estimate."""
        self._number, self._what, self._repeat = number, rung, 0
        self._write()

    def repeat(self, number: int, now: RepeatOutcome | None) -> None:
        """Report a repeat, at its begin and while it runs; number 0 is the warm-up."""
        self._repeat = number
        if now is None:
            self._before = None
            self._write()
            return
        flows = now.flows.values()
        total = (time.monotonic(), float(sum(flow.bytes for flow in flows)), float(sum(flow.count for flow in flows)))
        rates: tuple[float | None, float | None] = (None, None)
        if self._before is not None and total[0] > self._before[0]:
            seconds = total[0] - self._before[0]
            rates = ((total[1] - self._before[1]) / seconds, (total[2] - self._before[2]) / seconds)
        self._before = total
        self._write(bandwidth=rates[0], operations=rates[1])

    def finished(self, rung: Rung) -> None:
        """Report the result of a rung."""
        self._repeat = self._repeats
        self._write(finished=rung)

    def end(self, state: BenchState, reason: str | None) -> None:
        """Write the last line."""
        what = reason or ("all is measured" if state is BenchState.DONE else state.value)
        progress = 1.0 if state is BenchState.DONE else self._progress()
        line = BenchProgress(
            run=self._run, time=time.time(), state=state, what=what, progress=progress, steps=self._steps
        )
        live.write(line.model_copy(update={"step": self._number + 1 if self._estimate else 0}))

    @property
    def _steps(self) -> int:
        return len(self._estimate.rungs) if self._estimate else 0

    @property
    def _repeats(self) -> int:
        return self._estimate.repeats if self._estimate else 0

    def _progress(self) -> float:
        if not self._estimate:
            return 0.0
        seconds = [rung.seconds for rung in self._estimate.rungs]
        current = seconds[self._number] if self._number < len(seconds) else 0.0
        done = sum(seconds[: self._number]) + current * self._repeat / (1 + self._repeats)
        return min(1.0, done / sum(seconds)) if sum(seconds) else 0.0

    def _write(
        self, bandwidth: float | None = None, operations: float | None = None, finished: Rung | None = None
    ) -> None:
        progress = self._progress()
        passed = time.monotonic() - self._began
        left = passed * (1 - progress) / progress if progress > 0 else None
        if left is None and self._estimate:
            left = self._estimate.seconds
        live.write(
            BenchProgress(
                run=self._run,
                time=time.time(),
                state=BenchState.RUNNING,
                what=self._what,
                rung=self._what if self._what != "starting" else None,
                step=self._number + 1,
                steps=self._steps,
                repeat=self._repeat,
                repeats=self._repeats,
                progress=round(progress, 4),
                seconds_left=round(left, 1) if left is not None else None,
                bandwidth=bandwidth,
                operations=operations,
                finished=finished,
            )
        )
