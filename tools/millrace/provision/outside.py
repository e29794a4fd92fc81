# SPDX-License-Identifier: Apache-2.0
"""Arrays that broke and run again although Millrace did not start them: `mdadm --assemble --force` by hand.

mdadm takes every member then, also those that left before others and are older. Its superblocks are equal afterwards,
and nothing else tells that the data are not: the record of failures and of our own starts does.
"""

from contextlib import suppress

from millrace.errors import MillraceError
from millrace.provision import failure_record, md, unclean
from millrace.provision.model import ArrayRecord, Pool
from millrace.provision.system import Report, System
from millrace.system.files import describe


def started(record: ArrayRecord) -> None:
    """Record that Millrace has started an array. One that cannot be recorded is taken for another's start once."""
    with suppress(OSError):
        failure_record.note_start(record.uuid)


def look(system: System, pool: Pool, report: Report) -> None:
    """Record each such array as started unclean; `report` receives a line for it."""
    for record in pool.arrays:
        broke = None if record.array.over_arrays else failure_record.broke(record.uuid)
        if broke is None or not md.works(system, record):
            continue
        title = md.title(record.array)
        try:
            unclean.add_outside(record, broke, system.now())
            failure_record.note_start(record.uuid)
        except OSError as error:
            report(f"{title} broke and was started outside Millrace, which cannot be recorded: {describe(error)}")
        except MillraceError as error:
            report(f"{title} broke and was started outside Millrace, which cannot be recorded: {error}")
        else:
            report(f"{title} broke and was started outside Millrace: its members may differ (millrace pool unclean)")
