# SPDX-License-Identifier: Apache-2.0
"""Without root a user sees the last health document and the present state of the arrays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.health.current import current, last_recorded, stopped
from millrace.observe.health.host import Host
from millrace.observe.health.jobs import jobs
from millrace.observe.health.model import Level
from millrace.observe.health.status import Status, lines, status
from millrace.observe.health.write import publish
from millrace.storage.record.erasure import EraseOrder
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.jobs import job_paths, record
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
    assert [finding.check for finding in last_recorded(Host()).findings].count("health") == 1
    paths.health_file().write_text("{")
    assert stopped().level is Level.FAIL
    assert last_recorded(Host()).level is Level.UNKNOWN


def test_rebuild_is_a_job_with_its_rate(box: Box) -> None:
    box.md("data", sync_action="recover", sync_completed="250 / 1000", sync_speed="50000")
    [job] = look().jobs
    assert (job.name, job.what, job.progress) == ("rebuild", "array data", 0.25)
    assert job.bytes_per_second == 51_200_000 and job.seconds_left is not None


def test_job_of_the_engine_has_the_keys_of_a_rebuild(box: Box) -> None:
    box.md("data", sync_action="recover", sync_completed="250 / 1000", sync_speed="50000")
    record.begin("erase", "drive S6XYZ123", "admin")
    write_model(
        job_paths.erase_order_file(), EraseOrder(id="1", serial="S6XYZ123", wwid="", attached="7", foreign=False)
    )
    rebuild, erasure = look().jobs
    assert (erasure.name, erasure.what, erasure.state, erasure.by) == ("erase", "drive S6XYZ123", "running", "admin")
    assert erasure.model_dump().keys() == rebuild.model_dump().keys()
    assert any(line.endswith(" erase, drive S6XYZ123: running") for line in lines(look()))


def test_array_that_waits_for_another_one_waits(box: Box) -> None:
    box.md("data", sync_action="resync", sync_completed="delayed", sync_speed="none")
    [job] = look().jobs
    assert (job.name, job.state, job.progress, job.after_boot) == (
        "first synchronisation",
        "waiting",
        None,
        "continues",
    )


def test_check_of_md_goes_on_in_the_window_of_its_round(box: Box) -> None:
    box.md("data", sync_action="check", sync_completed="250 / 1000", sync_speed="50000")
    assert [(job.name, job.after_boot) for job in look().jobs] == [("check", "continues in its window")]


def test_pool_that_is_being_built_is_a_job(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.begin(done=7)
        assert [job.name for job in jobs(None)] == ["provision"]
        paths.transaction_file().unlink()
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
