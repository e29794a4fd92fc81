# SPDX-License-Identifier: Apache-2.0
"""Counters become rates; a counter that went back, or a long pause, becomes nothing."""

import pytest

from millrace.observe.history.rates import LONGEST, WRAP, values
from millrace.observe.history.readings import CounterStream, Readings
from millrace.observe.history.series import MOST_RANKED

SOURCES = ["shares", "clients"]


def at(uptime: float, **counters: float) -> Readings:
    return Readings(uptime=uptime, counters={name.replace("_", "-"): value for name, value in counters.items()})


def streams(uptime: float, *given: tuple[str, int, int, int]) -> Readings:
    made = {
        of: CounterStream(of=of, source=f"{of.partition('/')[0]}s", began=began, read=read, written=written)
        for of, began, read, written in given
    }
    return Readings(uptime=uptime, streams=made, sources=SOURCES)


def test_first_reading_has_figures_and_no_rates() -> None:
    assert values(None, at(10, nfs_read=5), {("memory", ""): 0.5}) == {("memory", ""): 0.5}


def test_rate_is_over_the_time_between_two_readings() -> None:
    assert values(at(0, nfs_read=1000), at(50, nfs_read=6000), {}) == {("nfs-read", ""): 100}


def test_counter_that_was_reset_is_unknown_for_one_reading() -> None:
    assert values(at(0, nfs_read=1000, smb_read=0), at(60, nfs_read=10, smb_read=60), {}) == {("smb-read", ""): 1}


def test_counter_of_32_bits_goes_on_after_its_end() -> None:
    result = values(at(0, nfs_operations=WRAP - 100), at(10, nfs_operations=900), {})
    assert result == {("nfs-operations", ""): 100}


def test_counter_of_32_bits_that_was_reset_is_unknown() -> None:
    assert values(at(0, nfs_operations=5000), at(10, nfs_operations=900), {}) == {}


@pytest.mark.parametrize("uptime", [0.0, -5.0, LONGEST + 1])
def test_readings_of_another_boot_or_too_far_apart_give_no_rate(uptime: float) -> None:
    assert values(at(0, nfs_read=0), at(uptime, nfs_read=10), {}) == {}


def test_mean_is_unknown_where_nothing_was_asked() -> None:
    before = Readings(uptime=0, means={"nfs-latency": (1.0, 100), "cpu": (10, 100)})
    now = Readings(uptime=60, means={"nfs-latency": (1.0, 100), "cpu": (60, 200)})
    assert values(before, now, {}) == {("cpu", ""): 0.5}


def test_connections_of_a_client_are_added() -> None:
    before = Readings(
        uptime=0,
        sources=SOURCES,
        streams={"a": CounterStream(of="client/10.0.0.1", source="clients", began=0, read=100, written=0)},
    )
    more = {
        "a": CounterStream(of="client/10.0.0.1", source="clients", began=0, read=400, written=0),
        "b": CounterStream(of="client/10.0.0.1", source="clients", began=0, read=600, written=60),
    }
    result = values(before, Readings(uptime=60, sources=SOURCES, streams=more), {})
    assert result == {("client-read", "10.0.0.1"): 15, ("client-write", "10.0.0.1"): 1}


def test_export_that_mountd_gave_again_begins_at_zero() -> None:
    before, now = streams(0, ("share/home", 7, 1_000_000, 0)), streams(60, ("share/home", 99, 1_200_000, 0))
    assert values(before, now, {}) == {("share-read", "home"): 20_000}


def test_stream_is_unknown_where_its_source_could_not_be_read_before() -> None:
    before = streams(0).model_copy(update={"sources": []})
    assert values(before, streams(60, ("client/10.0.0.1", 0, 1 << 40, 0)), {}) == {}


def test_bytes_of_both_protocols_are_added_and_requests_of_one_are_counted() -> None:
    smb = CounterStream(of="share/home", source="smb-shares", began=0, read=60, written=120, operations=30)
    before = streams(0, ("share/home", 7, 0, 0)).model_copy(update={"sources": ["shares", "smb-shares"]})
    now = streams(60, ("share/home", 7, 600, 0))
    now.streams["smb share home:44.0[10.0.0.1]"] = smb
    result = values(before, now, {})
    assert result == {("share-read", "home"): 11, ("share-write", "home"): 2, ("share-operations", "home"): 0.5}


def test_record_of_a_client_that_came_back_counts_from_zero() -> None:
    def one(uptime: float, read: int, operations: int) -> Readings:
        made = CounterStream(of="share/home", source="smb-shares", began=0, read=read, operations=operations)
        return Readings(uptime=uptime, sources=["smb-shares"], streams={"home:44.0[10.0.0.1]": made})

    # fewer requests than before: bytes, too, are those since it came back
    result = values(one(0, 600, 500), one(60, 1200, 60), {})
    assert result == {("share-read", "home"): 20, ("share-operations", "home"): 1}


def test_share_with_many_requests_is_kept_beside_those_with_many_bytes() -> None:
    made = {
        f"{number}": CounterStream(
            of=f"share/s{number:02}", source="smb-shares", began=0, read=number * 6000, operations=600 - number
        )
        for number in range(1, 31)
    }
    empty = Readings(uptime=0, sources=["smb-shares"])
    result = values(empty, Readings(uptime=60, sources=["smb-shares"], streams=made), {})
    assert {label for name, label in result if name == "share-read"} == {f"s{number}" for number in range(21, 31)}
    most = {label for name, label in result if name == "share-operations"}
    assert most == {f"s{number:02}" for number in range(1, 11)}


def test_ten_clients_of_300_are_kept_by_what_they_transfer() -> None:
    before = streams(0)
    now = streams(60, *((f"client/10.0.{number // 250}.{number % 250}", 0, number * 60, 60) for number in range(300)))
    result = values(before, now, {})
    read = {label: value for (name, label), value in result.items() if name == "client-read"}
    assert len(read) == MOST_RANKED and min(read.values()) == 290
    assert {label for name, label in result if name == "client-write"} == set(read)
