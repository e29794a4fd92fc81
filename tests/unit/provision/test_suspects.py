# SPDX-License-Identifier: Apache-2.0
"""After an unclean start an administrator sees which files may be damaged, and acknowledges them."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner

from millrace import paths
from millrace.errors import Refused
from millrace.health import heartbeat
from millrace.health.checks import unclean as check
from millrace.health.host import Host
from millrace.health.model import Level
from millrace.pool import verbs
from millrace.provision import suspects, unclean
from millrace.provision.unclean import Unclean, UncleanStarts
from millrace.system.documents import write_model
from tests.fakes.drives.world import World
from tests.unit.provision.plans import raid6_plan
from tests.unit.provision.server import built


@pytest.fixture
def pool(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mounted pool; what is written to it now was written before the cut."""
    mountpoint = root / "srv/pool"
    mountpoint.mkdir(parents=True)
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == mountpoint)
    unclean_start(timedelta(0))
    return mountpoint


def unclean_start(after: timedelta) -> None:
    """An array was last written so long after now, and started five minutes later."""
    last_write = datetime.now(UTC) + after
    started = last_write + timedelta(minutes=5)
    one = Unclean(
        array="data", level="raid6", last_write=last_write.isoformat(), started=started.isoformat(), missing=["D1"]
    )
    write_model(paths.unclean_file(), UncleanStarts(starts=[one]))


def found() -> UncleanStarts:
    answer = suspects.search("/srv/pool")
    assert answer is not None
    return answer


def test_files_changed_before_the_cut_are_listed_whatever_time_a_client_gave_them(pool: Path) -> None:
    (pool / "data/deep").mkdir(parents=True)
    (pool / "data/deep/new").write_text("x")
    (pool / "data/copied").write_text("x")
    os.utime(pool / "data/copied", (0, 0))
    assert found().suspects == unclean.Suspects(count=2, listed=2, complete=True)
    assert sorted(suspects.names()) == ["data/copied", "data/deep/new"]
    assert paths.suspects_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("hours", [-2, 2])
def test_files_changed_long_before_or_after_are_not(pool: Path, hours: int) -> None:
    (pool / "other").write_text("x")
    unclean_start(timedelta(hours=hours))
    assert found().suspects == unclean.Suspects(count=0, listed=0, complete=True)


def test_the_two_minutes_before_the_last_superblock_count(pool: Path) -> None:
    (pool / "other").write_text("x")
    unclean_start(timedelta(seconds=60))
    assert found().suspects == unclean.Suspects(count=1, listed=1, complete=True)


def test_links_are_not_followed_and_only_files_count(pool: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    (pool / "directory").symlink_to(outside)
    (pool / "file").symlink_to(outside / "secret")
    os.mkfifo(pool / "pipe")
    assert found().suspects == unclean.Suspects(count=0, listed=0, complete=True)


def test_a_name_with_any_bytes_is_one_line(pool: Path) -> None:
    (pool / "a\nb\x1b[2J").write_text("x")
    (Path(os.fsdecode(os.fsencode(pool) + b"/\xff"))).write_text("x")
    found()
    assert sorted(suspects.names()) == ["\\xff", "a\\nb\\x1b[2J"]


def test_more_names_than_are_kept_are_counted(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LISTED", 3)
    for number in range(5):
        (pool / f"{number}").write_text("x")
    assert found().suspects == unclean.Suspects(count=5, listed=3, complete=True)
    assert len(suspects.names()) == 3


def test_a_search_that_takes_too_long_ends_and_says_so(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LIMIT", -1.0)
    (pool / "one").write_text("x")
    assert found().suspects == unclean.Suspects(count=0, listed=0, complete=False)


def test_a_directory_that_cannot_be_read_makes_it_incomplete(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pool / "one").write_text("x")
    walk = os.fwalk

    def failing(top: Path, onerror: object) -> object:
        assert callable(onerror)
        onerror(OSError(5, "Input/output error"))
        return walk(top)

    monkeypatch.setattr(os, "fwalk", failing)
    assert found().suspects == unclean.Suspects(count=1, listed=1, complete=False)


def test_an_empty_mount_point_is_not_searched(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda _: False)
    with pytest.raises(Refused, match="not mounted"):
        suspects.search("/srv/pool")


def test_it_is_searched_once(pool: Path) -> None:
    found()
    (pool / "later").write_text("x")
    assert found().suspects == unclean.Suspects(count=0, listed=0, complete=True)


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens while the pool is searched."""
    walk = os.fwalk

    def walking(*given: Any, **more: Any) -> Any:
        happens()
        return walk(*given, **more)

    monkeypatch.setattr(os, "fwalk", walking)


def test_an_acknowledgement_during_the_search_stays(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pool / "one").write_text("x")
    during(monkeypatch, unclean.acknowledge)
    assert suspects.search("/srv/pool") is None
    assert unclean.pending() is None and suspects.names() == []


def test_a_start_during_the_search_is_searched_for_next(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    during(monkeypatch, lambda: unclean_start(timedelta(hours=1)))
    assert found().suspects is None


def test_nothing_is_searched_where_no_start_was_unclean(root: Path) -> None:
    assert suspects.search("/srv/pool") is None


def test_health_warns_until_it_is_acknowledged(pool: Path) -> None:
    (finding,) = check.check(Host())
    assert finding.level is Level.WARN
    assert "Array data (raid6) was started unclean while degraded" in finding.sentence
    assert finding.sentence.endswith("they are still being searched for.")
    (pool / "one").write_text("x")
    found()
    (finding,) = check.check(Host())
    assert finding.sentence.endswith("may be damaged; 1 file was written then.")
    assert finding.todo is not None
    assert "millrace pool acknowledge" in finding.todo
    unclean.acknowledge()
    assert check.check(Host()) == []
    assert suspects.names() == []


def says(verb: Command, *words: str) -> str:
    result = CliRunner().invoke(verb, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_verbs_show_find_record_and_acknowledge(world: World, pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "Linux", lambda: world)
    built(world, raid6_plan())
    assert "were not searched for yet: millrace pool unclean --find" in says(verbs.pool, "unclean")
    (pool / "one").write_text("x")
    assert json.loads(says(verbs.pool, "unclean", "--find", "--json"))["suspects"]["count"] == 1
    assert says(verbs.pool, "unclean").endswith("\none\n")
    assert json.loads(says(verbs.pool, "record", "--json"))["generation"] == 1
    assert says(verbs.pool, "acknowledge") == "1 unclean start acknowledged\n"
    assert says(verbs.pool, "unclean") == "no array was started unclean while degraded\n"
    assert json.loads(says(verbs.pool, "acknowledge", "--json"))["starts"] == []


def test_the_heartbeat_of_the_pool_is_no_file_in_doubt(pool: Path) -> None:
    (pool / "data/.millrace").mkdir(parents=True)
    (pool / "data/.millrace/of-a-client").write_text("x")
    (pool / paths.POOL_OWN).mkdir(0o700)
    (pool / paths.POOL_OWN / heartbeat.FILE).write_text("x")
    assert found().suspects == unclean.Suspects(count=1, listed=1, complete=True)
    assert suspects.names() == ["data/.millrace/of-a-client"]
