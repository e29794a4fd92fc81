# SPDX-License-Identifier: Apache-2.0
"""Which kinds of long work run beside which: one table for all of them.

The manual has it (`tools/docs --write`), and a test asks for every pair.
"""

from collections.abc import Collection
from typing import Literal, NamedTuple

from millrace.system.errors import BadInput, Refused
from millrace.system.jobs.kinds import BY_NAME, JobKind, JobName
from millrace.system.run import Runner
from millrace.system.units import states

Outcome = Literal["refused", "waits", "stops it", "beside", "one at a time"]
"""What becomes of a start while another job is there: "waits" begins later by itself, "stops it" ends the other one,
which goes on later by itself."""


class PairRule(NamedTuple):
    """What a job does not start beside.

    `running` are kinds whose unit is under way, `opened` kinds whose journal is open, too: theirs goes on with the next
    boot, or is confirmed by an administrator. `stops` are kinds that give way to it.
    """

    running: tuple[JobName, ...] = ()
    opened: tuple[JobName, ...] = ()
    stops: tuple[JobName, ...] = ()
    outcome: Outcome = "refused"


_MEASURE: tuple[JobName, ...] = ("benchmark", "tuner")
_UPDATE: tuple[JobName, ...] = ("update-download", "update")
_POOL: tuple[JobName, ...] = ("provision", "adopt", "rescue", "revive", "drive-change")
_SEARCHES: tuple[JobName, ...] = ("damaged-files", "unclean")
# Jobs of shares: each writes into the pool.
_OF_SHARES: tuple[JobName, ...] = ("clone", "copy", "snapshot", "replica", "backup", "permissions")

RULES: dict[JobName, PairRule] = {
    "provision": PairRule(running=("drive-change", "rescue", "revive", "adopt", "update"), opened=("reset", "destroy")),
    # Redundancy comes first: it waits for nothing that can go on later, nor for a reset that does not restart.
    "drive-change": PairRule(
        running=("provision", "rescue", "revive", "adopt", "reset"), opened=("destroy",), stops=("scrub", "trim")
    ),
    # A restart ends an erasure and a test, and both cost a benchmark its figures.
    "erase": PairRule(
        running=("provision", "drive-change", "rescue", "revive", "update", *_MEASURE), opened=("reset", "destroy")
    ),
    "drive-test": PairRule(
        running=("provision", "drive-change", "rescue", "revive", "update", *_MEASURE), opened=("reset", "destroy")
    ),
    # An open change of drives may be what the pool is rescued from.
    "rescue": PairRule(
        running=("provision", "drive-change", "revive", "adopt", "update", "reset"), opened=("destroy",)
    ),
    # An array that does not run serves nobody: it waits for as little as a change of drives.
    "revive": PairRule(running=("provision", "rescue", "adopt", "reset"), opened=("drive-change", "destroy")),
    "adopt": PairRule(running=("provision", "drive-change", "rescue", "revive", "update"), opened=("reset", "destroy")),
    "clone": PairRule(running=("update",), opened=("reset", "destroy")),
    "copy": PairRule(running=("update",), opened=("reset", "destroy")),
    "snapshot": PairRule(running=("update",), opened=("reset", "destroy")),
    "replica": PairRule(running=("update",), opened=("reset", "destroy")),
    "backup": PairRule(running=("update",), opened=("reset", "destroy")),
    "permissions": PairRule(running=("update",), opened=("reset", "destroy")),
    "benchmark": PairRule(
        running=("tuner", "erase", "drive-test", *_OF_SHARES, *_UPDATE, "scrub", *_SEARCHES, *_POOL),
        opened=("reset", "destroy"),
        stops=("trim",),
    ),
    "tuner": PairRule(
        running=("benchmark", "erase", "drive-test", *_OF_SHARES, *_UPDATE, "scrub", *_SEARCHES, *_POOL),
        opened=("reset", "destroy"),
        stops=("trim",),
    ),
    # It changes nothing but the boot drive, and costs a benchmark its figures.
    "update-download": PairRule(running=("update", *_MEASURE), opened=("reset",)),
    # The restart after it would end these, or find the server halfway.
    "update": PairRule(
        running=("update-download", *_MEASURE, *_OF_SHARES, "erase", "drive-test", "revive", "damaged-files"),
        opened=("provision", "reset", "adopt", "rescue", "drive-change", "destroy"),
    ),
    "scrub": PairRule(running=_MEASURE, opened=("drive-change", "destroy"), outcome="waits"),
    "damaged-files": PairRule(running=("update",), opened=("reset", "destroy")),
    # Members wait for it: it waits for nothing but the end of the pool, and begins again after a restart.
    "unclean": PairRule(opened=("destroy",)),
    "trim": PairRule(running=("scrub", *_MEASURE), opened=("drive-change", "destroy"), outcome="waits"),
    "reset": PairRule(
        running=(*_UPDATE, *_MEASURE, *_OF_SHARES, "erase", "drive-test", "revive", "damaged-files"),
        opened=("provision", "adopt", "rescue", "drive-change", "destroy"),
    ),
    # What uses the pool is ended where that was asked for.
    "destroy": PairRule(
        running=("update", "erase", "drive-test", "revive", *_OF_SHARES, "scrub", *_SEARCHES, "trim", *_MEASURE),
        opened=("provision", "adopt", "rescue", "drive-change", "reset"),
    ),
}


class JobObstacle(NamedTuple):
    """What a job does not start beside, and the sentence for it: what runs, and what to do. `what` has no remedy."""

    kind: JobKind
    sentence: str
    what: str


def outcome(starts: JobName, there: JobName) -> Outcome:
    """Return what becomes of the start of a job while another one runs."""
    if starts == there:
        return "one at a time"
    rule = RULES[starts]
    if there in rule.running or there in rule.opened:
        return rule.outcome
    return "stops it" if there in rule.stops else "beside"


def obstacle(starts: JobName, run: Runner, allowed: Collection[JobName] = ()) -> JobObstacle | None:
    """Return what of other kinds keeps a job from its start now; None where nothing does.

    `allowed` kinds keep nothing from it. Failed: systemd does not report its units.
    """
    rule = RULES[starts]
    for name in rule.opened:
        if name not in allowed and (blocker := _opened(BY_NAME[name])):
            return blocker
    asked = [BY_NAME[name] for name in (*rule.running, *rule.opened) if name not in allowed]
    found_states = states([kind.unit for kind in asked], run)
    return next((_of(kind) for kind in asked if kind.works(found_states[kind.unit])), None)


def demand(starts: JobName, run: Runner, allowed: Collection[JobName] = ()) -> None:
    """Verify that a job may start now.

    Refused: what runs, and what to do. Failed: systemd does not report its units.
    """
    if found := obstacle(starts, run, allowed):
        raise Refused(found.sentence)


def _opened(kind: JobKind) -> JobObstacle | None:
    try:
        return _of(kind) if kind.is_open() else None
    except BadInput as error:
        return JobObstacle(kind, str(error), str(error))


def _of(kind: JobKind) -> JobObstacle:
    return JobObstacle(kind, f"{kind.busy}; {kind.remedy}", kind.busy)
