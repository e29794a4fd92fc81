# SPDX-License-Identifier: Apache-2.0
"""The check of XFS keeps its result, in the words of xfs_scrub where there is a finding."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from millrace.observe.health.checks import scrub as health
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import load
from millrace.storage.scrub import filesystem_scrub
from millrace.storage.scrub.scrub_status import lines, status
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.run import Result
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.mounts import unmount_all

BEGAN = datetime.fromisoformat("2026-11-15T03:10:00+00:00")


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def check(status: int, words: str = "") -> str | None:
    """What is kept as the problem where xfs_scrub ends so, after an hour."""
    hours = count()

    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv) == ["xfs_scrub", "-b", "-n", "/srv/pool"]
        return Result(status, "", words)

    filesystem = filesystem_scrub.check(pool(), run, lambda: BEGAN + timedelta(hours=next(hours))).filesystem
    assert filesystem is not None and filesystem == load().filesystem
    assert (filesystem.seconds, filesystem.ended) == (3600, "2026-11-15T04:10:00+00:00")
    return filesystem.problem


@pytest.mark.parametrize("sound", [0, 2])
def test_sound_metadata_has_no_problem(box: Box, sound: int) -> None:
    assert check(sound) is None
    said = list(lines(status(pool(), ScrubPolicy(), BEGAN)))
    assert said[-1] == "file system: last checked 2026-11-15 04:10 UTC, metadata is sound"
    assert [one.level for one in health.check(Host())] == [Level.OK]


@pytest.mark.parametrize("damaged", [1, 3, 5])
def test_damage_is_kept_in_the_words_of_the_tool_and_is_a_finding(box: Box, damaged: int) -> None:
    assert check(damaged, "Phase 3\n/srv/pool: errors found: 2.") == "metadata is damaged: /srv/pool: errors found: 2"
    [found] = [one for one in health.check(Host()) if one.level is not Level.OK]
    assert (found.key, found.level) == ("scrub/filesystem//srv/pool", Level.WARN)
    assert "metadata is damaged" in found.sentence


@pytest.mark.parametrize("incomplete", [4, 8, 124, 127])
def test_check_that_could_not_finish_is_no_sound_file_system(box: Box, incomplete: int) -> None:
    assert check(incomplete, "Operation not permitted") == "the check did not reach its end: Operation not permitted"


def test_file_system_that_is_not_mounted_is_refused(box: Box) -> None:
    unmount_all(box.tree.root)
    with pytest.raises(Refused, match="/srv/pool is not mounted"):
        check(0)
