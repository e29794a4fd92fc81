# SPDX-License-Identifier: Apache-2.0
"""`millrace update …` in text and as JSON: what is looked at is not installed, and what is confirmed is."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.lifecycle.update import planned_reboot, records, stage, update_paths, verbs
from millrace.lifecycle.update.model import LastUpdate, PlannedReboot
from millrace.lifecycle.update.planned_reboot import PLAN
from millrace.lifecycle.update.verbs import update
from millrace.system.errors import BadInput, Refused
from millrace.system.jobs import job_paths
from millrace.system.run import Result as Result_
from tests.unit.lifecycle.update.conftest import Server, make_release
from tests.unit.lifecycle.update.test_upload import packed

INSTALLER = "millrace-update.service"
START = f"systemctl start --no-block {INSTALLER}"
TIMES = (f"2026-11-29T00:{second // 60:02}:{second % 60:02}+00:00" for second in range(3600))


@pytest.fixture(autouse=True)
def ready(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "attempt", server)
    monkeypatch.setattr(verbs, "only_root", lambda: None)
    monkeypatch.setattr("millrace.system.run.quickly", server)
    server.before[START] = lambda: records.save_last(
        LastUpdate(version="0.2.0", before="0.1.0", state="installed", at=next(TIMES), by="admin")
    )


def say(*words: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(update, words, input=stdin, catch_exceptions=False)


def test_status_of_a_server_without_updates() -> None:
    found = json.loads(say("status", "--json").output)
    assert (found["version"], found["other"], found["trial"], found["last"], found["refusal"]) == (
        "0.1.0",
        None,
        None,
        None,
        None,
    )
    assert say("status").output == "version 0.1.0\n"


def test_status_names_all_that_is_known(server: Server) -> None:
    server.entry("millrace_0.2.0+0-3.efi")
    records.add_failed("0.2.0", ["NFS does not answer."])
    records.save_source("https://files.example/")
    server.file("run/systemd/shutdown/scheduled", "USEC=1795500000000000\nWARN_WALL=1\nMODE=reboot\n")
    server.active.add("millrace-bench.service")
    said = say("status").output
    for words in (
        "0.2.0, 0 starts left",
        "reboot planned at 2026-11-24",
        "failed on this server: 0.2.0",
        "files.example",
    ):
        assert words in said
    assert "no update can be installed now: a benchmark is running" in said


def test_what_is_checked_is_not_staged(tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    said = say("check", str(made)).output
    assert "version 0.2.0" in said and "Faster." in said and "this server runs 0.1.0" in said
    assert not update_paths.staged_dir().exists()


def test_release_is_applied_after_a_confirmation_and_the_server_reboots(server: Server, tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    with pytest.raises(BadInput, match="use --yes"):
        say("apply", str(made))
    assert not update_paths.staged_dir().exists()
    said = say("apply", str(made), "--yes", "--reboot", "now").output
    assert "version 0.2.0 was installed" in said
    assert server.called("systemctl start") == [START]
    assert server.called("systemctl")[-2:] == ["systemctl --no-block reboot", "systemctl is-system-running"]
    assert json.loads(update_paths.order_file().read_text())["version"] == "0.2.0"


def test_server_does_not_reboot_into_an_erasure_that_began_meanwhile(server: Server, tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    installed = server.before[START]

    def erasing() -> None:
        installed()
        server.states["millrace-erase.service"] = "active"

    server.before[START] = erasing
    with pytest.raises(Refused, match=r"not reboot now: a drive is being erased.*then: millrace update reboot now"):
        say("apply", str(made), "--yes", "--reboot", "now")
    last = records.last()
    assert last is not None and last.state == "installed"
    assert server.called("systemctl --no-block reboot") == []


def test_update_does_not_begin_beside_an_erasure(server: Server, tmp_path: Path) -> None:
    server.states["millrace-erase.service"] = "active"
    assert "no update can be installed now: a drive is being erased" in say("status").output
    with pytest.raises(Refused, match="a drive is being erased, which a restart would end; wait for it"):
        say("apply", str(make_release(tmp_path / "new")), "--yes")
    assert not update_paths.staged_dir().exists() and server.called("systemctl start") == []


@pytest.mark.parametrize("when", ["24:00", "tomorrow", ""])
def test_time_of_a_reboot_is_checked_first(server: Server, tmp_path: Path, when: str) -> None:
    with pytest.raises(BadInput, match="reboot"):
        say("apply", str(make_release(tmp_path / "new")), "--yes", "--reboot", when)
    with pytest.raises(BadInput, match="reboot"):
        say("rollback", "--yes", "--reboot", when)
    assert server.called("systemctl start") == [] and not update_paths.staged_dir().exists()


def test_older_release_is_refused_before_its_files_are_copied(server: Server, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="--older"):
        say("apply", str(make_release(tmp_path / "old", "0.0.9")), "--yes")
    assert not update_paths.staged_dir().exists() and server.called("systemctl start") == []


def test_source_is_set_checked_and_removed() -> None:
    assert "source of updates: https://files.example/m/" in say("source", "https://files.example/m/").output
    with pytest.raises(BadInput, match="directory on a web server"):
        say("source", "files.example")
    assert records.source() == "https://files.example/m/"
    say("source", "--remove")
    assert records.source() is None
    assert say("source").exit_code == 2


def test_rollback_is_confirmed_and_recorded(server: Server) -> None:
    server.runs("0.2.0")
    server.entry("millrace_0.2.0.efi")
    with pytest.raises(BadInput, match="use --yes"):
        say("rollback")
    assert "version 0.2.0 was rolled back to 0.1.0" in say("rollback", "--yes").output


def test_documents_that_come_back_are_named(server: Server) -> None:
    server.file("var/lib/millrace/by-version/0.1.0/config.json", '{"schema_version": 1}')
    server.file("var/lib/millrace/config.json", '{"schema_version": 2}')
    assert "config.json was written by a later version" in say("documents").output
    assert say("documents").output == ""


def test_judge_without_a_trial_says_so() -> None:
    assert say("judge").output == "no version is on trial\n"


def test_download_is_for_its_unit() -> None:
    with pytest.raises(BadInput, match="millrace update apply"):
        say("fetch")


def test_installer_that_runs_is_activating_and_under_way(server: Server) -> None:
    assert json.loads(say("status", "--json").output)["running"] is False
    # systemctl is-active fails for it
    server.active.add(INSTALLER)
    server.broken[f"systemctl is-active --quiet {INSTALLER}"] = Result_(3, "", "")
    assert json.loads(say("status", "--json").output)["running"] is True
    assert "an update is under way" in say("status").output


def test_uploaded_release_is_shown_and_then_installed(server: Server, tmp_path: Path) -> None:
    data = packed(make_release(tmp_path / "new"))
    lines = [
        json.loads(line) for line in say("upload", "--size", str(len(data)), "--json", stdin=data).output.splitlines()
    ]
    assert (lines[0]["received"], lines[0]["offer"]) == (len(data), None)
    assert (lines[-1]["offer"]["version"], lines[-1]["offer"]["refusal"]) == ("0.2.0", None)
    assert not job_paths.update_progress_file().exists()
    assert "0.2.0 was installed" in say("apply", "--uploaded", "--yes").output


def test_uploaded_release_stays_where_an_option_is_missing_and_goes_when_it_is_discarded(
    server: Server, tmp_path: Path
) -> None:
    records.add_failed("0.2.0", ["NFS does not answer."])
    data = packed(make_release(tmp_path / "new"))
    assert "--again" in say("upload", "--size", str(len(data)), stdin=data).output
    with pytest.raises(Refused, match="--again"):
        say("apply", "--uploaded", "--yes")
    assert "0.2.0 was installed" in say("apply", "--uploaded", "--again", "--yes").output
    say("upload", "--size", str(len(data)), stdin=data)
    say("upload", "--discard")
    with pytest.raises(BadInput, match="no update is staged"):
        say("apply", "--uploaded", "--yes")


@pytest.mark.parametrize("words", [["upload"], ["upload", "--size", "1", "--discard"], ["apply", "x", "--uploaded"]])
def test_upload_is_said_completely(words: list[str], server: Server) -> None:
    assert say(*words).exit_code == 2


def test_locks_are_lost_on_purpose_only_now(server: Server) -> None:
    assert say("reboot", "03:30", "--lose-locks").exit_code == 2


def test_planned_reboot_is_changed_and_cancelled(server: Server) -> None:
    with pytest.raises(Refused, match="no reboot is planned"):
        say("reboot", "03:30")
    server.file("run/systemd/shutdown/scheduled", "USEC=1795500000000000\nWARN_WALL=1\nMODE=reboot\n")
    say("reboot", "04:00")
    say("reboot", "later")
    assert server.called("shutdown") == [
        "shutdown -c",
        "shutdown -k --reboot 04:00 Millrace starts another version",
        "shutdown -c",
    ]
    with pytest.raises(BadInput, match="reboot"):
        say("reboot", "4 o'clock")


def test_planned_reboot_that_waits_is_shown_with_its_reason_and_printed_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=r"reboot\.json is missing"):
        say("reboot-planned")
    PLAN.write(PlannedReboot(at="2026-11-22T03:30:00+00:00"))
    at = datetime(2026, 11, 22, 3, 30, 1, tzinfo=UTC).astimezone().replace(tzinfo=None)
    monkeypatch.setattr(planned_reboot, "local_time", lambda: at)
    assert "the reboot waits" not in say("status").output
    server.states["millrace-erase.service"] = "active"
    why = "a drive is being erased, which a restart would end; wait for it: millrace drive list"
    assert say("reboot-planned").output == f"the planned reboot waits: {why}\n"
    assert say("reboot-planned").output == ""
    assert f"the reboot waits, and is tried again every 5 minutes: {why}\n" in say("status").output
    shown = json.loads(say("status", "--json").output)
    assert (shown["reboot"], shown["reboot_deferred"]) == ("2026-11-22T03:30:00+00:00", why)


def test_offer_names_each_option_that_is_needed(server: Server, tmp_path: Path) -> None:
    server.runs("0.3.0")
    records.add_failed("0.2.0", ["NFS does not answer."])
    found = json.loads(say("check", str(make_release(tmp_path / "new")), "--json").output)
    assert [one["option"] for one in found["needs"]] == ["again", "older"]
    assert "--again" in found["needs"][0]["reason"] and "--older" in found["needs"][1]["reason"]
    server.runs("0.2.0")
    found = json.loads(say("check", str(make_release(tmp_path / "new")), "--json").output)
    assert "is running already" in found["refusal"] and found["needs"] == []


def test_offer_names_the_option_for_arrays_without_members(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def degraded(run: object, degraded: bool = False) -> str | None:
        return None if degraded else "array data lacks 1 members; replace the drive first, or use --degraded"

    monkeypatch.setattr("millrace.lifecycle.update.obstacles.of_server", degraded)
    found = json.loads(say("check", str(make_release(tmp_path / "new")), "--json").output)
    assert [one["option"] for one in found["needs"]] == ["degraded"] and found["refusal"] is None


def test_expired_release_of_the_source_is_shown_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = make_release(tmp_path / "old", expires="2026-01-01T00:00:00+00:00")
    found = json.loads(say("check", str(old), "--json").output)
    assert found["expires"][:10] == "2026-01-01" and "later releases may be withheld" in found["warnings"][0]
    assert records.checked_source() is None
    records.save_source("http://files.example/m/")
    monkeypatch.setattr(stage, "_download", lambda url, name, limit, to, run: stage._copied(old / name, limit, to))
    said = say("check").output
    assert "warning: version 0.2.0 expired on 2026-01-01" in said and "warning: the source of updates uses http" in said
    assert "later releases may be withheld" in say("status").output


def test_release_that_lasts_has_no_warning(tmp_path: Path) -> None:
    new = make_release(tmp_path / "new", expires="2999-01-01T00:00:00+00:00")
    assert json.loads(say("check", str(new), "--json").output)["warnings"] == []
