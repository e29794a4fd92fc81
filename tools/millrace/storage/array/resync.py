# SPDX-License-Identifier: Apache-2.0
"""md's check of one array: where it begins, how fast it reads, how far it came.

kernel 7.2, drivers/md/md.c md_do_sync: a check that is interrupted leaves in sync_min where it had got to; one that
came to its end sets sync_max to `max` again. So sync_max is set to the last sector before a check begins, and says
afterwards whether that was reached. mismatch_cnt begins at 0 with each check.
Seen in a booted server: after one has ended, md may be idle and still refuse the next one with EBUSY for a moment.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.storage.array.devices import block
from millrace.system import paths, sysfs
from millrace.system.wait import wait_until

CHECK, REPAIR, IDLE = "check", "repair", "idle"
FLOOR_KIB = 1000
"""What a check is granted beside clients, in KiB/s: the kernel's default."""

SMALLEST_CACHE = "17"
"""Stripes, the fewest that the kernel takes (raid5.c raid5_set_cache_size)."""

IDLE_BUSY_PAUSES = (0.1,) * 300
"""While these last, in seconds, an idle array may refuse a check: not measured, a limit to an error that stays."""

_MIN, _MAX = "sync_speed_min", "sync_speed_max"


@dataclass(frozen=True)
class Limits:
    """The limits of a synchronisation in KiB/s as they are written; `system` follows the sysctl."""

    least: str
    most: str


def action(device: str) -> str:
    """Return what md does with an array: idle, check, resync, recover, …; `idle` where it is not there."""
    return sysfs.text(_md(device) / "sync_action") or IDLE


def sectors(device: str) -> int:
    """Return how many sectors of each member a check reads."""
    return 2 * (sysfs.number(_md(device) / "component_size") or 0)


def disks(device: str) -> int:
    """Return how many members an array has when it is complete."""
    return sysfs.number(_md(device) / "raid_disks") or 0


def limits(device: str) -> Limits:
    """Return the limits of now. OSError: the array is not there."""
    return Limits(_limit(device, _MIN), _limit(device, _MAX))


def limit(device: str, wanted: Limits) -> None:
    """Set the limits. OSError: the kernel refuses."""
    sysfs.write(_md(device) / _MIN, f"{wanted.least}\n")
    sysfs.write(_md(device) / _MAX, f"{wanted.most}\n")


def begin(device: str, sector: int) -> None:
    """Begin a check at this sector of each member. OSError: the kernel refuses, as while the array is rebuilt."""
    # in this order: the kernel refuses a minimum above the maximum
    _write(device, "sync_max", "max")
    _write(device, "sync_min", str(sector))
    _write(device, "sync_max", str(sectors(device)))
    _write(device, "sync_action", CHECK)


def begin_window(device: str, what: str, begin: int, end: int) -> None:
    """Begin a check or a repair of these sectors of each member only; md waits at their end until it is cancelled.

    `begin` is a multiple of 8 and `end` one of the chunk (md.c min_store, max_store). OSError: the kernel refuses.
    """
    whole(device)
    _write(device, "sync_min", str(begin))
    _write(device, "sync_max", str(end))
    _write(device, "sync_action", what)


def whole(device: str) -> None:
    """Let the next check or repair read all sectors. OSError: the kernel refuses, as while one runs."""
    _write(device, "sync_max", "max")
    _write(device, "sync_min", "0")


def cancel(device: str, what: str = CHECK) -> None:
    """End a check or repair before its end; the kernel returns when it has ended. OSError: it refuses."""
    if action(device) == what:
        sysfs.write(_md(device) / "sync_action", IDLE)


def at_end(device: str) -> bool:
    """Whether the check that ran last came to its end."""
    return sysfs.text(_md(device) / "sync_max") == "max"


def resume_at(device: str) -> int:
    """Return the sector at which a check that was cancelled goes on."""
    return sysfs.number(_md(device) / "sync_min") or 0


def completed(device: str) -> int:
    """Return how many sectors of each member are read for certain; the kernel counts in sixteenths of the array."""
    done = (sysfs.text(_md(device) / "sync_completed") or "").partition(" / ")[0]
    return int(done) if done.isdigit() else 0


def read_kib(device: str) -> int | None:
    """Return how many KiB of each member the check under way has read; None where none is, or has not begun yet.

    It is in /proc/mdstat alone: sync_completed lags behind by a sixteenth of the array, or ten seconds.
    """
    text = sysfs.text(paths.ROOT / "proc/mdstat") or ""
    [mine] = re.findall(rf"^{device} :.*(?:\n[ \t].*)*", text, re.MULTILINE) or [""]
    found = re.search(r"check *= *[\d.]+% \((\d+)/\d+\)", mine)
    return int(found[1]) if found else None


def cache(device: str) -> str | None:
    """Return the size of the stripe cache of an array with parity, in stripes; None where there is none."""
    return sysfs.text(_md(device) / "stripe_cache_size")


def resize_cache(device: str, stripes: str) -> None:
    """Set the size of the stripe cache. OSError: the kernel refuses."""
    sysfs.write(_md(device) / "stripe_cache_size", stripes)


@contextmanager
def smallest_cache(device: str) -> Iterator[None]:
    """Let md drop all stripes that it has in memory but 17. OSError: the kernel refuses."""
    before = cache(device)
    resize_cache(device, SMALLEST_CACHE)
    try:
        yield
    finally:
        resize_cache(device, before or SMALLEST_CACHE)


def mismatches(device: str) -> int:
    """Return the sectors that did not match since the check began."""
    return sysfs.number(_md(device) / "mismatch_cnt") or 0


def bad_areas(device: str) -> int:
    """Return how many areas of all members are in md's lists of bad blocks."""
    lists = [_md(device) / name / "bad_blocks" for name in sysfs.names(_md(device)) if name.startswith("dev-")]
    return sum(len((sysfs.text(one) or "").splitlines()) for one in lists)


def _md(device: str) -> Path:
    return block(device) / "md"


def _write(device: str, name: str, value: str) -> None:
    """Set an attribute, as soon as an idle array takes it. OSError: the kernel refuses."""
    refused = wait_until(
        lambda: _refusal(device, name, value),
        lambda found: found is None or found.errno != errno.EBUSY or action(device) != IDLE,
        IDLE_BUSY_PAUSES,
    )
    if refused is not None:
        raise refused


def _refusal(device: str, name: str, value: str) -> OSError | None:
    """Set an attribute; return the kernel's error where it refuses."""
    try:
        sysfs.write(_md(device) / name, value)
    except OSError as error:
        return error
    return None


def _limit(device: str, name: str) -> str:
    """Return a limit as it is written: `1000 (local)` is 1000, `200000 (system)` follows the sysctl."""
    text = (_md(device) / name).read_text()
    return "system" if "(system)" in text else (text.split() or ["system"])[0]
