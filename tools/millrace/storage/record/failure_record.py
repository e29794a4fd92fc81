# SPDX-License-Identifier: Apache-2.0
"""The record of the order in which members of arrays failed, with a line for each failure.

One process adds failures and drops old ones (`failures`), others add that an array was started. It imports next to
nothing, because the first one stays in memory.
"""

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from millrace.system import locks, paths
from millrace.system.files import append_line, write_text

KEPT = 256
"""Lines that are kept, the latest last."""

MOST = 2 * KEPT
"""Lines after which the oldest ones are dropped."""

OF_BROKEN = 128
"""Lines that are kept beside them of each array that is broken: more than it has members."""

ARRAYS = 32
"""Arrays of which lines are kept beside them: one that was removed while it was broken is among them for ever."""

TOLERANCE = 10.0
"""Seconds by which a record and the superblocks of the same failure may differ."""

_LATEST = 1 << 33
"""Seconds since 1970 that no clock of a server has, nor its superblocks."""


class Failure(NamedTuple):
    """One member that failed. `array` is the UUID, `member` the GUID of the partition, else the serial of the drive.

    `member` is empty where it is not known which one: another drive may have had its kernel name when that was read.
    `left` is how many members were in sync after it; None where several failed at the same moment, and their order is
    not known. `broken`: those were too few. `at` is in seconds since 1970, `number` that of the message in its boot.
    `filling`: it was no member in sync, so as many were left as before.
    """

    boot: str
    number: int
    at: float
    array: str
    member: str
    left: int | None
    broken: bool
    filling: bool = False


class StartedArray(NamedTuple):
    """An array that Millrace started after it broke; a line of the same record. `started` in seconds since 1970."""

    array: str
    started: float


def load() -> list[Failure]:
    """Return the failures that are recorded, the latest last; a line that cannot be parsed is left out."""
    return [one for one in map(_parsed, _lines()) if one is not None]


def broke(array: str) -> float | None:
    """Return when an array broke, in seconds since 1970; None where Millrace has started it since, or it never did."""
    for line in reversed(_lines()):
        if (started := _started(line)) is not None and digits(started.array) == digits(array):
            return None
        failure = _parsed(line)
        if failure is not None and failure.broken and digits(failure.array) == digits(array):
            return failure.at
    return None


def note_start(array: str) -> None:
    """Record that Millrace started an array, where it broke before. OSError: the boot drive takes no record."""
    with ExitStack() as stack:
        with suppress(OSError):
            # no room for a lock: there may be some in the record
            stack.enter_context(locks.held(paths.failures_lock()))
        if broke(array) is not None:
            append_line(paths.failures_file(), json.dumps(StartedArray(array, time.time())._asdict()))


def add(failure: Failure) -> None:
    """Record a failure. OSError: the boot drive takes no record."""
    # an older version refuses keys that it has no use for
    known = {key: value for key, value in failure._asdict().items() if key != "filling" or value}
    append_line(paths.failures_file(), json.dumps(known))


def shorten() -> None:
    """Drop the oldest lines of a long record, except those of arrays that are broken. One process does this.

    OSError: it cannot be written, and stays as it is.
    """
    if len(_lines()) <= MOST:
        return
    # what another process adds is not lost with the file that is replaced
    with locks.held(paths.failures_lock()):
        write_text(paths.failures_file(), "".join(f"{line}\n" for line in _kept(_lines())))


def since_start(array: str) -> list[Failure]:
    """Return the failures of an array since Millrace started it, as far as that is recorded; the latest last."""
    found = list[Failure]()
    for line in _lines():
        if (started := _started(line)) is not None and digits(started.array) == digits(array):
            found.clear()
        elif (failure := _parsed(line)) is not None and digits(failure.array) == digits(array):
            found.append(failure)
    return found


def last_of(array: str, needed: int, recorded: Iterable[Failure]) -> list[Failure]:
    """Return who failed when an array broke for the last time, and after that; nothing where the order is not known.

    `recorded` has no failure from before the last start of the array.
    """
    known = _members_in_sync([failure for failure in recorded if digits(failure.array) == digits(array)])
    begin = max(
        (at for at, failure in enumerate(known) if failure.broken and failure.left == needed - 1), default=len(known)
    )
    failures = known[begin:]
    expected = [needed - 1 - at for at in range(len(failures))]
    same = len({failure.boot for failure in failures}) == 1 and all(failure.broken for failure in failures)
    named = all(failure.member for failure in failures)
    return failures if same and named and [failure.left for failure in failures] == expected else []


def only_left(array: str, members: Sequence[str], recorded: Iterable[Failure]) -> tuple[str, float] | None:
    """Return which half of a mirror left last, and when the other one failed; None where that is not recorded.

    md marks no last member of a mirror as faulty, so the kernel logs nothing of it when it leaves, too. `members` are
    identities as in a Failure; `recorded` has no failure from before the last start of the array.
    """
    known = _members_in_sync([failure for failure in recorded if digits(failure.array) == digits(array)])
    if len(members) != 2 or not known or known[-1].left != 1 or known[-1].member not in members:
        return None
    (left,) = [member for member in members if member != known[-1].member]
    return left, known[-1].at


def _members_in_sync(known: Sequence[Failure]) -> list[Failure]:
    """Leave out hot spares and members that were being filled: their failure leaves as many in sync as before."""
    pairs = zip([None, *known], known, strict=False)
    return [
        one
        for before, one in pairs
        if before is None or one.left is None or (before.boot, before.left) != (one.boot, one.left)
    ]


def digits(uuid: str) -> str:
    """Return the digits of a UUID: mdadm groups them with colons, the kernel with dashes."""
    return uuid.replace(":", "").replace("-", "").lower()


def _kept(lines: list[str]) -> list[str]:
    """The last lines, and before them those of arrays that broke and that Millrace has not started since.

    An array keeps the end of its lines without a gap: one without the failure in between would be another order. What
    it broke with is kept in any case, as `broke` needs it.
    """
    since: dict[str, list[int]] = {}
    broken: dict[str, int] = {}
    for number, line in enumerate(lines):
        if (started := _started(line)) is not None:
            since.pop(digits(started.array), None)
            broken.pop(digits(started.array), None)
        elif (failure := _parsed(line)) is not None:
            since.setdefault(digits(failure.array), []).append(number)
            if failure.broken:
                broken[digits(failure.array)] = number
    latest = sorted(broken, key=lambda array: broken[array])[-ARRAYS:]
    older = {number for array in latest for number in (broken[array], *since[array][-OF_BROKEN:])}
    first = len(lines) - KEPT
    return [line for number, line in enumerate(lines) if number >= first or number in older]


def _lines() -> list[str]:
    try:
        return paths.failures_file().read_text(errors="replace").splitlines()
    except OSError:
        return []


def _started(line: str) -> StartedArray | None:
    try:
        one = StartedArray(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return one if isinstance(one.array, str) else None


def _parsed(line: str) -> Failure | None:
    try:
        one = Failure(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    if not (isinstance(one.at, int | float) and 0 < one.at < _LATEST):
        return None
    kinds = (one.boot, str), (one.number, int), (one.at, (int, float)), (one.array, str), (one.member, str)
    known = isinstance(one.filling, bool) and all(isinstance(value, kind) for value, kind in kinds)
    return one if known else None
