# SPDX-License-Identifier: Apache-2.0
"""What the guest's kernel asked of its drives, read from lines as Linux 7.2 prints them."""

import pytest

from millrace.system.errors import BadInput
from vm.blocktrace import Kind, Mark, Request, meaning, numbers, parse

SERIALS = {"259,0": "A", "259,1": "B"}
TASK = "    kworker/1:2H-676     [001] d.h2.   272.514198: "


def trace(*events: str) -> str:
    return "# tracer: nop\n#\n" + "".join(TASK + event + "\n" for event in events)


def issue(letters: str, sector: int, count: int, drive: str = "259,0") -> str:
    return f"block_rq_issue: {drive} {letters} {count * 512} () {sector} + {count} none,0,0 [kworker/1:2H]"


def complete(letters: str, sector: int, count: int, drive: str = "259,0", error: int = 0) -> str:
    return f"block_rq_complete: {drive} {letters} () {sector} + {count} be,0,3 [{error}]"


# A flush has no sector when it is completed.
FLUSH = (issue("FF", 0, 0), complete("FF", (1 << 64) - 1, 0))


@pytest.mark.parametrize(
    ("letters", "what"),
    [
        ("W", (Kind.WRITE, False)),
        ("WS", (Kind.WRITE, False)),
        ("WFSM", (Kind.WRITE, True)),
        ("WSM", (Kind.WRITE, False)),
        ("DS", (Kind.DISCARD, False)),
        ("FF", (Kind.FLUSH, False)),
        ("F", (Kind.FLUSH, False)),
        ("RAM", None),
        ("N", None),
    ],
)
def test_letters_of_a_request_say_what_it_writes(letters: str, what: tuple[Kind, bool] | None) -> None:
    assert meaning(letters) == what


def test_write_that_asks_for_a_flush_before_it_is_refused() -> None:
    with pytest.raises(BadInput, match="a write with a flush in it: FWFS"):
        meaning("FWFS")


def test_requests_have_the_times_of_their_lines_on_their_drives() -> None:
    text = trace(
        issue("WFSM", 8, 8),
        issue("WS", 8, 8, "259,1"),
        "tracing_mark_write: acked append-nfs 1",
        complete("WFSM", 8, 8),
        issue("R", 64, 8),
        *FLUSH,
        issue("DS", 16, 8),
        issue("W", 0, 8, "253,0"),
    )
    blocktrace = parse(text, SERIALS)
    assert blocktrace.requests == {
        "A": [
            Request(Kind.WRITE, 8, 8, True, 2, 5),
            Request(Kind.FLUSH, 0, 0, False, 7, 8),
            Request(Kind.DISCARD, 16, 8, False, 9, None),
        ],
        "B": [Request(Kind.WRITE, 8, 8, False, 3, None)],
    }
    assert blocktrace.marks == [Mark(4, "acked append-nfs 1")]


def test_end_of_a_sequence_with_a_flush_is_no_second_completion() -> None:
    text = trace(issue("WFS", 8, 8), complete("WFS", 8, 8), complete("WS", 8, 0))
    assert parse(text, SERIALS).requests == {"A": [Request(Kind.WRITE, 8, 8, True, 2, 3)]}


def test_of_two_flushes_under_way_the_later_one_is_completed_first() -> None:
    first, ended = FLUSH
    (one, two) = parse(trace(first, first, ended), SERIALS).requests["A"]
    assert (one.completed, two.completed) == (None, 4)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([complete("WS", 8, 8)], "never issued"),
        ([issue("WS", 8, 8), complete("WS", 8, 8, error=-5)], "failed"),
        (["CPU:1 [LOST 312 EVENTS]"], "lost events"),
    ],
)
def test_trace_that_does_not_tell_everything_is_refused(events: list[str], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        parse(trace(*events), SERIALS)


def test_paths_of_drives_are_told_by_what_a_program_read() -> None:
    def read(sector: int, drive: str, program: str = "dd") -> str:
        return f"block_rq_issue: {drive} R 4096 () {sector} + 8 be,0,4 [{program}]"

    text = trace(read(800, "259,6"), read(800, "259,7", "udev"), read(808, "259,2"), issue("W", 808, 8, "259,3"))
    assert numbers(text, {800: "A", 808: "B"}) == {"259,6": "A", "259,2": "B"}
    with pytest.raises(BadInput, match="the reads of 1 drives, not of 2"):
        numbers(text, {800: "A", 816: "C"})
