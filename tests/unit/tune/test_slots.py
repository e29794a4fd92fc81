# SPDX-License-Identifier: Apache-2.0
"""Hot plug is off where a new drive would take the addresses of drives in use, and on again when tuning is undone."""

from pathlib import Path

import pytest

from millrace.system import paths
from millrace.tune.slots import OFF, ON, slot_settings
from tests.fakes.drives.slots import WINDOW, add_slot, obey


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_slot(tmp_path, "0000:20:01.0", 2, window=WINDOW)
    return add_slot(tmp_path, "0000:20:03.0", 4)


def test_slot_without_addresses_is_switched_off_and_others_stay(tmp_path: Path, service: Path) -> None:
    (setting,) = slot_settings()
    assert (setting.read(), setting.wanted) == (ON, OFF)
    assert "slot 4" in setting.reason
    setting.write(setting.wanted)
    obey(tmp_path)
    assert setting.matches(setting.read())
    assert not (service / "driver").exists()


def test_undone_tuning_switches_hot_plug_on_again(tmp_path: Path, service: Path) -> None:
    (service / "driver").unlink()
    (setting,) = slot_settings()
    assert setting.default is not None
    setting.write(setting.default)
    obey(tmp_path)
    assert setting.read() == ON
