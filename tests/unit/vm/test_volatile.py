# SPDX-License-Identifier: Apache-2.0
"""Only what a drive promised survives a power cut for certain, and nothing survives that was not issued."""

from random import Random

import pytest

from millrace.system.errors import BadInput
from vm.blocktrace import Kind, Request
from vm.volatile import Cache, Drive, match
from vm.writelog import DISCARD, FLUSH, Entry, Part

NOTHING, ALL = Cache(0.0), Cache(1.0)


def write(sector: int, issued: int, completed: int | None, *, fua: bool = False, count: int = 8) -> Request:
    return Request(Kind.WRITE, sector, count, fua, issued, completed)


def flush(issued: int, completed: int | None) -> Request:
    return Request(Kind.FLUSH, 0, 0, False, issued, completed)


def entry(sector: int, count: int = 8, flags: int = 0, data: int = 0) -> Entry:
    return Entry(sector, count, flags, data)


def drive(*requests: Request) -> Drive:
    """A drive whose log has the writes in the order in which they were issued."""
    return match([entry(one.sector, one.count) for one in requests if one.kind is Kind.WRITE], requests)


def kept(drive: Drive, cut: int, cache: Cache = NOTHING) -> list[int]:
    return [part.entry.sector for part in drive.parts(cut, cache, Random(1))]


def test_write_is_durable_once_a_later_flush_is_completed() -> None:
    one = drive(write(8, 1, 2), flush(3, 4))
    assert kept(one, 4) == []
    assert kept(one, 5) == [8]
    assert one.volatile(4) == 1
    assert one.volatile(5) == 0


def test_flush_does_not_keep_a_write_that_was_completed_after_its_issue() -> None:
    assert kept(drive(write(8, 1, 4), flush(3, 5)), 6) == []


def test_flush_that_was_not_completed_keeps_nothing() -> None:
    assert kept(drive(write(8, 1, 2), flush(3, None)), 9) == []


def test_completed_fua_write_is_durable_by_itself() -> None:
    one = drive(write(8, 1, 3, fua=True), write(16, 2, 4))
    assert kept(one, 5) == [8]
    assert kept(one, 3) == []
    assert kept(drive(write(8, 1, None, fua=True)), 9) == []


def test_any_part_of_what_was_not_durable_may_survive_but_nothing_later() -> None:
    one = drive(write(8, 1, 2), write(16, 3, None), write(24, 7, 8))
    assert kept(one, 5, ALL) == [8, 16]
    half = {tuple(p.entry.sector for p in one.parts(5, Cache(0.5), Random(seed))) for seed in range(50)}
    assert half == {(), (8,), (16,), (8, 16)}


def test_torn_write_survives_in_whole_blocks() -> None:
    one = drive(write(64, 1, 2, count=20))
    assert list(one.parts(5, Cache(1.0, torn=True), Random(1))) == [
        Part(entry(64, 20), 0, 8),
        Part(entry(64, 20), 8, 8),
        Part(entry(64, 20), 16, 4),
    ]
    found = {tuple(part.first for part in one.parts(5, Cache(0.5, torn=True), Random(seed))) for seed in range(80)}
    assert len(found) == 8


def test_durable_write_is_never_torn() -> None:
    one = drive(write(64, 1, 2, count=20), flush(3, 4))
    assert list(one.parts(5, Cache(0.0, torn=True), Random(1))) == [Part(entry(64, 20), 0, 20)]


def test_requests_for_one_range_are_matched_in_their_order() -> None:
    """What was written twice has the data of the entry that belongs to the request."""
    first, second = entry(8, data=1000), entry(8, data=2000)
    one = match([first, entry(0, 0, FLUSH), second], [write(8, 1, 2, fua=True), write(8, 3, 4)])
    assert [part.entry.data for part in one.parts(9, NOTHING, Random(1))] == [1000]


def test_discard_is_not_taken_for_a_write_of_the_same_range() -> None:
    asked = [write(8, 1, 2, fua=True), Request(Kind.DISCARD, 8, 8, False, 3, 4)]
    one = match([entry(8), entry(8, flags=DISCARD)], asked)
    assert [write.request.kind for write in one.writes] == [Kind.WRITE, Kind.DISCARD]


def test_log_may_go_on_after_the_trace() -> None:
    assert len(match([entry(8), entry(16)], [write(8, 1, 2)]).writes) == 1


def test_entry_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(BadInput, match=r"no request for Entry\(sector=16"):
        match([entry(8), entry(16), entry(24)], [write(8, 1, 2), write(24, 3, 4)])


def test_completed_request_that_the_log_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="no entry for 1 completed requests"):
        match([entry(8)], [write(8, 1, 2), write(16, 3, 4)])
    assert len(match([entry(8)], [write(8, 1, 2), write(16, 3, None)]).writes) == 1
