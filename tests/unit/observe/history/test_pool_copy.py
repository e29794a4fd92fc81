# SPDX-License-Identifier: Apache-2.0
"""The copy on the pool outlives boots; it is made once an hour and changes nothing where the pool takes nothing."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.lifecycle.keep import generation_store
from millrace.observe.health.clock import ClockState
from millrace.observe.history import history_paths, pool_copy, query
from millrace.observe.history.database import HistoryFile, opened
from millrace.observe.history.series import DAY, HOUR, KINDS, MINUTE
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.mounts import unmount_all
from tests.unit.observe.history.minutes import START, worked


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


def kept() -> Path:
    return paths.ROOT / "srv/pool" / paths.POOL_HISTORY


def reboot() -> None:
    """Lose what is in memory."""
    for path in (history_paths.history_file(), history_paths.history_readings_file()):
        path.unlink()


def test_minutes_and_hours_are_on_the_pool_for_root_alone(box: Box) -> None:
    worked(box, 70)
    assert pool_copy.store(START + 71 * MINUTE)
    with HistoryFile(kept()) as database:
        assert len(list(database.rows(0, ["nfs-read"]))) == 69
        hours = {at: (mean, peak) for at, _, mean, peak in database.slots(0, ["nfs-read"])}
    assert hours == {START: (9e9 / 60, 9e9 / 60), START + HOUR: (9e9 / 60, 9e9 / 60)}
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600
    assert stat.S_IMODE(kept().parent.stat().st_mode) == 0o700


def test_copy_is_made_once_an_hour(box: Box) -> None:
    worked(box, 10)
    assert pool_copy.store(START + 10 * MINUTE)
    worked(box, 5, first=11)
    assert not pool_copy.store(START + 15 * MINUTE)
    assert pool_copy.store(START + 75 * MINUTE)


def test_hour_with_a_restart_in_it_has_the_values_before_and_after(box: Box) -> None:
    worked(box, 20)
    pool_copy.store(START + 20 * MINUTE)
    reboot()
    worked(box, 10, first=90)
    assert pool_copy.store(START + 100 * MINUTE)
    result = query.history(["nfs-read"], 2 * HOUR, now=START + 100 * MINUTE)
    [series] = result.series
    assert sum(point is not None for point in series.points) == 19 + 9
    with HistoryFile(kept()) as database:
        assert [at for at, *_ in database.slots(0, ["nfs-read"])] == [START, START + HOUR]


def test_year_is_read_from_the_pool_and_the_last_hour_from_memory(box: Box) -> None:
    kept().parent.mkdir(parents=True)
    with opened(kept(), pool_copy.YEAR_BYTES, 0o600) as database:
        database.write(slots=[(START - day * DAY, ("cpu", ""), 0.25, 0.5) for day in range(1, 365)])
    worked(box, 30)
    result = query.history(["cpu", "nfs-read"], 365 * DAY, now=START + 30 * MINUTE)
    by_name = {figure.name: figure for figure in result.series}
    assert sum(point is not None for point in by_name["cpu"].points) > 200
    assert by_name["nfs-read"].points[-1] == pytest.approx(9e9 / 60)
    assert len(by_name["cpu"].points) == len(by_name["nfs-read"].points) <= query.POINTS + 1


def hours_on_the_pool() -> list[int]:
    with HistoryFile(kept()) as database:
        return [at for at, *_ in database.slots(0, ["cpu"])]


def set_clock(synchronised: bool) -> None:
    write_model(paths.clock_file(), ClockState(uptime=900.0, ahead=0.0, synchronised=synchronised))


@pytest.mark.parametrize(
    "years", [-3, 3], ids=["hours that a clock ahead makes old", "hours that one behind has not had"]
)
def test_clock_that_is_not_synchronised_ends_no_year(box: Box, years: int) -> None:
    hours = [START + years * 366 * DAY + hour * HOUR for hour in range(5)]
    generation_store.make_directory(paths.ROOT / "srv/pool", "history")
    with opened(kept(), pool_copy.YEAR_BYTES, 0o600) as database:
        database.write(slots=[(at, ("cpu", ""), 0.25, 0.5) for at in hours])
    set_clock(synchronised=False)
    worked(box, 10)
    assert pool_copy.store(START + 11 * MINUTE)
    assert set(hours) <= set(hours_on_the_pool())
    [series] = query.history(["nfs-read"], 365 * DAY, now=START + 11 * MINUTE).series
    assert series.points[-1] == pytest.approx(9e9 / 60)
    set_clock(synchronised=True)
    worked(box, 10, first=90)
    assert pool_copy.store(START + 100 * MINUTE)
    assert not set(hours) & set(hours_on_the_pool())


def test_pool_that_is_not_mounted_gets_nothing_below_its_mount_point(box: Box) -> None:
    worked(box, 2)
    unmount_all(box.root)
    with pytest.raises(Failed, match="is not mounted"):
        pool_copy.store(START + 3 * MINUTE)
    assert not kept().parent.exists()


def test_pool_that_takes_nothing_costs_no_value_in_memory(box: Box) -> None:
    worked(box, 3)
    kept().parent.parent.mkdir(mode=0o700)
    kept().parent.write_text("no directory")
    with pytest.raises(Failed, match="is not a directory of root alone"):
        pool_copy.store(START + 3 * MINUTE)
    with HistoryFile(history_paths.history_file()) as database:
        assert len(list(database.rows(0, ["nfs-read"]))) == 2


def test_server_without_a_pool_is_refused(tmp_path: Path) -> None:
    with server(tmp_path), pytest.raises(Refused):
        pool_copy.store(START)


def test_clients_of_an_hour_are_the_ten_largest_by_all_of_it() -> None:
    rows = [(START + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(60)]
    # a client of one minute, and eleven of each minute
    rows += [(START, ("client-read", "short"), 30.0)]
    rows += [
        (START + minute * MINUTE, ("client-read", f"10.0.0.{number}"), 10.0 + number)
        for minute in range(60)
        for number in range(11)
    ]
    result = {key[1]: mean for _, key, mean, _ in pool_copy.slots(rows) if key[0] == "client-read"}
    assert len(result) == KINDS["client-read"].most
    assert "short" not in result and result["10.0.0.10"] == 20.0


def test_client_that_was_busy_for_one_minute_has_a_mean_over_the_hour() -> None:
    rows = [(START + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(60)]
    rows += [(START, ("client-read", "short"), 60.0)]
    assert (START, ("client-read", "short"), 1.0, 60.0) in pool_copy.slots(rows)


def test_usage_of_a_day_is_its_newest() -> None:
    day = START // DAY * DAY
    rows = [(day + hour * HOUR, ("share-used", "data"), float(hour)) for hour in range(5)]
    assert pool_copy.slots(rows) == [(day, ("share-used", "data"), 4.0, 4.0)]
