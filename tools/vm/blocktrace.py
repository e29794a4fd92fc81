# SPDX-License-Identifier: Apache-2.0
"""What a guest's kernel asked of its drives and when, from its trace: block_rq_issue, block_rq_complete, marks.

Only the guest knows which writes were to be durable by themselves (FUA): QEMU's NVMe drive ignores that bit. Times are
the numbers of the trace's lines, which the kernel sorts by its clock.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from millrace.system.errors import BadInput

# From the kernel's start: what assembles the arrays writes, too.
CMDLINE = ("trace_event=block:block_rq_issue,block:block_rq_complete", "trace_buf_size=64M", "trace_clock=global")
EVENT = re.compile(
    r": block_rq_(issue|complete): (\d+,\d+) ([A-Z]+) (?:\d+ )?\(.*?\) (\d+) \+ (\d+)(?: |$).*?\[(.*)\]$"
)
MARK = re.compile(r": tracing_mark_write: (.*)$")


class Kind(StrEnum):
    """What a request does to a drive's content."""

    WRITE = "write"
    DISCARD = "discard"
    FLUSH = "flush"


@dataclass(frozen=True)
class Request:
    """A request of `count` sectors of 512 bytes; `completed` is None where the trace ends before."""

    kind: Kind
    sector: int
    count: int
    fua: bool
    issued: int
    completed: int | None = None


@dataclass(frozen=True)
class Mark:
    """A line that a program wrote to the trace."""

    time: int
    text: str


@dataclass(frozen=True)
class Trace:
    """Requests by the drive's serial number, in the order in which they were issued."""

    requests: Mapping[str, list[Request]]
    marks: list[Mark]


def meaning(letters: str) -> tuple[Kind, bool] | None:
    """Return what blk_fill_rwbs() of Linux says: the kind and whether it is FUA; None for what writes nothing.

    BadInput: a flush and a write in one request, which no NVMe driver is given.
    """
    before, operation, after = letters[0] == "F", letters[0], letters[1:]
    if before:
        if not after or after[0] == "F":
            return Kind.FLUSH, False
        raise BadInput(f"The trace has a write with a flush in it: {letters}.")
    if operation not in "WD":
        return None
    return Kind.DISCARD if operation == "D" else Kind.WRITE, "F" in after


def numbers(text: str, reads: Mapping[int, str]) -> dict[str, str]:
    """Return the drives' serials by the numbers ("259,3") that a trace calls them by.

    One with several paths has a number for each that sysfs does not show: `reads` says from which sector (of 512 bytes)
    a program `dd` read which drive. BadInput: a read is not there once.
    """
    serials = {}
    for line in text.splitlines():
        event = EVENT.search(line)
        if event and (event[1], event[3][0], event[6]) == ("issue", "R", "dd") and int(event[4]) in reads:
            serials[event[2]] = reads[int(event[4])]
    if sorted(serials.values()) != sorted(reads.values()):
        raise BadInput(f"The trace has the reads of {len(serials)} drives, not of {len(reads)}.")
    return serials


def parse(text: str, serials: Mapping[str, str]) -> Trace:
    """Read a trace; `serials` are the drives by their numbers (`numbers`), others are left out.

    BadInput: events were lost, a request failed, or one was completed that was not issued.
    """
    requests: dict[str, list[Request]] = defaultdict(list)
    waiting: dict[tuple[str, Kind, int, int], list[int]] = defaultdict(list)
    marks = []
    for time, line in enumerate(text.splitlines()):
        if "LOST" in line:
            raise BadInput(f"The trace has lost events: {line.strip()}")
        if mark := MARK.search(line):
            marks.append(Mark(time, mark[1]))
            continue
        event = EVENT.search(line)
        if event is None or event[2] not in serials or (what := meaning(event[3])) is None:
            continue
        serial, (kind, fua), sector, count = serials[event[2]], what, int(event[4]), int(event[5])
        if kind is Kind.FLUSH:
            sector = count = 0
        elif not count:
            # the end of a sequence of flush and write, whose write was completed before
            continue
        under_way = waiting[serial, kind, sector, count]
        if event[1] == "issue":
            under_way.append(len(requests[serial]))
            requests[serial].append(Request(kind, sector, count, fua, time))
            continue
        if not under_way or event[6] != "0":
            raise BadInput(f"The trace has a request that failed or was never issued: {line.strip()}")
        # Of two flushes under way the later one, which promises more: a loss that is found is one.
        number = under_way.pop(-1 if kind is Kind.FLUSH else 0)
        requests[serial][number] = replace(requests[serial][number], completed=time)
    return Trace(requests, marks)
