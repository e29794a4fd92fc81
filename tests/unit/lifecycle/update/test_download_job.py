# SPDX-License-Identifier: Apache-2.0
"""The download of a release as a job: from the order to the staged files, cancelled, and killed."""

import json
from pathlib import Path

import pytest

from millrace.lifecycle.update import download_job, records, release, stage, update_paths, verbs
from millrace.lifecycle.update.download_job import JOB, ORDER
from millrace.lifecycle.update.model import DownloadOrder, Fetch, LastUpdate
from millrace.lifecycle.update.update_job import JOB as UPDATE
from millrace.lifecycle.update.update_job import PROGRESS
from millrace.lifecycle.update.verbs import update
from millrace.system.documents import read_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import job_paths
from millrace.system.run import Result
from tests.unit.lifecycle.update.conftest import Server, make_release
from tests.unit.lifecycle.update.test_verbs import TIMES, say

UNIT = "millrace-update-download.service"
START = f"systemctl start --no-block {UNIT}"
FETCH = f"systemctl start {stage.FETCHER}"


@pytest.fixture
def source(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A web server with a release, and systemd that runs both units."""
    made = make_release(tmp_path / "web")
    records.save_source("https://files.example/millrace/")
    monkeypatch.setattr(verbs, "attempt", server)
    monkeypatch.setattr(verbs, "only_root", lambda: None)

    def fetch() -> None:
        asked = read_model(update_paths.fetch_file(), Fetch)
        update_paths.incoming_file().write_bytes((made / asked.url.rpartition("/")[2]).read_bytes())

    server.before[FETCH] = fetch
    server.before["systemctl start --no-block millrace-update.service"] = lambda: records.save_last(
        LastUpdate(version="0.2.0", before="0.1.0", state="installed", at=next(TIMES), by="admin")
    )
    return made


def described(server: Server) -> None:
    with stage.origin(None, server) as bring:
        stage.describe(bring, server)


def test_update_of_the_source_is_downloaded_by_its_unit_and_installed(server: Server, source: Path) -> None:
    fetched = []

    def execute() -> None:
        before = len(server.called(FETCH))
        download_job.execute(server)
        fetched.append(len(server.called(FETCH)) - before)
        assert release.staged(server).version == "0.2.0"

    server.before[START] = execute
    assert "0.2.0 was installed" in say("apply", "--yes").output
    # usr, usr-verity and kernel; the news came with the description
    assert fetched == [3]
    assert server.called("systemctl start --no-block") == [START, "systemctl start --no-block millrace-update.service"]
    last = JOB.last(server)
    assert last is not None and (last.what, last.state) == ("version 0.2.0", "done")
    assert ORDER.get() is None and not job_paths.update_progress_file().exists()


def test_progress_counts_what_has_arrived_of_a_file(server: Server, source: Path) -> None:
    described(server)
    ORDER.write(DownloadOrder(version="0.2.0", by="admin"))
    shown = []
    fetch = server.before[FETCH]

    def fetched() -> None:
        fetch()
        glance = JOB.glance()
        assert glance is not None and glance.progress is not None
        shown.append((glance.what, round(glance.progress, 2)))

    server.before[FETCH] = fetched
    download_job.execute(server)
    assert shown[0][0] == "version 0.2.0" and 0 < shown[0][1] < shown[-1][1] <= 1


def test_download_that_fails_leaves_nothing_and_says_why(server: Server, source: Path) -> None:
    said = "millrace: files.example does not have it: 404 Not Found\n"

    def execute() -> None:
        server.file("run/millrace/update/fetch.err", said)
        server.broken[FETCH] = Result(1, "", "")
        with pytest.raises(Failed, match="404"):
            download_job.execute(server)

    server.before[START] = execute
    with pytest.raises(Failed, match=r"version 0\.2\.0 was not downloaded: files\.example does not have it"):
        say("apply", "--yes")
    assert not update_paths.staged_dir().exists() and server.called("systemctl start --no-block") == [START]


def test_other_version_than_the_confirmed_one_is_not_downloaded(server: Server, source: Path) -> None:
    described(server)
    ORDER.write(DownloadOrder(version="0.3.0", by="admin"))
    with pytest.raises(BadInput, match=r"version 0\.2\.0 is staged, 0\.3\.0 was confirmed"):
        download_job.execute(server)
    assert not update_paths.staged_dir().exists()


def test_download_holds_the_staged_files_against_other_verbs(server: Server, source: Path) -> None:
    described(server)
    ORDER.write(DownloadOrder(version="0.2.0", by="admin"))
    with UPDATE.alone(), pytest.raises(Refused, match="an update is under way"):
        download_job.execute(server)


def test_no_update_begins_beside_a_download(server: Server, source: Path) -> None:
    server.states[UNIT] = "active"
    with pytest.raises(Refused, match=r"an update is being downloaded.*millrace job cancel update-download"):
        say("apply", "--yes")
    assert server.called("systemctl start") == []


def test_cancelled_download_is_recorded_and_its_files_are_removed(server: Server, source: Path) -> None:
    described(server)
    with JOB.starting(server, "version 0.2.0"):
        ORDER.write(DownloadOrder(version="0.2.0", by="admin"))
    download_job.clean_up(server)
    assert server.calls[-1] == ["systemctl", "stop", stage.FETCHER]
    assert not update_paths.staged_dir().exists() and PROGRESS.get() is None
    last = JOB.last(server)
    assert last is not None and last.state == "interrupted"


def test_end_of_a_download_keeps_what_is_complete(server: Server, source: Path) -> None:
    described(server)
    ORDER.write(DownloadOrder(version="0.2.0", by="admin"))
    download_job.execute(server)
    download_job.clean_up(server)
    assert release.staged(server).version == "0.2.0"
    assert json.loads(say("status", "--json").output)["running"] is False
    assert "0.2.0 was installed" in say("apply", "--uploaded", "--yes").output


def test_verb_of_the_unit_downloads(server: Server, source: Path) -> None:
    described(server)
    ORDER.write(DownloadOrder(version="0.2.0", by="admin"))
    say("download-execute")
    assert release.staged(server).version == "0.2.0"
    say("download-cleanup")
    assert update.commands["download-execute"].hidden and update.commands["download-cleanup"].hidden
