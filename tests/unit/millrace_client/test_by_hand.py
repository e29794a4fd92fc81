# SPDX-License-Identifier: Apache-2.0
"""Measured by hand, no link or pipe of other users of the share is followed or waited for."""

import os
from pathlib import Path
from threading import Thread

import pytest

from millrace_client import by_hand

PLAN = {"before": "", "jobs": 2, "per_job": 1, "size": 4096}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "where").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/f.0.0").write_text("somebody's")
    return tmp_path / "home"


@pytest.mark.parametrize("before", ["empty", "small", "gone", "forget"])
def test_a_link_in_the_place_of_its_files_is_not_followed(victim: Path, before: str) -> None:
    files = by_hand.Inside(str(victim.parent / "where"), "meta")
    here = victim.parent / "where/meta"
    (here / "f.0.0").symlink_to("../../home/f.0.0")
    os.symlink("../../home/new", here / "f.1.0")
    by_hand.ready({**PLAN, "before": before}, files)
    assert {one.name: one.read_text() for one in victim.iterdir()} == {"f.0.0": "somebody's"}
    assert (os.listdir(here) == []) == (before in ("empty", "gone"))


@pytest.mark.parametrize("before", ["empty", "small", "gone", "forget"])
def test_a_link_in_the_place_of_its_directory_ends_the_workload(victim: Path, before: str) -> None:
    (victim.parent / "where/meta").symlink_to(victim)
    files = by_hand.Inside(str(victim.parent / "where"), "meta")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        by_hand.ready({**PLAN, "before": before}, files)
    assert {one.name: one.read_text() for one in victim.iterdir()} == {"f.0.0": "somebody's"}


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(victim: Path) -> None:
    files = by_hand.Inside(str(victim.parent / "where"), "common")
    os.mkfifo(victim.parent / "where/common/f.0.0")
    thread = Thread(target=by_hand.ready, args=({**PLAN, "before": "forget"}, files), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
