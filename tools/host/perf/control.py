# SPDX-License-Identifier: Apache-2.0
"""Whether the instrument can be believed: no result is published where it cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from host.perf import benchmarks, emulator
from host.perf.benchmarks import BENCHMARKS, CONTROL
from host.perf.results import Result, measure
from millrace.system.errors import Failed

# Both well within the bands of tests/perf. Two boots are not quite the same: when the drive of /usr answers is the
# host's time, and where things lie in memory depends on it.
NULL = 0.02
REPEAT = 0.02


@dataclass(frozen=True)
class Run:
    """Results that may be published. `null` is the control's ratio, `drift` the difference of two boots."""

    results: list[Result]
    null: float
    drift: float


def measured(
    names: list[str], cache: Path, image: emulator.Image, fresh: bool, done: Callable[[Result], None] = lambda _: None
) -> Run:
    """Measure benchmarks and the control, that one in two boots; Failed where the control fails."""
    jobs = [benchmarks.job(CONTROL, boot) for boot in (1, 2)] + [benchmarks.job(name) for name in names]
    first, second, *found = measure(cache, image, jobs, fresh, done)
    check(first, second)
    return Run([first, *found], null_ratio(first), drift(first, second))


def null_ratio(result: Result) -> float:
    """Return the ratio that must be one."""
    (ratio,) = BENCHMARKS[CONTROL].ratios
    return result.ratio(ratio.test, ratio.variant, ratio.base)


def drift(first: Result, second: Result) -> float:
    """Return by how much two boots of one job differ at most, as a fraction of the rate."""
    pairs = [(row.rate, second.row(row.test, row.variant).rate) for row in first.rows]
    return max(abs(one / other - 1) for one, other in pairs)


def check(first: Result, second: Result) -> None:
    """Verify the control. Failed: the null test is not one, or two boots of the control differ."""
    if abs(null_ratio(first) - 1) > NULL:
        raise Failed(
            f"The control failed: wdelay and no_wdelay, which cannot differ, gave {null_ratio(first):.3f} instead of "
            f"1.00 ± {NULL:.2f}. Nothing that was measured is published; find out what the machine does besides."
        )
    if drift(first, second) > REPEAT:
        raise Failed(
            f"The control failed: the same job in two boots differs by {drift(first, second):.2%}, more than "
            f"{REPEAT:.1%}. Nothing that was measured is published; find out what differs between the boots."
        )
