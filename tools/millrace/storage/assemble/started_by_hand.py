# SPDX-License-Identifier: Apache-2.0
"""Arrays that broke and run again although Millrace did not start them: `mdadm --assemble --force` by hand.

mdadm may then treat members as current that left before others and are older. Their superblocks are equal afterwards,
and md makes parity fit what they hold: the record of failures and of our own starts alone tells that data may be old.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from millrace.storage.array import md
from millrace.storage.array.machine import Report, System
from millrace.storage.assemble import unclean
from millrace.storage.record import failure_record
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.system import locks, paths
from millrace.system.errors import MillraceError
from millrace.system.files import describe


@contextmanager
def starting(record: ArrayRecord) -> Iterator[None]:
    """Start an array within; that Millrace did is recorded at the end, unless the start fails.

    `look` waits for it: the event of the new array comes before the start has ended. A start that cannot be recorded is
    taken for another's once.
    """
    with _alone():
        yield
        started(record)


def started(record: ArrayRecord) -> None:
    """Record that Millrace has started an array, also where the start failed after that."""
    with suppress(OSError):
        failure_record.note_start(record.uuid)


def look(system: System, pool: Pool, report: Report) -> bool:
    """Record each such array as started unclean; return whether there is one. `report` receives a line for it."""
    arrays = [one for one in pool.arrays if not one.array.over_arrays]
    candidates = [one for one in arrays if failure_record.broke(one.uuid) is not None]
    if not candidates:
        return False
    with _alone():
        return any([_recorded(system, one, report) for one in candidates])


def _recorded(system: System, record: ArrayRecord, report: Report) -> bool:
    # it may have been started, or recorded, until the lock was free
    broke = failure_record.broke(record.uuid)
    if broke is None or not md.works(system, record):
        return False
    title = md.title(record.array)
    try:
        unclean.add_outside(record, broke, *_left_since(record, broke), system.now())
        failure_record.note_start(record.uuid)
    except OSError as error:
        report(f"{title} broke and was started outside Millrace, which cannot be recorded: {describe(error)}")
    except MillraceError as error:
        report(f"{title} broke and was started outside Millrace, which cannot be recorded: {error}")
    else:
        report(f"{title} broke and was started outside Millrace: its members may differ (millrace pool unclean)")
        return True
    return False


def _left_since(record: ArrayRecord, broke: float) -> tuple[float, bool]:
    """Return when the first member left since all were in sync, and whether that is recorded: else the oldest failure.

    That member lacks all that was written until the array broke, and is taken for current.
    """
    known = [one for one in failure_record.load() if md.same_uuid(one.array, record.uuid) and not one.filling]
    end = max((at for at, one in enumerate(known, start=1) if one.broken), default=0)
    begin = max((at for at, one in enumerate(known[:end]) if one.left == len(record.members) - 1), default=None)
    return min((one.at for one in known[begin or 0 : end]), default=broke), begin is not None


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of starts and of `look`, beside the documents; where it cannot be made nothing waits for it."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(locks.held(paths.state_dir() / "outside.lock"))
        yield
