# SPDX-License-Identifier: Apache-2.0
"""The search after an unclean start as a job: begun again after a restart, ended by an acknowledgement."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import UncleanStarts
from millrace.storage.record.pool_file import load_pool
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.storage.unclean import suspects, torn_rows, unclean_find, unclean_job
from millrace.storage.unclean.unclean_job import JOB
from millrace.system.errors import Failed, Refused
from tests.fakes.files.box import Box
from tests.fakes.jobs import JobManager
from tests.unit.storage.unclean.searched import start, torn

UNIT = "millrace-unclean.service"


class Search:
    """What the unit does instead of the search: `does`, then the starts that are to be acknowledged."""

    def __init__(self) -> None:
        self.does: Callable[[Callable[[str], None]], object] = lambda report: None
        self.runs = 0

    def __call__(self, pool: object, context: object, report: Callable[[str], None]) -> UncleanStarts | None:
        self.runs += 1
        self.does(report)
        return unclean.pending()


@pytest.fixture
def systemd(box: Box, root_user: Path, monkeypatch: pytest.MonkeyPatch) -> JobManager:
    assert box.root.is_dir() and root_user.is_dir()
    found = JobManager(UNIT)
    monkeypatch.setattr("millrace.system.run.attempt", found)
    return found


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Search:
    made = Search()
    monkeypatch.setattr(unclean_find, "find", made)
    return made


def execute(systemd: JobManager) -> UncleanStarts | None:
    return unclean_job.execute(load_pool(), CheckContext(systemd, lambda seconds: False), lambda line: None)


def ended(systemd: JobManager) -> tuple[str, str | None]:
    last = JOB.last(systemd)
    assert last is not None
    return last.state, last.reason


def finished(report: object) -> None:
    """The files are known, and torn rows are repaired."""
    starts = unclean.pending()
    assert starts is not None
    known = suspects.Suspects(count=0, listed=0, complete=True)
    done = [one.model_copy(update={"check": "done"}) for one in starts.starts]
    unclean.write_model(unclean.paths.unclean_file(), starts.model_copy(update={"starts": done, "suspects": known}))


def test_boot_without_an_unclean_start_is_no_job(systemd: JobManager, search: Search) -> None:
    assert execute(systemd) is None and (JOB.last(systemd), search.runs) == (None, 0)


def test_search_is_a_job_of_its_arrays_until_its_end(systemd: JobManager, search: Search) -> None:
    start(check="waiting")
    glance = JOB.glance()
    assert glance is not None and glance.what == "array data: parity check for torn rows"
    torn()
    glance = JOB.glance()
    assert glance is not None and glance.what == "array data: files that may be damaged"
    search.does = finished
    assert execute(systemd) is not None
    last = JOB.last(systemd)
    assert last is not None and (last.what, last.state, last.by) == ("array data", "done", "the server")
    # what is done is not done again
    execute(systemd)
    assert search.runs == 1


def test_search_that_systemd_stops_goes_on_in_the_next_boot(systemd: JobManager, search: Search) -> None:
    start(check="waiting")
    with pytest.raises(SystemExit) as stopped:
        execute(systemd)
    assert stopped.value.code == 0
    unclean_job.clean_up()
    assert ended(systemd) == ("waiting", None)
    search.does = finished
    execute(systemd)
    assert ended(systemd) == ("done", None)


def test_acknowledgement_ends_the_job(systemd: JobManager, search: Search, capsys: pytest.CaptureFixture[str]) -> None:
    start()
    search.does = lambda report: unclean.acknowledge()
    assert execute(systemd) is None
    assert ended(systemd) == ("cancelled", torn_rows.ACKNOWLEDGED)
    torn()
    with pytest.raises(KeyboardInterrupt):
        search.does = killed
        execute(systemd)
    assert ended(systemd) == ("waiting", None)
    assert run(["pool", "acknowledge"]) == 0
    assert "1 unclean start acknowledged" in capsys.readouterr().out
    assert ended(systemd) == ("cancelled", torn_rows.ACKNOWLEDGED)


def killed(report: object) -> None:
    raise KeyboardInterrupt


def test_rows_that_are_not_repaired_are_why_it_failed(systemd: JobManager, search: Search) -> None:
    torn()
    search.does = lambda report: report("array data: torn rows are not repaired yet: the array is not running")
    execute(systemd)
    assert ended(systemd) == ("failed", "array data: torn rows are not repaired yet: the array is not running")


def test_verb_lets_the_unit_search_and_waits_for_it(
    systemd: JobManager, search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    torn()
    search.does = finished
    systemd.run = lambda: execute(systemd)
    assert run(["pool", "unclean", "--find"]) == 0
    assert "no file is known to be damaged" in capsys.readouterr().out
    last = JOB.last(systemd)
    assert last is not None and (last.state, last.by) == ("done", "root")
    # nothing is left to do
    calls = len(systemd.calls)
    assert run(["pool", "unclean", "--find"]) == 0 and len(systemd.calls) == calls


def test_verb_says_why_the_search_failed(systemd: JobManager, search: Search) -> None:
    torn()

    def broken(report: object) -> None:
        raise Failed("xfs_io does not read")

    def execute_it() -> None:
        with pytest.raises(Failed):
            execute(systemd)

    search.does, systemd.run = broken, execute_it
    with pytest.raises(Failed, match="has not ended well: xfs_io does not read"):
        unclean_job.finish(systemd)


def test_cancellation_names_the_acknowledgement(systemd: JobManager) -> None:
    torn()
    systemd.others = {UNIT: "active"}
    with pytest.raises(Refused, match=r"missing members are added after it.*millrace pool acknowledge"):
        JOB.cancel(systemd)
    assert not systemd.called("stop")


def test_two_searches_do_not_end_each_other(systemd: JobManager, search: Search) -> None:
    torn()
    with JOB.alone(), pytest.raises(Refused, match="is running already"):
        execute(systemd)
    assert search.runs == 0
