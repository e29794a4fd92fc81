# SPDX-License-Identifier: Apache-2.0
"""A replica has the snapshots of its source, whole or not at all, whatever the source does."""

import errno
import gzip
import os

import pytest

from millrace.protect.replica import replica_source, replica_stage, tree_build
from millrace.protect.replica.replica_model import STATES, DrillReport
from millrace.protect.replica.replica_stage import ReplicaStage
from millrace.serve.config import store
from millrace.system.errors import Failed, MillraceError
from tests.unit.protect.replica.conftest import Replicas
from tests.unit.protect.replica.trees import UNIT, states


def test_snapshot_of_the_source_is_a_snapshot_here(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    report = replicas.synced()
    assert states(replicas.tree(name)) == states(replicas.tree(name, "data"))
    manifest = replicas.nas.snapshots.manifest("copy", name)
    copy = store.load().share("copy")
    assert copy is not None and (manifest.share, manifest.project) == ("copy", copy.project)
    assert report.snapshot == name and report.is_new and report.is_newest
    [row] = replicas.nas.snapshots.rows(store.load(), "copy")
    assert not row.former and not ReplicaStage(replicas.nas.snapshots, "copy").begun()


def test_second_run_reads_nothing_and_a_changed_file_only_its_range(replicas: Replicas) -> None:
    large = replicas.nas.share / "large"
    large.write_bytes(os.urandom(256 * UNIT))
    replicas.snapshot(1)
    replicas.synced()
    assert (replicas.synced().is_new, replicas.synced().fetched) == (False, 0)
    with open(large, "r+b") as file:
        file.seek(77 * UNIT)
        file.write(os.urandom(UNIT))
    os.rename(replicas.nas.share / "set", replicas.nas.share / "moved")
    name = replicas.snapshot(2)
    report = replicas.synced()
    assert states(replicas.tree(name)) == states(replicas.tree(name, "data"))
    assert (report.fetched, report.changed) == (UNIT, 1)


def test_run_that_is_killed_shows_no_snapshot_and_goes_on(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (replicas.nas.share / f"file{number}").write_bytes(os.urandom(UNIT))
    name = replicas.snapshot(1)
    write, left = tree_build._write, [1]

    def killed(file: int, block: bytes, at: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            left[0] = 1
            raise KeyboardInterrupt
        write(file, block, at)

    monkeypatch.setattr(tree_build, "_write", killed)
    kills = 0
    while kills < 40:
        try:
            replicas.synced()
            break
        except KeyboardInterrupt:
            kills += 1
            assert not replicas.nas.snapshots.place("copy", name).exists()
    assert kills >= 20 and states(replicas.tree(name)) == states(replicas.tree(name, "data"))


def test_begun_snapshot_is_built_to_its_end_before_a_newer_one(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replicas.snapshot(1)
    with monkeypatch.context() as patched:
        patched.setattr(tree_build, "dress", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            replicas.synced()
    second = replicas.snapshot(2)
    assert (replicas.synced().snapshot, replicas.synced().snapshot) == (first, second)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_more_snapshots_than_are_kept_are_removed(replicas: Replicas) -> None:
    names = []
    for second in range(1, 5):
        names.append(replicas.snapshot(second))
        replicas.synced()
    assert list(replica_stage.replicated(replicas.nas.snapshots, "copy")) == names[-2:]


def test_source_that_removes_its_snapshots_takes_none_from_here(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    replicas.nas.snapshots.set_aside("data", name)
    with pytest.raises(Failed, match="has no snapshot with a list of its files yet"):
        replicas.synced()
    assert replicas.tree(name).is_dir()
    assert STATES.read().of("copy").problem is not None and STATES.read().of("copy").report is not None


def test_source_that_was_made_again_is_refused(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    replicas.nas.snapshots.set_aside("data", name)
    replicas.snapshot(1)
    before = states(replicas.tree(name))
    with pytest.raises(Failed, match="is another one than the snapshot of that name here"):
        replicas.synced()
    assert states(replicas.tree(name)) == before


def test_list_of_another_snapshot_is_refused(replicas: Replicas) -> None:
    first, second = replicas.snapshot(1), replicas.snapshot(2)
    lists = [replicas.nas.snapshots.place("data", name) / "files.gz" for name in (first, second)]
    lists[1].write_bytes(lists[0].read_bytes())
    with pytest.raises(Failed, match="is that of another snapshot"):
        replicas.synced()
    assert not replicas.nas.snapshots.place("copy", second).exists()


def test_list_that_was_changed_is_refused(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    path = replicas.nas.snapshots.place("data", name) / "files.gz"
    text = gzip.decompress(path.read_bytes()).replace(b'"set/one"', b'"../../x"')
    path.write_bytes(gzip.compress(text))
    with pytest.raises(Failed, match="was changed"):
        replicas.synced()


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the pool of this server is full"),
        (errno.ETIMEDOUT, "10.9.0.7:data does not answer any more"),
        (errno.ESTALE, "10.9.0.7:data does not answer any more"),
    ],
)
def test_error_is_one_sentence_without_names_of_files(
    replicas: Replicas, number: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas.snapshot(1)

    def broken(*_: object) -> None:
        raise OSError(number, os.strerror(number), "secret name")

    monkeypatch.setattr(tree_build, "_write", broken)
    with pytest.raises(Failed, match=sentence) as raised:
        replicas.synced()
    assert "secret" not in str(raised.value)


def test_pool_without_room_ends_the_run(replicas: Replicas) -> None:
    replicas.snapshot(1)
    replicas.nas.space.free = 13
    with pytest.raises(Failed, match="less than 14 % of the pool of this server would be free"):
        replicas.synced()


def test_source_that_does_not_let_it_in_is_said(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise Failed("10.9.0.7:/srv/pool is not mounted (access denied)")

    monkeypatch.setattr(replica_source.copy_run, "mounted", refused)
    with pytest.raises(Failed, match=r"must show a certificate of the CA AB:AB.*millrace replica allow data"):
        replicas.synced()


def test_drill_compares_files_with_the_source(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    report = replicas.run("drill")
    assert isinstance(report, DrillReport) and (report.snapshot, report.files, report.different) == (name, 1, 0)
    assert STATES.read().of("copy").drill == report


def test_flipped_block_makes_the_drill_red(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    for path in (replicas.tree(name) / "set/one", replicas.tree(name) / "set/deep/two"):
        state = path.stat()
        path.write_bytes(b"x" * state.st_size)
    report = replicas.run("drill")
    assert isinstance(report, DrillReport) and report.different == 1


def test_drill_without_a_common_snapshot_is_refused(replicas: Replicas) -> None:
    replicas.snapshot(1)
    with pytest.raises(MillraceError, match="has no snapshot that its source still has"):
        replicas.run("drill")


def test_replica_that_differs_is_read_as_a_whole(replicas: Replicas) -> None:
    first = replicas.snapshot(1)
    replicas.synced()
    for path in (replicas.tree(first) / "set/one", replicas.tree(first) / "set/deep/two"):
        path.write_bytes(b"x" * path.stat().st_size)
    second = replicas.snapshot(2)
    with pytest.raises(Failed, match="differs from the snapshot of the source: the next run reads all files again"):
        replicas.synced(full=True)
    assert not replicas.nas.snapshots.place("copy", second).exists()
    assert replicas.synced().shared == 0
    assert states(replicas.tree(second)) == states(replicas.tree(second, "data"))
    assert not STATES.read().of("copy").distrusted
