# SPDX-License-Identifier: Apache-2.0
"""What was taken out on purpose is known until it joins again."""

from pathlib import Path

import pytest

from millrace import paths
from millrace.provision import removed

DAY, NEXT = "2026-11-22T10:00:00+00:00", "2026-11-23T10:00:00+00:00"


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def test_last_removal_of_each_drive_is_kept() -> None:
    for serial, day in (("D1", DAY), ("D2", DAY), ("D1", NEXT)):
        removed.add(serial, day)
    assert removed.load() == {"D1": NEXT, "D2": DAY}
    removed.forget(["D1", "D9"])
    assert removed.load() == {"D2": DAY}


def test_nothing_is_written_where_nothing_is_known() -> None:
    removed.forget(["D1"])
    assert not paths.removed_file().exists()


def test_record_that_is_torn_names_no_drive_and_is_written_again() -> None:
    removed.add("D1", DAY)
    paths.removed_file().write_text("{")
    assert removed.load() == {}
    removed.add("D2", DAY)
    assert removed.load() == {"D2": DAY}
