# SPDX-License-Identifier: Apache-2.0
"""`millrace history`: a table with sparklines, a document with gaps, and why something is not known."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import UsageError
from click.testing import CliRunner

from millrace.cli.program import millrace
from millrace.observe.history import history_paths, query, text
from millrace.observe.history.database import DAY_BYTES, opened
from millrace.observe.history.model import HistoryReport
from millrace.observe.history.series import DAY, HOUR, KINDS, MINUTE
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from millrace.system.heartbeat import Heartbeat
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.observe.history.minutes import START, worked


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


def asked(*names: str, seconds: int = HOUR, minutes: int = 60) -> HistoryReport:
    return query.history(names, seconds, now=START + minutes * MINUTE)


def test_minutes_without_a_value_are_gaps(box: Box) -> None:
    worked(box, 5)
    worked(box, 5, first=40)
    [series] = asked("nfs-read").series
    assert len(series.points) == 61
    known = [number for number, point in enumerate(series.points) if point is not None]
    assert known == [2, 3, 4, 5, 41, 42, 43, 44]
    assert series.mean == series.peak == series.last == pytest.approx(9e9 / 60)


def test_beginning_of_names_and_one_of_a_kind_are_found(box: Box) -> None:
    worked(box, 3)
    assert [figure.name for figure in asked("nfs").series] == ["nfs-read", "nfs-write", "nfs-operations", "nfs-latency"]
    [port] = asked("port-send:ens1np0").series
    assert port.of == "ens1np0" and len(asked("port-send").series) == 2


@pytest.mark.parametrize("name", ["nsf", "", ":home", "nfs-rea", "x" * 100])
def test_name_of_no_series_is_bad_input(box: Box, name: str) -> None:
    with pytest.raises(BadInput, match=r"no series is called .*: there are nfs-read"):
        asked(name)


def test_value_that_is_kept_every_ten_minutes_holds_until_the_next_is_due(box: Box) -> None:
    with opened(history_paths.history_file(), DAY_BYTES, 0o644) as database:
        at = (START - 5 * MINUTE, START + 5 * MINUTE, START + 45 * MINUTE)
        database.write([(when, ("drive-temperature", "S1"), 40.0 + number) for number, when in enumerate(at)])
    [series] = asked("drive-temperature").series
    known = [number for number, point in enumerate(series.points) if point is not None]
    assert known == [*range(15), *range(45, 55)]
    assert (series.points[0], series.points[5], series.peak) == (40.0, 41.0, 42.0)


def test_quiet_minutes_of_a_client_are_zero_and_those_without_a_value_unknown(box: Box) -> None:
    with opened(history_paths.history_file(), DAY_BYTES, 0o644) as database:
        database.write([(START + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(30)])
        database.write([(START + 3 * MINUTE, ("client-read", "10.0.0.1"), 600.0)])
    [series] = asked("client-read").series
    assert series.points[3] == 600.0 and series.points[4] == 0.0 and series.points[40] is None
    assert series.mean == 20.0


def test_ten_of_many_clients_are_shown_the_largest_first(box: Box) -> None:
    with opened(history_paths.history_file(), DAY_BYTES, 0o644) as database:
        database.write([(START + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(30)])
        names = range(300)
        database.write([(START + name % 30 * MINUTE, ("client-read", str(name)), 1.0 + name) for name in names])
    result = asked("client-read").series
    assert [figure.of for figure in result] == [str(name) for name in range(299, 289, -1)]


def test_points_are_bounded_for_every_span(box: Box) -> None:
    worked(box, 3)
    for seconds in (600, HOUR, DAY, 7 * DAY, 366 * DAY):
        result = asked("cpu", "nfs-read", seconds=seconds)
        assert all(len(figure.points) <= query.POINTS + 1 for figure in result.series)
        assert result.step % MINUTE == 0 and result.since % result.step == 0


def test_copy_on_a_pool_that_does_not_answer_is_not_read(box: Box) -> None:
    worked(box, 3)
    write_model(paths.heartbeat_file(), Heartbeat(uptime=0, problem="no reply after 20 s", error=""))
    result = asked("nfs-read")
    assert result.notes == ["the history on the pool is not read: the pool does not answer"]
    assert result.series[0].last is not None


def test_damaged_copy_is_a_note(box: Box) -> None:
    worked(box, 3)
    damaged = paths.ROOT / "srv/pool" / paths.POOL_HISTORY
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * 4096)
    [note] = asked("nfs-read").notes
    assert note == f"{damaged}: file is not a database"


def test_user_without_rights_sees_the_last_day(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    worked(box, 3)
    # which such a user cannot open
    history_paths.history_file().unlink()
    monkeypatch.setattr("os.geteuid", lambda: 1001)
    result = asked("nfs-read")
    assert result.series and result.notes == ["more than the last day requires root"]


def test_server_of_today_has_no_forecast_yet(box: Box) -> None:
    worked(box, 3)
    result = asked("pool")
    assert result.forecast is not None and "not enough history" in result.forecast.sentence
    assert asked("cpu").forecast is None


def test_text_is_a_table_with_sparklines(box: Box) -> None:
    worked(box, 5)
    said = list(text.lines(asked("nfs-read", "pool-used")))
    assert said[0].split() == ["Series", "What", "Now", "Mean", "Peak", "History"]
    assert said[1].startswith("nfs-read") and "150 MB/s" in said[1] and "█" in said[1] and "·" in said[1]
    assert any(line.startswith("There is not enough history") for line in said)
    assert text.sparkline([0.0, None, 4.0, 8.0]) == "▁·▅█"
    assert text.sparkline([]) == "" and text.sparkline([0.0, 0.0]) == "▁▁"


def test_each_kind_has_words_for_its_values() -> None:
    assert [text.value(0.5, kind.unit) for kind in KINDS.values()].count(None) == 0
    assert text.value(None, "bytes") is None and text.value(0.0004, "seconds") == "0.40 ms"


def test_verb_prints_one_document(box: Box) -> None:
    result = CliRunner().invoke(millrace, ["history", "cpu", "--json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert (document["schema_version"], document["series"]) == (1, [])
    assert "nothing has been kept since this server was started" in document["notes"]


@pytest.mark.parametrize("span", ["5m", "24", "367d", "-1h", "1w", "999999d"])
def test_span_that_is_none_is_wrong_usage(box: Box, span: str) -> None:
    with pytest.raises(UsageError, match="is not a span from 10 minutes to a year: write it like 24h, 7d or 365d"):
        CliRunner().invoke(millrace, ["history", "--since", span], standalone_mode=False, catch_exceptions=False)
