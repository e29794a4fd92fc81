# SPDX-License-Identifier: Apache-2.0
"""Credits and threads of an SMB server by formula, beside what was measured here.

The formulas are those of "Tuning an SMB server implementation" (SNIA SDC 2015), with its factors where a server does
not know its own.
"""

from dataclasses import dataclass

from millrace.measure.bench.result.environment import Environment
from millrace.measure.tuner.model import ScoredReading, TunerRun
from millrace.plan.defaults import CREDITS

MEMORY = 5e9
"""Memory access in bytes/s, as in the talk; Millrace does not measure it."""
BUFFERED = 2
"""Requests that one network port stores."""
OVERHEAD, OVERHEAD_OF_THREADS = 5, 3
THREADS = 100
"""What smb.conf has: `aio max threads`."""
KEY = "smbd.max_credits"


@dataclass(frozen=True)
class SizingRow:
    """One number by formula: its terms in words, and what was set or measured here."""

    name: str
    terms: str
    value: int
    here: str


def sizing(run: TunerRun) -> list[SizingRow]:
    """Return what the formulas give for the server of a run; nothing where its environment is not known."""
    if run.environment is None:
        return []
    environment = run.environment
    ports = sum(port.carrier for port in environment.ports) or 1
    drive = _speed(run)
    credits = _credits(run)
    sizings = []
    if drive:
        factor = max(round(MEMORY / drive), 1)
        sizings.append(
            SizingRow(
                "SMB credits by the hardware",
                f"{environment.cores} cores + {ports * BUFFERED} requests in {_ports(ports)} + {factor} (memory at "
                f"{MEMORY / 1e9:g} GB/s, over the measured pool) + {OVERHEAD}",
                environment.cores + ports * BUFFERED + factor + OVERHEAD,
                credits,
            )
        )
    sizings.append(
        SizingRow(
            "SMB credits by the threads",
            f"{environment.cores} transport threads + {THREADS} I/O threads + {ports * BUFFERED} requests in "
            f"{_ports(ports)} + {OVERHEAD_OF_THREADS}",
            environment.cores + THREADS + ports * BUFFERED + OVERHEAD_OF_THREADS,
            credits,
        )
    )
    sizings.append(
        SizingRow("SMB I/O threads", "enough for all cores, not many more", environment.cores, f"{THREADS} set")
    )
    sizings += _measured(run, environment)
    return sizings


def _measured(run: TunerRun, environment: Environment) -> list[SizingRow]:
    """The threads of nfsd are sized by the same rule, and can be changed while it serves."""
    here = _tried(run, "nfsd.threads")
    what = "enough for all cores, not many more"
    return [SizingRow("NFS server threads", what, environment.cores, here)] if here else []


def _credits(run: TunerRun) -> str:
    return _tried(run, KEY) or f"{CREDITS}, or what the policy has ({KEY}); tried where a goal is measured over SMB"


def _tried(run: TunerRun, name: str) -> str | None:
    """What the plan has and what was measured best; None for a setting that the run did not try."""
    for knob in run.knobs:
        if knob.name == name:
            best = run.outcome.winner[name] if run.outcome else None
            return f"{knob.planned} planned" + (f", {best} measured best" if best is not None else "")
    return None


def _speed(run: TunerRun) -> float | None:
    """The fastest stream with the plan's settings, in bytes/s."""
    streams = [goal.name for goal in run.goals if goal.unit == "bytes/s"]
    first: list[ScoredReading] = [one for one in run.readings if one.phase == "baseline" and one.score is not None]
    return max((one.figures[name] for one in first for name in streams), default=None)


def _ports(count: int) -> str:
    return f"{count} network port{'' if count == 1 else 's'}"
