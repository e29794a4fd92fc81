# SPDX-License-Identifier: Apache-2.0
"""A version that failed, and one that runs without being accepted, are warnings with their remedy."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.lifecycle.etc import factory
from millrace.lifecycle.update import planned_reboot, records
from millrace.lifecycle.update.model import LastUpdate, Outcome, PlannedReboot, Release, Serving, Trial
from millrace.observe.health.checks import update
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from tests.unit.observe.health.servers import host, sentences, well

SERVING = Serving(pool=True, arrays={}, nfs=True, smb=True, exported=[], console=True)


@pytest.fixture(autouse=True)
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    (tmp_path / "etc").mkdir(exist_ok=True)
    (tmp_path / "etc/os-release").write_text("IMAGE_VERSION=0.1.0\n")


def ended(state: Outcome, days: float = 1, problems: tuple[str, ...] = ()) -> None:
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    found = LastUpdate(version="0.2.0", before="0.1.0", state=state, at=at, by="admin", problems=list(problems))
    records.save_last(found)


def trial(version: str) -> None:
    records.save_trial(Trial(version=version, before="0.0.9", at=records.now(), by="admin", serving=SERVING))


def test_server_that_was_never_updated_names_its_version() -> None:
    assert "OK: This server runs version 0.1.0." in sentences(update.check(host()))


def test_failed_version_is_a_warning_for_two_weeks() -> None:
    ended("failed", problems=("NFS does not answer.",))
    [finding] = update.check(host())
    assert finding.level is Level.WARN and finding.todo == "Install a later version: millrace update check"
    assert "Version 0.2.0 failed on this server, 0.1.0 runs again. NFS does not answer." in finding.sentence
    # as long as it was ago, and not as long as a clock that was ahead is not reached
    for days in (15, -15_000):
        ended("failed", days=days)
        assert update.check(host())[0].level is Level.OK


def test_version_on_trial_waits_for_the_boot_and_warns_where_nobody_accepts_it() -> None:
    trial("0.2.0")
    ended("installed")
    assert "OK: Version 0.2.0 is installed and starts at the next boot." in sentences(update.check(host()))
    trial("0.1.0")
    [finding] = update.check(host())
    assert finding.level is Level.WARN and "runs and is not accepted" in finding.sentence


@pytest.mark.parametrize(
    ("hours", "deferred", "level"),
    [(20, None, Level.OK), (24 * 15_000, None, Level.WARN), (-2, planned_reboot.JUMPED, Level.WARN)],
)
def test_reboot_that_waits_for_another_clock_is_a_warning(hours: int, deferred: str | None, level: Level) -> None:
    trial("0.2.0")
    at = (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")
    planned_reboot.PLAN.write(PlannedReboot(at=at, deferred=deferred))
    [finding] = update.check(host())
    assert finding.level is level
    assert (finding.todo == "Plan it again: millrace update reboot HH:MM") is (level is Level.WARN)


def test_accepted_version_is_said() -> None:
    ended("accepted")
    assert "Version 0.2.0 was accepted" in update.check(host())[0].sentence


def test_etc_that_was_not_written_is_a_warning_and_a_kept_file_is_said(tmp_path: Path) -> None:
    (tmp_path / factory.FACTORY).mkdir(parents=True)
    (tmp_path / factory.FACTORY / "issue").write_text("Millrace\n")
    listing = factory.listed(tmp_path / factory.FACTORY)
    write_model(tmp_path / factory.FACTORY / factory.LIST, listing)
    [_, finding] = update.check(host())
    assert finding.level is Level.WARN and (finding.todo or "").startswith("journalctl -b -u millrace-etc.service")
    assert finding.sentence == "/etc is not as version 0.1.0 brings it: millrace-etc.service did not end."
    (tmp_path / "etc/issue").write_text("mine\n")
    kept = factory.KeptFile(base="file", found=factory.identity(tmp_path / "etc/issue"))
    here = factory.present()
    assert here is not None
    write_model(factory.record_file(), listing.model_copy(update={"follows": here[1], "kept": {"issue": kept}}))
    said = "OK: Changed on this server and kept, version 0.1.0 has others: /etc/issue."
    assert said in sentences(update.check(host()))


def test_source_without_tls_is_a_warning_until_it_is_changed() -> None:
    records.save_source("http://files.example/m/")
    [source] = [finding for finding in update.check(host()) if finding.kind == "source"]
    assert source.level is Level.WARN and "uses http" in source.sentence and "https" in source.todo
    records.save_source("https://files.example/m/")
    assert not any(finding.kind == "source" for finding in update.check(host()))


@pytest.mark.parametrize(("days", "warned"), [(-1, True), (1, False), (None, False)])
def test_expired_release_that_is_the_newest_of_its_source_is_a_warning(days: int | None, warned: bool) -> None:
    records.save_source("https://files.example/m/")
    end = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    records.save_checked_source(Release(image="millrace", version="0.2.0", files=[], expires=end))
    sources = [finding for finding in update.check(host()) if finding.kind == "source"]
    assert bool(sources) is warned
    assert all("may be withheld" in finding.sentence for finding in sources)
    # another source has offered nothing yet
    records.save_source("https://other.example/m/")
    assert not any(finding.kind == "source" for finding in update.check(host()))
