# SPDX-License-Identifier: Apache-2.0
"""`millrace job …` from the command line, with systemd as a fake."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.program import run
from millrace.observe.jobs import registry
from millrace.system.files import write_text
from millrace.system.jobs import job_paths, record
from millrace.system.jobs.job import KILLED, Glance, Job, by_stopping
from millrace.system.jobs.kinds import CLONE
from tests.fakes.jobs import JOBS, JobManager
from tests.fakes.tools import stand_in
from tests.unit.observe.jobs.servers import SERIAL, begin, booted, erases, how_far

STOP = "systemctl stop millrace-reflink@clone.service"


class Systemd(JobManager):
    TAKEN = (*JOBS, STOP)

    def _systemctl(self, words: list[str], stdin: str) -> Any:
        if words[0] == "stop":
            self.others.pop(words[-1])
        return super()._systemctl(words, stdin)


@pytest.fixture
def systemd(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    booted(root_user)
    made = Systemd("millrace-none.service")
    stand_in(monkeypatch, made)
    return made


@pytest.fixture
def user(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """A user without privileges asks."""
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    return systemd


@pytest.fixture
def clones(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """A clone runs, which can be cancelled."""
    made = Job(CLONE, "a share is being cloned", by_stopping(CLONE), lambda: Glance("share a", 0.5))
    monkeypatch.setattr(registry, "job", lambda name: made)
    begin("clone", "share a", systemd)
    write_text(job_paths.clone_order_file(), "{}")
    return systemd


def passes(monkeypatch: pytest.MonkeyPatch, *events: Callable[[], object]) -> None:
    """What happens between two looks of a follower, one after the other."""
    left = list(events)
    follow = Job.follow
    monkeypatch.setattr(Job, "follow", lambda self, look, runner: follow(self, look, runner, lambda _: left.pop(0)()))


def test_user_lists_and_shows_jobs(user: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    erases(user)
    assert run(["job", "list"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["Job", "State", "Progress", "Left", "Ended", "What"]
    assert line.split()[:4] == ["erase", "running", "25.0", "%"]
    assert run(["job", "show", "erase"]) == 0
    assert f"What:        drive {SERIAL}: overwriting\n" in capsys.readouterr().out


def test_documents_of_list_and_show(user: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["job", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema_version": 1, "jobs": []}
    erases(user)
    assert run(["job", "list", "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)["jobs"]
    assert run(["job", "show", "erase", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == listed
    assert (listed["name"], listed["state"], listed["progress"]) == ("erase", "running", 0.25)


def test_job_of_which_there_was_none_is_refused(user: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, error in (
        ("show", "millrace: there was no drive erasure yet: millrace job list\n"),
        ("follow", "millrace: no drive erasure is under way: millrace job list\n"),
    ):
        assert run(["job", verb, "erase"]) == 1
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", error)


@pytest.mark.parametrize("verb", ["show", "follow", "cancel"])
def test_unknown_name_is_wrong_usage(verb: str, user: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("erasure", "../erase", "drive change", ""):
        assert run(["job", verb, name]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1
        assert "is not one of 'provision', 'drive-change'" in said.err
    assert user.calls == []


def test_follower_prints_each_change_until_the_end(
    user: Systemd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    erases(user)

    def ends() -> None:
        found = record.load("erase")
        assert found is not None
        record.end(found, "done")
        user.others.clear()

    passes(monkeypatch, lambda: how_far(50), lambda: None, ends)
    assert run(["job", "follow", "erase"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["running 25.0 %", "running 50.0 %", "done"]


def test_follower_of_a_killed_job_fails_with_the_reason(
    user: Systemd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    erases(user)
    passes(monkeypatch, user.others.clear)
    assert run(["job", "follow", "erase", "--json"]) == 1
    said = capsys.readouterr()
    assert [json.loads(one)["state"] for one in said.out.splitlines()] == ["running", "interrupted"]
    assert said.err == f"millrace: the drive erasure ended as interrupted: {KILLED}\n"


def test_root_cancels_a_job(clones: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["job", "cancel", "clone", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["reason"], shown["cancellable"]) == ("cancelled", "by root", False)
    assert clones.called("systemctl stop") == [STOP]
    assert run(["job", "cancel", "clone"]) == 1
    assert capsys.readouterr().err == "millrace: no share clone is under way: millrace job list\n"


def test_user_cancels_nothing(
    clones: Systemd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert run(["job", "cancel", "clone"]) == 1
    assert capsys.readouterr().err == "millrace: changing this server requires root; run this command with sudo\n"
    assert clones.calls == []


def test_job_that_nobody_can_cancel_says_why(systemd: Systemd, capsys: pytest.CaptureFixture[str]) -> None:
    erases(systemd)
    assert run(["job", "cancel", "erase"]) == 1
    assert capsys.readouterr().err.startswith("millrace: an erasure is not cancelled: ")
    assert systemd.others
