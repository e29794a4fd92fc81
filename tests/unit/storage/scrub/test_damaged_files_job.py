# SPDX-License-Identifier: Apache-2.0
"""The search for damaged files as a job: from the verb and from a check to the result, cancelled, and killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.scrub import damaged_files, damaged_files_job
from millrace.storage.scrub.damaged_files import DamagedFiles
from millrace.storage.scrub.damaged_files_job import JOB, ORDER, RESULT
from millrace.system.errors import Failed, Refused
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.jobs import JOBS, JobManager

UNIT = "millrace-scrub-files.service"
FOUND = DamagedFiles(
    sectors=8, files=["data/victim"], others=["directory data/deep"], notes=["a sentence"], complete=True
)


class Systemd(JobManager):
    TAKEN = (*JOBS, f"systemctl stop {UNIT}")


@pytest.fixture
def box(tmp_path: Path, root_user: Path) -> Iterator[Box]:
    assert root_user.is_dir()
    with server(tmp_path) as made:
        made.provision()
        yield made


@pytest.fixture
def systemd(box: Box, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    assert box.root.is_dir()
    found = Systemd(UNIT)
    monkeypatch.setattr("millrace.system.run.attempt", found)
    monkeypatch.setattr(damaged_files, "search", lambda pool, run: FOUND)
    return found


def test_verb_orders_the_search_and_lists_what_the_unit_found(
    systemd: Systemd, capsys: pytest.CaptureFixture[str]
) -> None:
    systemd.run = lambda: damaged_files_job.execute(load_pool(), systemd)
    assert run(["pool", "scrub", "files"]) == 0
    said = capsys.readouterr()
    assert said.out == "data/victim\n" and "directory data/deep is in a damaged area" in said.err
    last = JOB.last(systemd)
    assert last is not None and (last.what, last.state, last.by) == (damaged_files_job.WHAT, "done", "root")
    # names of files of all users
    assert RESULT.path().stat().st_mode & 0o777 == 0o600


def test_unit_prints_what_it_found(systemd: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pool", "scrub", "files-execute"]) == 0
    assert capsys.readouterr().out == "data/victim\ndirectory data/deep is in a damaged area\na sentence\n"
    assert RESULT.get() == FOUND


def test_search_that_runs_is_waited_for(systemd: Systemd) -> None:
    systemd.others = {UNIT: "active"}
    RESULT.write(FOUND)

    def ends(seconds: float) -> None:
        systemd.others.clear()

    assert damaged_files_job.search(load_pool(), systemd, ends) == FOUND
    assert not systemd.called("start")


def test_search_that_fails_says_why(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(pool: Pool, run: object) -> DamagedFiles:
        raise Failed("xfs_io does not read")

    monkeypatch.setattr(damaged_files, "search", broken)

    def execute() -> None:
        with pytest.raises(Failed):
            damaged_files_job.execute(load_pool(), systemd)

    systemd.run = execute
    with pytest.raises(Failed, match="the files in damaged areas are not known: xfs_io does not read"):
        damaged_files_job.search(load_pool(), systemd)


def test_check_starts_the_search_where_it_found_something_and_nothing_keeps_it(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_files, "is_due", lambda pool: False)
    damaged_files_job.start_after_check(load_pool(), systemd)
    assert not ORDER.path().exists()
    monkeypatch.setattr(damaged_files, "is_due", lambda pool: True)
    systemd.others = {"millrace-update.service": "activating"}
    damaged_files_job.start_after_check(load_pool(), systemd)
    assert not ORDER.path().exists()
    systemd.others.clear()
    damaged_files_job.start_after_check(load_pool(), systemd)
    last = JOB.last(systemd)
    assert ORDER.path().exists() and last is not None and last.by == "the server"


def test_pool_that_is_not_mounted_starts_nothing(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.ismount", lambda path: False)
    with pytest.raises(Refused, match="/srv/pool is not mounted"):
        damaged_files_job.search(load_pool(), systemd)
    assert systemd.calls == []


def test_cancelled_and_killed_searches_are_recorded(systemd: Systemd) -> None:
    damaged_files_job.start(systemd)
    systemd.states = ["active", "inactive"]
    cancelled = JOB.cancel(systemd)
    assert cancelled is not None and cancelled.state == "cancelled"
    damaged_files_job.start(systemd)
    damaged_files_job.clean_up()
    last = JOB.last(systemd)
    assert last is not None and last.state == "interrupted" and not ORDER.path().exists()
