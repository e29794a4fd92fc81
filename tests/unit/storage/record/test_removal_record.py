# SPDX-License-Identifier: Apache-2.0
"""What was taken out on purpose is known until it joins again."""

from pathlib import Path

import pytest

from millrace.storage.record import removal_record
from millrace.system import paths

DAY, NEXT = "2026-11-22T10:00:00+00:00", "2026-11-23T10:00:00+00:00"


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def test_last_removal_of_each_drive_is_kept() -> None:
    for serial, day in (("D1", DAY), ("D2", DAY), ("D1", NEXT)):
        removal_record.add(serial, day)
    assert removal_record.load() == {"D1": NEXT, "D2": DAY}
    removal_record.forget(["D1", "D9"])
    assert removal_record.load() == {"D2": DAY}


def test_nothing_is_written_where_nothing_is_known() -> None:
    removal_record.forget(["D1"])
    assert not paths.removed_file().exists()


def test_record_that_is_torn_names_no_drive_and_is_written_again() -> None:
    removal_record.add("D1", DAY)
    paths.removed_file().write_text("{")
    assert removal_record.load() == {}
    removal_record.add("D2", DAY)
    assert removal_record.load() == {"D2": DAY}
