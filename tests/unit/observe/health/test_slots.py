# SPDX-License-Identifier: Apache-2.0
"""Slots in which a new drive would take the addresses of others are named before one is put in."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import slots
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes import samples
from tests.fakes.drives.slots import WINDOW, add_slot
from tests.unit.observe.health.servers import host


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return add_slot(tmp_path, "0000:20:03.0", 4)


def test_slot_with_hot_plug_is_a_warning(service: Path) -> None:
    (finding,) = slots.check(host())
    assert finding.level is Level.WARN
    assert "no addresses for a new drive: slot 4. A drive that is put in there now takes" in finding.sentence
    assert finding.todo == f"{slots.ONLY_OFF} Switch hot plug off there: millrace tune"


def test_slot_without_hot_plug_is_good_to_know(service: Path) -> None:
    (service / "driver").unlink()
    (finding,) = slots.check(host())
    assert (finding.level, finding.todo) == (Level.OK, None)
    assert "Hot plug is off there" in finding.sentence


def test_slot_without_hot_plug_is_a_warning_while_a_member_is_missing(service: Path) -> None:
    (service / "driver").unlink()
    write_model(paths.pool_file(), samples.pool())
    (finding,) = slots.check(host())
    assert finding.level is Level.WARN
    assert slots.ONLY_OFF in (finding.todo or "")


def test_slots_with_addresses_are_not_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_slot(tmp_path, "0000:20:03.0", 4, window=WINDOW)
    assert slots.check(host()) == []
