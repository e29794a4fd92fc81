# SPDX-License-Identifier: Apache-2.0
"""What a source cannot do: take the room of other shares, be the newest for ever by its clock, or break the list."""

import json
import os
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millrace.protect.replica import (
    replica_job,
    replica_pairing,
    replica_promote,
    replica_source,
    replica_stage,
    tree_build,
)
from millrace.protect.replica.replica_model import STATES
from millrace.protect.snapshot import snapshot_run
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.protect.snapshot.snapshot_thin import hold_floor
from millrace.serve.clone.clone_again import ChangeClock
from millrace.system.errors import Failed
from tests.unit.protect.replica.conftest import Replicas

AHEAD = "20990101T000000Z-hourly"


def named(replicas: Replicas, name: str) -> str:
    """Make a snapshot of data with this name."""
    ORDER.write(replicas.nas.ordered().model_copy(update={"name": name}))
    snapshot_run.execute(replicas.nas.server, replicas.nas.links(), ChangeClock())
    return name


def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both servers have a clock by which nothing is ahead."""
    for module in (replica_pairing, replica_source):
        monkeypatch.setattr(module, "made_at", lambda name, _: datetime.strptime(name[:15], "%Y%m%dT%H%M%S"))


def rewritten(replicas: Replicas, name: str, **values: object) -> None:
    path: Path = replicas.nas.snapshots.place("data", name) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_run_ends_before_snapshots_of_other_shares_are_removed(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas.snapshot(1)
    monkeypatch.setattr(replica_job, "POLL", 0.0)
    write = tree_build._write

    def filling(file: int, block: bytes, at: int) -> None:
        replicas.nas.space.free = 13
        write(file, block, at)

    monkeypatch.setattr(tree_build, "_write", filling)
    with pytest.raises(Failed, match="less than 14 % of the pool of this server would be free, 2 more than policy"):
        replicas.synced()
    assert replica_stage.replicated(replicas.nas.snapshots, "copy") == {}


def test_floor_of_free_space_removes_no_snapshot_of_a_replica(replicas: Replicas) -> None:
    for hour in (7, 8, 9):
        named(replicas, f"20261129T{hour:02}0000Z-hourly")
        replica_pairing.offer(replicas.nas.server)
        replicas.synced()
    held = list(replica_stage.replicated(replicas.nas.snapshots, "copy"))
    replicas.nas.space.free = 5
    removal = hold_floor(12, replace(replicas.nas.server, pause=lambda _: None), datetime.now(UTC))
    assert removal is not None and removal.removed == 2 and len(held) == 2
    assert list(replica_stage.replicated(replicas.nas.snapshots, "copy")) == held


def test_source_lists_the_newest_snapshot_that_is_not_ahead(source: Replicas) -> None:
    named(source, AHEAD)
    name = source.snapshot(1)
    lists = [each for each in (AHEAD, name) if (source.nas.snapshots.place("data", each) / "files.gz").exists()]
    assert lists == [name]


def test_snapshot_that_is_ahead_is_left_out(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    named(replicas, AHEAD)
    with monkeypatch.context() as patched:
        believing(patched)
        replica_pairing.offer(replicas.nas.server)
    with pytest.raises(Failed, match=rf"the time of snapshot {AHEAD} of 10\.9\.0\.7:data has yet to come"):
        replicas.synced()
    name = replicas.snapshot(1)
    assert replicas.synced().snapshot == name


def test_snapshot_that_came_last_is_the_newest_whatever_its_name(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(replicas, AHEAD)
    with monkeypatch.context() as patched:
        believing(patched)
        replica_pairing.offer(replicas.nas.server)
        replicas.synced()
    names = []
    for second in (1, 2):
        names.append(replicas.snapshot(second))
        replicas.synced()
    assert list(replica_stage.replicated(replicas.nas.snapshots, "copy")) == names
    assert replica_promote.chosen("copy", replicas.nas.server).name == names[-1]


def test_clock_here_that_was_ahead_changes_no_order(replicas: Replicas) -> None:
    first = replicas.snapshot(1)
    replicas.synced()
    os.utime(replicas.nas.snapshots.place("copy", first) / "manifest.json", (4e9, 4e9))
    second = replicas.snapshot(2)
    replicas.synced()
    assert list(replica_stage.replicated(replicas.nas.snapshots, "copy")) == [first, second]


@pytest.mark.parametrize("values", [{"moment": "garbage"}, {"moment": None, "last": ""}, {"first": "soon"}])
def test_time_that_is_none_is_refused(replicas: Replicas, values: dict[str, object]) -> None:
    rewritten(replicas, replicas.snapshot(1), **values)
    with pytest.raises(Failed, match="a time of snapshot 20261129T120001Z-manual of the source is none"):
        replicas.synced()
    assert replica_stage.replicated(replicas.nas.snapshots, "copy") == {}


@pytest.mark.parametrize("identifier", ["", "a\nb", "../x", "a" * 65])
def test_id_that_is_none_is_refused(replicas: Replicas, identifier: str) -> None:
    rewritten(replicas, replicas.snapshot(1), id=identifier)
    with pytest.raises(Failed, match="the id of snapshot"):
        replicas.synced()


def test_moment_that_is_ahead_is_left_out(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    rewritten(replicas, replicas.snapshot(2), moment="2099-01-01T00:00:00+00:00")
    assert replicas.synced().snapshot == name


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (PermissionError(13, "Permission denied"), r"Permission denied \(the journal has the name"),
        (None, "a file or directory cannot be read or written"),
    ],
)
def test_names_of_directories_stay_in_the_journal(
    replicas: Replicas,
    cause: OSError | None,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    replicas.snapshot(1)

    def broken(*_: object) -> None:
        raise Failed("secret cannot be opened") from cause

    monkeypatch.setattr(tree_build.TreeBuild, "run", broken)
    with pytest.raises(Failed, match=sentence) as raised:
        replicas.synced()
    assert "secret" not in f"{raised.value} {STATES.path().read_text()}" and "secret" in capsys.readouterr().err


def test_error_beside_the_files_is_named_in_the_journal_as_well(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted", "/run/millrace/replica/source")

    monkeypatch.setattr(replica_source, "mounted", broken)
    with pytest.raises(Failed, match=r"Operation not permitted \(the journal has the name"):
        replicas.synced()
    assert "/run/millrace/replica/source fails (Operation not permitted)" in capsys.readouterr().err


def test_homes_are_published_after_an_interruption(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    name = replicas.snapshot(1)
    rewritten(replicas, name, type="home")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(SnapshotStore, "take_in", interrupted)
        replicas.synced()
    assert replicas.synced().is_new
    assert os.readlink(replicas.nas.snapshots.place("copy", name) / "copy") == "tree"
