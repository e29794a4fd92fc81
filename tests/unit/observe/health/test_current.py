# SPDX-License-Identifier: Apache-2.0
"""Without root a user sees the last health document and the present state of the arrays."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.inventory.drive_tests import DriveTest, DriveTests
from millrace.measure.bench.result import live
from millrace.measure.bench.result.model import State
from millrace.measure.bench.result.outputs import Progress
from millrace.measure.tuner.model import State as TunerState
from millrace.measure.tuner.run import live as tuner_live
from millrace.measure.tuner.run import order
from millrace.measure.tuner.run.outputs import Progress as TunerProgress
from millrace.measure.tuner.search.goals import parse
from millrace.observe.health.current import current, last_recorded, stopped
from millrace.observe.health.host import Host
from millrace.observe.health.jobs import jobs
from millrace.observe.health.model import Level
from millrace.observe.health.status import Status, lines, status
from millrace.observe.health.write import publish
from millrace.storage.record.test_order import DriveTestProgress, DriveTestsProgress
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.mounts import unmount_all


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path, user=1001) as made:
        made.provision()
        made.shares()
        made.look()
        yield made


def look() -> Status:
    return status(Host())


def test_everything_that_root_saw_is_there(box: Box) -> None:
    seen = look()
    assert not seen.as_root
    assert {one.check for one in seen.health.findings} >= {"pool", "arrays", "nfs", "smb", "shares", "cockpit"}
    assert seen.health.level is Level.WARN
    assert [one.url for one in seen.addresses] == ["https://10.77.0.1:9090", "https://10.77.1.1:9090"]
    assert (seen.product, seen.version, seen.hostname) == ("Millrace", "0.1.0", "millrace")
    assert seen.space is not None and seen.space.used + seen.space.free == seen.space.size


def test_a_drive_that_is_pulled_is_seen_without_waiting_for_root(box: Box) -> None:
    box.pull("data", 3)
    [finding] = [one for one in look().health.findings if "is degraded" in one.sentence]
    assert finding.level is Level.WARN
    assert finding.sentence == (
        "Array data (RAID6) is degraded: bay 4 (MRD00000000004) is missing; it survives 1 more failure."
    )
    assert look().next[0] == f"{finding.sentence} Replace the drive: millrace drive replace MRD00000000004"


def test_what_to_do_next_is_said_once_and_the_worst_first(box: Box) -> None:
    unmount_all(box.tree.root)
    found = look().next
    assert found[0].startswith("/srv/pool is not mounted. systemctl status srv-pool.mount")
    assert len(set(found)) == len(found)


def test_before_root_looked_nothing_is_said_to_be_well(box: Box) -> None:
    paths.health_file().unlink()
    found = last_recorded(Host())
    assert found.level is Level.UNKNOWN
    assert "not been checked in this boot yet" in found.findings[-1].sentence + found.findings[0].sentence


def test_stale_health_document_is_a_failure(box: Box) -> None:
    text = paths.health_file().read_text().replace("2026-11-20T12:00", "2026-11-20T11:55")
    paths.health_file().write_text(text)
    assert current(Host()).level is Level.FAIL
    assert any("results shown are from 2026-11-20 11:55 UTC" in one.sentence for one in current(Host()).findings)


def test_root_too_reads_that_the_timer_has_stopped(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        assert current(Host()).level is Level.WARN
        text = paths.health_file().read_text().replace("2026-11-20T12:00", "2026-11-20T11:55")
        paths.health_file().write_text(text)
        assert current(Host()).level is Level.FAIL
        # the clock was put right: what was written is from a time that has not come yet
        paths.health_file().write_text(text.replace("2026-11-20T11:55", "2036-11-20T11:55"))
        assert current(Host()).level is Level.FAIL


def test_a_check_that_does_not_end_is_a_failure_on_the_console(box: Box) -> None:
    for _ in range(2):
        publish(stopped(), list, lambda: None)
    text = (box.root / "run/issue.d/50-millrace.issue").read_text()
    assert "Health: FAIL" in text
    assert text.count("The health check has stopped; the results shown are from 2026-11-20 12:00 UTC") == 1
    # pages that read it do not take it for new
    assert last_recorded(Host()).at == "2026-11-20T12:00:00+00:00"
    assert [one.check for one in last_recorded(Host()).findings].count("health") == 1
    paths.health_file().write_text("{")
    assert stopped().level is Level.FAIL
    assert last_recorded(Host()).level is Level.UNKNOWN


def test_a_benchmark_is_a_job_while_it_speaks(box: Box) -> None:
    live.begin()
    assert look().jobs == []
    said = Progress(run="r1", time=time.time(), state=State.RUNNING, what="read 1M", progress=0.4, seconds_left=60)
    live.write(said)
    assert [(job.name, job.what, job.progress) for job in look().jobs] == [("benchmark", "read 1M", 0.4)]
    live.write(said.model_copy(update={"time": time.time() - 600}))
    assert look().jobs == []
    live.write(said.model_copy(update={"state": State.DONE}))
    assert look().jobs == []


def test_a_tuner_run_is_a_job_with_its_start_while_its_unit_is_active(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = True
    monkeypatch.setattr(order, "active", lambda run: active)
    at = "2026-11-24T16:00:00+00:00"
    # a reading takes longer than a benchmark may be silent
    said = TunerProgress(run="r1", time=time.time() - 600, started=at, state=TunerState.RUNNING, what="reading 4")
    tuner_live.write(said)
    [job] = look().jobs
    assert (job.name, job.what) == ("tuner", "reading 4, since 2026-11-24 16:00 UTC")
    [line] = [one for one in lines(look()) if "tuner" in one]
    assert "tuner, reading 4, since 2026-11-24 16:00 UTC" in line
    tuner_live.write(said.model_copy(update={"goal": parse("seq-read")[0]}))
    assert look().jobs[0].what == "reading 4: sequential reads, over NFS, since 2026-11-24 16:00 UTC"
    active = False
    assert look().jobs == []
    active = True
    tuner_live.write(said.model_copy(update={"state": TunerState.DONE}))
    assert look().jobs == []


def test_rebuild_is_a_job_with_its_rate(box: Box) -> None:
    box.md("data", sync_action="recover", sync_completed="250 / 1000", sync_speed="50000")
    [job] = look().jobs
    assert (job.name, job.what, job.progress) == ("rebuild", "array data", 0.25)
    assert job.bytes_per_second == 51_200_000 and job.seconds_left is not None


def test_change_of_drives_is_a_job_until_it_stops(box: Box) -> None:
    journal = box.change(3, 12)
    [job] = look().jobs
    assert (job.name, job.progress) == ("drive change", 0.5)
    assert job.what == "the replacement of MRD00000000004 by MRD00000000013"
    journal.stopped("mdadm failed")
    assert look().jobs == []
    paths.drive_change_file().write_text("{")
    assert look().jobs == []


def test_tests_of_drives_are_one_job_as_long_as_the_longest(box: Box) -> None:
    assert look().jobs == []
    record = {"id": "1", "wwid": "", "bay": None, "scope": "full", "boot": "", "began": "2026-11-20T11:00:00+00:00"}
    running = [DriveTest.model_validate({**record, "serial": one, "state": "running"}) for one in ("B", "A")]
    write_model(paths.drive_tests_file(), DriveTests(tests=running))
    now = {"what": "writing", "total": 100, "bytes_per_second": 1}
    drives = [
        DriveTestProgress.model_validate({**now, "serial": "A", "done": 50, "seconds_left": 60}),
        DriveTestProgress.model_validate({**now, "serial": "B", "done": 0, "seconds_left": None}),
    ]
    write_model(paths.drive_test_progress_file(), DriveTestsProgress(drives=drives))
    [job] = look().jobs
    assert (job.name, job.what, job.progress, job.seconds_left) == ("drive test", "A, B", 0.25, 60)
    # before there is a pool, too
    assert jobs(None) == [job]
    write_model(paths.drive_tests_file(), DriveTests(tests=[]))
    assert look().jobs == []


def test_a_pool_that_is_being_built_is_a_job(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.begin(done=7)
        [job] = jobs(None)
        assert (job.name, job.what, job.progress) == ("provision", "partition MRD00000000008", 7 / 15)
        paths.transaction_file().write_text("{")
        assert jobs(None) == []


def test_a_policy_with_a_typo_takes_its_own_line_only(box: Box) -> None:
    box.tree.write("etc/millrace/policy.toml", "[nfs\n")
    seen = look()
    assert seen.pool is not None and seen.space is not None and seen.health.findings
    assert any("policy.toml is not valid TOML" in note for note in seen.notes)
    assert any(line.startswith("Note") and "policy.toml" in line for line in lines(seen))


def test_a_pool_file_that_is_torn_takes_its_own_line_only(box: Box) -> None:
    paths.pool_file().write_text("{")
    assert any("pool.json" in note for note in look().notes)


def test_free_space_is_asked_without_touching_the_pool(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(path: object) -> None:
        raise AssertionError(f"{path} would hang")

    monkeypatch.setattr("os.statvfs", hang)
    space = look().space
    assert space is not None and space.used + space.free == space.size
    paths.heartbeat_file().unlink()
    assert look().space is None
