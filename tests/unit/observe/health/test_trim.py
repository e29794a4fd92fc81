# SPDX-License-Identifier: Apache-2.0
"""A trim that is late, or that the kernel refuses, is a finding of the file system."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import trim
from millrace.observe.health.model import Level
from millrace.storage.array import discard
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import stamp
from millrace.storage.trim.trim_record import Trimmed, TrimRecord, TrimRound, TrimStop
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.text import moment
from tests.unit.observe.health.servers import host, sentences, well
from tests.unit.storage.trim.trimmed import trimmed


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    # the pool of the samples has no records of its drives
    monkeypatch.setattr(discard, "without_guarantee", lambda pool: [])
    write_model(paths.pool_file(), trimmed(pool()).model_copy(update={"created": ago(10)}))
    return tmp_path


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def ago(days: int) -> str:
    return stamp(datetime.now(UTC) - timedelta(days=days))


def kept(days: int | None = None, refused: bool = False) -> None:
    """The last trim ended so many days ago; one that began yesterday was refused."""
    last = Trimmed(started=ago(days), ended=ago(days), bytes=1, seconds=1, longest=1) if days is not None else None
    begun = TrimRound(started=ago(1), by="policy", size=2, offset=1, slice=1, bytes=1, seconds=1, longest=1)
    stopped = TrimStop(at=ago(1), by="refused", reason="fstrim fails: the discard operation is not supported")
    record = TrimRecord(uuid=pool().filesystem_uuid, round=begun, stopped=stopped if refused else None, last=last)
    write_model(paths.trim_file(), record)


def test_new_pool_is_not_late(serving: Path) -> None:
    assert sentences(trim.check(host())) == "OK: /srv/pool has not been trimmed yet. []"


def test_recent_trim_is_all_right(serving: Path) -> None:
    kept(60)
    assert sentences(trim.check(host())) == f"OK: The last trim of /srv/pool ended {moment(ago(60))}. []"


def test_trim_of_two_months_ago_is_a_warning(serving: Path) -> None:
    kept(63)
    [found] = trim.check(host())
    assert (found.key, found.level) == ("trim/late//srv/pool", Level.WARN)
    assert found.sentence.startswith("Free space on /srv/pool was last trimmed 63 days ago; the window")
    assert found.todo == "See what stops it: millrace pool trim status"


def test_pool_that_was_never_trimmed_is_late_by_its_age(serving: Path) -> None:
    write_model(paths.pool_file(), pool().model_copy(update={"created": ago(63)}))
    assert "Free space on /srv/pool has not been trimmed in 63 days" in sentences(trim.check(host()))


def test_refused_trim_is_a_warning_with_the_words_of_the_tool(serving: Path) -> None:
    kept(refused=True)
    [found] = trim.check(host())
    assert (found.key, found.level) == ("trim/refused//srv/pool", Level.WARN)
    assert f"stopped {moment(ago(1))}: fstrim fails: the discard operation is not supported." in found.sentence


def test_pool_that_is_not_to_be_trimmed_is_never_late(serving: Path) -> None:
    kept(400)
    paths.policy_file().write_text('[md]\ndiscard = "never"\n')
    assert trim.check(host()) == []


def test_server_without_a_pool_has_nothing_to_trim(serving: Path) -> None:
    paths.pool_file().unlink()
    assert trim.check(host()) == []


@pytest.mark.parametrize(("days", "clock"), [(-15_000, "ahead"), (20_000, "behind")])
def test_trim_of_a_wrong_clock_is_reported_and_due_now(serving: Path, days: int, clock: str) -> None:
    kept(days)
    [found] = trim.check(host())
    assert (found.key, found.level) == ("trim/late//srv/pool", Level.WARN)
    was = f"was last trimmed {moment(ago(days))}: the clock was {clock} at that time; the next trim is due now"
    assert found.sentence.startswith(f"Free space on /srv/pool {was}")
