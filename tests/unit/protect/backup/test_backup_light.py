# SPDX-License-Identifier: Apache-2.0
"""The light of a share off site says whether a backup of it is in time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.protect.backup import backup_light, backup_store
from millrace.protect.backup.backup_model import Backup, BackupOutcome, BackupState, BackupTarget
from millrace.protect.light import Light
from millrace.serve.config.model import first_config

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat(timespec="seconds")


def backup(name: str = "offsite", paused: bool = False) -> Backup:
    target = BackupTarget(protocol="rest", host="backup.example.com", port=8000, path="/data")
    return Backup(
        name=name, id=name.encode().hex().rjust(32, "0"), share="data", target=target, paused=paused, at=at(100)
    )


def ran(hours: float, **others: BackupOutcome) -> dict[str, BackupOutcome]:
    return {"run": BackupOutcome(at=at(hours), succeeded=at(hours)), **others}


def lit(monkeypatch: pytest.MonkeyPatch, *known: tuple[Backup, dict[str, BackupOutcome]]) -> Light:
    states = {each.name: BackupState(name=each.name, id=each.id, **outcomes) for each, outcomes in known}
    monkeypatch.setattr(backup_store, "load", lambda: [each for each, _ in known])
    monkeypatch.setattr(backup_store, "state", lambda each: states[each.name])
    [light] = backup_light.lights(first_config(), NOW)
    return light


def test_backup_in_time_is_ok_and_says_when_the_next_is_due(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drill = BackupOutcome(at=at(3), succeeded=at(3))
    light = lit(monkeypatch, (backup(), ran(2, drill=drill)))
    assert (light.share, light.place, light.state) == ("data", "off-site", "ok")
    assert (light.last, light.next, light.drill, light.period) == (at(2), at(-22), at(3), 24 * 3600)


@pytest.mark.parametrize(
    ("outcomes", "state", "words"),
    [
        (ran(49), "late", "The last version of backup offsite is of 2026-11-28 11:00 UTC."),
        ({}, "late", "Backup offsite sent nothing yet."),
        ({"run": BackupOutcome(at=at(1), succeeded=at(2), problem="it is full", failures=1)}, "failed", "it is full"),
        (ran(2, drill=BackupOutcome(at=at(1), problem="a file differs", red=True)), "failed", "a file differs"),
        (ran(2, check=BackupOutcome(at=at(1), problem="a pack is damaged", red=True)), "failed", "a pack is damaged"),
    ],
)
def test_backup_that_does_not_protect_says_why(
    root_user: Path, monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, BackupOutcome], state: str, words: str
) -> None:
    light = lit(monkeypatch, (backup(), outcomes))
    assert light.state == state and words in light.sentence and light.todo


def test_best_of_several_backups_is_shown(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    light = lit(monkeypatch, (backup("old"), ran(90)), (backup("new"), ran(1)), (backup("off", paused=True), {}))
    assert (light.state, light.last) == ("ok", at(1))


def test_paused_backup_has_no_schedule(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    light = lit(monkeypatch, (backup(paused=True), ran(900)))
    assert (light.state, light.schedule, light.todo) == ("none", None, "millrace backup resume offsite")
