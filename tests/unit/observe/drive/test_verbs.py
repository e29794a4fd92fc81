# SPDX-License-Identifier: Apache-2.0
"""`millrace drive list` and `drive show` print lines for people and documents for pages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.array.machine import System
from millrace.storage.change import change_job
from millrace.storage.change.change_model import ChangeProgress
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import DriveChange
from millrace.system.jobs.job import Job
from tests.fakes.files.box import Box, serial
from tests.fakes.files.running import server
from tests.unit.storage.change.test_change_text import AT, plan


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path, user=1001) as made:
        made.provision()
        made.look()
        made.pull("data", 3)
        yield made


def test_a_user_without_rights_sees_all_drives(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    (gone,) = [line for line in lines if "missing" in line]
    assert gone.split()[:2] == ["4", serial(3)]
    assert run(["drive", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["drives"]) == 13


def test_one_drive_is_shown(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "show", serial(3)]) == 0
    assert f"Serial:          {serial(3)}\nVerdict:         missing\nBay:             4\n" in capsys.readouterr().out
    assert run(["drive", "show", serial(3), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["drive"]["verdict"] == "missing"


def test_a_serial_number_that_no_drive_has_is_refused(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "show", "nvme3n1"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "millrace: no drive has the serial number, bay or device name 'nvme3n1'; "
        "for all of them: millrace drive list\n",
    )


def test_replacement_requires_root(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "replace", serial(3), "--yes"]) == 1
    assert capsys.readouterr().err == "millrace: changing this server requires root; run this command with sudo\n"


def test_last_change_of_drives_is_shown(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "progress"]) == 0
    assert capsys.readouterr().out == "no drive was changed yet\n"
    journal = ChangeJournal.open(plan(), "admin", AT)
    journal.stopped("sfdisk failed")
    assert run(["drive", "progress"]) == 0
    assert capsys.readouterr().out.startswith("stopped: sfdisk failed\n")
    assert run(["drive", "progress", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["change"]
    assert (shown["step"], shown["change"]["error"]) == ("partition NEW", "sfdisk failed")


def test_stopped_change_is_resumed_and_followed_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(tmp_path) as made:
        made.provision()
        assert run(["drive", "resume"]) == 1
        assert "no change of drives is open; how the last one ended: millrace drive progress" in capsys.readouterr().err
        journal = ChangeJournal.open(plan(), "admin", AT)
        journal.stopped("sfdisk failed")
        followed: list[str] = []

        def end(system: System, change: DriveChange) -> Iterator[ChangeProgress]:
            followed.append(change.id)
            journal.end(AT)
            yield change_job.now(journal.change)

        # it goes on already
        monkeypatch.setattr(Job, "runs", lambda *_: True)
        monkeypatch.setattr(change_job, "follow", end)
        assert run(["drive", "resume"]) == 0
        assert followed == [journal.change.id]
        assert capsys.readouterr().out == "drive NEW (bay 7) has replaced OLD\n"


def test_resuming_a_change_requires_root(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "resume"]) == 1
    assert "requires root" in capsys.readouterr().err
