# SPDX-License-Identifier: Apache-2.0
"""One process writes to drives at a time, and the one that is refused is told which."""

import threading
from pathlib import Path

import pytest

from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import ChangedDrive, DrivePlan
from millrace.storage.record.writer import ASSEMBLING, EXAMINING, PROVISIONING, READDING, changing, erasing, writing
from millrace.system import paths
from millrace.system.errors import Refused

OLD, NEW = (ChangedDrive(serial=one, wwid="", bay=None, model="", size=None) for one in ("D1", "N1"))
REPLACEMENT = DrivePlan(verb="replace", old=OLD, new=NEW, partitions=[], leaves=[])
REMOVAL = DrivePlan(verb="remove", old=OLD, new=None, partitions=[], leaves=[])


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


@pytest.mark.parametrize(
    ("doing", "who", "verb"),
    [
        (PROVISIONING, "provisioning is running", "millrace status"),
        (READDING, "returned members are being re-added", "millrace pool show"),
        (erasing("D7"), "drive D7 is about to be erased", "millrace drive list"),
        (changing(REPLACEMENT), "the replacement of D1 by N1 is running", "millrace drive progress"),
        (changing(REMOVAL), "the removal of D1 is running", "millrace drive progress"),
    ],
)
def test_refused_user_is_told_what_runs_and_the_verb_that_shows_it(doing: str, who: str, verb: str) -> None:
    with writing(doing), pytest.raises(Refused, match=f"^{who}; `{verb}` shows "), writing(erasing("D2")):
        pass


def test_open_change_is_named_by_its_drives() -> None:
    assert changing().startswith("a change of drives is running")
    ChangeJournal.open(REPLACEMENT, "ops", "2026-11-22T10:00:00+00:00")
    assert changing().startswith("the replacement of D1 by N1 is running")


@pytest.mark.parametrize("short", [EXAMINING, ASSEMBLING])
def test_what_takes_seconds_is_waited_for(short: str) -> None:
    order: list[str] = []

    def second() -> None:
        with writing(PROVISIONING):
            order.append("provisioning")

    with writing(short):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.2)
        order.append("short")
    waiting.join(10)
    assert order == ["short", "provisioning"]


def test_note_of_an_earlier_holder_is_not_shown() -> None:
    with writing(PROVISIONING):
        pass
    with writing("", wait=True), pytest.raises(Refused, match=r"^another process writes to the drives"), writing("x"):
        pass
