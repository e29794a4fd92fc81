# SPDX-License-Identifier: Apache-2.0
"""A drive that came back and is not in its array is named with its bay; one that is in it again is not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import returns
from millrace.observe.health.model import Level
from millrace.storage.assemble import failures, revival_limit
from millrace.storage.assemble.readd import Return, Returns
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.unit.observe.health.servers import host, well


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def came_back(outcome: str, hours: float = 1, array: str = "data") -> Return:
    at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")
    return Return.model_validate({"serial": "S3", "array": array, "at": at, "outcome": outcome})


def test_drive_that_is_left_out_is_named_with_the_remedy() -> None:
    write_model(paths.returns_file(), Returns(returns=[came_back("re-added", 3), came_back("left-out")]))
    here = host()
    here.bays = {"S3": "4"}
    [finding] = returns.check(here)
    assert finding.level is Level.WARN and finding.key == "returns/data/S3"
    assert finding.sentence == "Bay 4 (S3) has returned to array data more than 3 times in 24 hours and is left out."
    assert finding.todo == "Replace the drive."


def test_member_that_is_left_out_has_the_command(tmp_path: Path) -> None:
    well(tmp_path)
    serial = read_model(paths.pool_file(), Pool).arrays[0].members[0].serial
    write_model(paths.returns_file(), Returns(returns=[came_back("left-out").model_copy(update={"serial": serial})]))
    [finding] = returns.check(host())
    assert finding.todo == f"Replace the drive: millrace drive replace {serial}"


def test_drive_that_could_not_be_re_added_is_named_until_it_is() -> None:
    here = host()
    here.bays = {}
    write_model(paths.returns_file(), Returns(returns=[came_back("failed", 2), came_back("re-added", array="log")]))
    [finding] = returns.check(here)
    assert finding.sentence == "Drive S3 has returned to array data and could not be re-added."
    write_model(paths.returns_file(), Returns(returns=[came_back("failed", 2), came_back("re-added", 1)]))
    assert returns.check(here) == []


def test_yesterday_and_no_record_are_no_finding() -> None:
    assert returns.check(host()) == []
    write_model(paths.returns_file(), Returns(returns=[came_back("left-out", 25)]))
    assert returns.check(host()) == []


def test_return_that_the_boot_drive_did_not_take_is_a_finding_of_its_own() -> None:
    here = host()
    here.bays = {"S3": "4"}
    write_model(paths.unrecorded_returns_file(), Returns(returns=[came_back("re-added", 2), came_back("re-added")]))
    [finding] = returns.check(here)
    assert finding.level is Level.WARN and finding.key == "returns/unrecorded"
    assert finding.sentence == (
        "The return of bay 4 (S3) to array data could not be recorded on the boot drive: "
        "after a restart a drive that comes and goes is re-added 3 more times."
    )
    assert finding.todo is not None and finding.todo.startswith("Free space on the boot drive: ")
    # nobody returned for a day
    write_model(paths.unrecorded_returns_file(), Returns(returns=[came_back("re-added", 25)]))
    assert returns.check(here) == []


def test_array_that_is_not_started_by_itself_any_more_fails(tmp_path: Path) -> None:
    well(tmp_path)
    pool = read_model(paths.pool_file(), Pool)
    data = pool.arrays[0].model_copy(update={"uuid": "1:2:3:4"})
    write_model(paths.pool_file(), pool.model_copy(update={"arrays": [data, *pool.arrays[1:]]}))
    now = datetime.now(UTC).isoformat()
    for _ in range(2):
        revival_limit.add([data], now)
    assert returns.check(host()) == []
    revival_limit.add([data], now)
    [finding] = returns.check(host())
    assert (finding.level, finding.subject) == (Level.FAIL, data.array.name)
    assert finding.sentence == (
        "Array data (RAID6) broke and was started again by itself 3 times in 24 hours, and is not started by itself "
        "any more."
    )
    assert finding.todo == "Check its drives, cables and backplane. If it does not run: millrace pool revive"


def test_member_that_cannot_be_identified_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    well(tmp_path)
    assert returns.check(host()) == []
    log = read_model(paths.pool_file(), Pool).arrays[-1].array.name
    monkeypatch.setattr(failures, "unidentified", lambda _: ["sdc"])
    finding = returns.check(host())[-1]
    assert (finding.level, finding.subject) == (Level.WARN, log)
    assert finding.sentence == (
        f"sdc of array {log} cannot be identified: if drives fail together, it is not known which failed last, and the "
        "array is not started by itself."
    )
