# SPDX-License-Identifier: Apache-2.0
"""A replica has the snapshots of its source, whole or not at all, whatever the source does."""

import errno
import gzip
import os
import random
from collections.abc import Iterator

import pytest

from millrace.protect.replica import (
    replica_drill,
    replica_pairing,
    replica_run,
    replica_source,
    replica_stage,
    tree_build,
)
from millrace.protect.replica.file_list import ListedEntry
from millrace.protect.replica.replica_model import STATES, DrillReport
from millrace.protect.replica.replica_stage import ReplicaStage
from millrace.protect.snapshot import snapshot_job, snapshot_run
from millrace.serve.clone.clone_again import ChangeClock
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


def broken_reads(monkeypatch: pytest.MonkeyPatch, part: str, number: int) -> None:
    """Let each file whose path here has this part fail when it is read."""
    pread = os.pread

    def read(opened: int, size: int, offset: int) -> bytes:
        if part in os.readlink(f"/proc/self/fd/{opened}"):
            raise OSError(number, os.strerror(number), "secret name")
        return pread(opened, size, offset)

    monkeypatch.setattr(os, "pread", read)


@pytest.mark.parametrize(
    ("number", "sentence"), [(errno.ETIMEDOUT, "does not answer any more"), (errno.EACCES, "cannot be read")]
)
def test_error_of_the_source_names_that_server(
    replicas: Replicas, number: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = replicas.snapshot(1)
    broken_reads(monkeypatch, f"data/{name}/tree", number)
    with pytest.raises(Failed, match=f"^10.9.0.7:data {sentence}") as raised:
        replicas.synced()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "^the pool of this server is full"),
        (errno.EIO, "^the pool of this server cannot be read or written"),
        (errno.ESTALE, "^Stale file handle"),
    ],
)
def test_error_of_the_pool_does_not_name_the_source(
    replicas: Replicas, number: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas.snapshot(1)

    def broken(*_: object) -> None:
        raise OSError(number, os.strerror(number), "secret name")

    monkeypatch.setattr(tree_build, "_write", broken)
    with pytest.raises(Failed, match=sentence) as raised:
        replicas.synced()
    assert "secret" not in str(raised.value) and "10.9.0.7" not in str(raised.value)


def test_full_boot_drive_is_not_a_full_pool(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    replicas.snapshot(1)

    def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(replica_run.ReplicaWriter, "__call__", full)
    with pytest.raises(Failed, match=r"^this server cannot write its records"):
        replicas.synced()


def test_file_that_the_source_cannot_read_is_missing_and_named(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = replicas.snapshot(1)
    with monkeypatch.context() as patched:
        broken_reads(patched, f"data/{name}/tree/set/one", errno.EIO)
        report = replicas.synced()
    assert report.unread == 1
    assert {path.name for path in replicas.tree(name).rglob("*")} == {"set", "deep", "two"}
    manifest = replicas.nas.snapshots.manifest("copy", name)
    assert (manifest.unread_count, manifest.unread) == (1, ["set/one"])
    [row] = replicas.nas.snapshots.rows(store.load(), "copy")
    assert row.manifest is not None and (row.manifest.unread_count, row.manifest.unread) == (1, [])
    assert replicas.synced().unread == 1
    drilled = replicas.run("drill")
    assert isinstance(drilled, DrillReport) and drilled.different == 0
    later = replicas.snapshot(2)
    assert replicas.synced().unread == 0
    assert states(replicas.tree(later)) == states(replicas.tree(later, "data"))


def test_source_that_cannot_read_anything_gets_no_snapshot_here(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = replicas.snapshot(1)
    broken_reads(monkeypatch, f"data/{name}/tree", errno.EIO)
    with monkeypatch.context() as patched:
        patched.setattr(tree_build, "MOST_UNREAD", 1)
        with pytest.raises(Failed, match="the source cannot read more than 1 files of its snapshot"):
            replicas.synced()

    def gone(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fstatvfs", gone)
    with pytest.raises(Failed, match=r"^10\.9\.0\.7:data cannot be read"):
        replicas.synced()
    assert not replicas.nas.snapshots.place("copy", name).exists()


def test_first_snapshot_that_the_source_removes_meanwhile_is_not_read_again(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (replicas.nas.share / f"file{number}").write_bytes(os.urandom(UNIT))
    stage = ReplicaStage(replicas.nas.snapshots, "copy")
    for second, last in ((1, "file2"), (2, "set/one"), (3, "file0")):
        name = replicas.snapshot(second)
        with monkeypatch.context() as patched:
            broken_reads(patched, f"data/{name}/tree/{last}", errno.ETIMEDOUT)
            if second == 3:
                # ended at once: the build before it has more
                patched.setattr(tree_build.TreeBuild, "_shared", lambda *_: False)
            with pytest.raises(Failed, match="does not answer any more"):
                replicas.synced()
        assert len(stage.begun()) <= 2
        replicas.nas.snapshots.set_aside("data", name)
    name = replicas.snapshot(4)
    report = replicas.synced()
    assert (report.shared, report.fetched) == (4, len("first" + "second"))
    assert states(replicas.tree(name)) == states(replicas.tree(name, "data")) and not stage.begun()


def test_first_snapshot_is_the_newest_that_the_source_keeps_for_long(replicas: Replicas) -> None:
    names = []
    for second, kind in enumerate(("weekly", "weekly", "daily", "hourly")):
        order = replicas.nas.ordered(second)
        names.append(order.name.replace("manual", kind))
        snapshot_job.ORDER.write(order.model_copy(update={"name": names[-1]}))
        snapshot_run.execute(replicas.nas.server, replicas.nas.links(), ChangeClock())
        replica_pairing.offer(replicas.nas.server)
    first, second_ = replicas.synced(), replicas.synced()
    assert (first.snapshot, first.is_newest) == (names[1], False)
    assert (second_.snapshot, second_.is_newest) == (names[3], True)


@pytest.mark.parametrize("position", [0, 60, -9])
def test_damaged_list_here_is_passed_over(replicas: Replicas, position: int) -> None:
    first = replicas.snapshot(1)
    replicas.synced()
    second = replicas.snapshot(2)
    replicas.synced()
    path = replicas.nas.snapshots.place("copy", second) / "files.gz"
    content = bytearray(path.read_bytes())
    content[position : position + 4 or None] = b"\xff" * 4
    path.write_bytes(content)
    third = replicas.snapshot(3)
    report = replicas.synced()
    assert report.snapshot == third and report.shared == 2 and report.removed == [first]
    assert states(replicas.tree(third)) == states(replicas.tree(third, "data"))


def test_drill_chooses_one_file_of_a_hundred_and_a_thousand_at_most() -> None:
    def files(number: int) -> Iterator[ListedEntry]:
        for each in range(number):
            yield ListedEntry(str(each), "file", 0o644, 0, 0, 0)

    chance = random.Random(7)
    sizes = {number: len(replica_drill.sample(files(number), chance)) for number in (0, 1, 250, 150_000)}
    assert sizes == {0: 0, 1: 1, 250: 2, 150_000: 1000}
    drawn = [int(entry.path) for entry in replica_drill.sample(files(150_000), chance)]
    assert len(set(drawn)) == 1000 and 70_000 < sum(drawn) / 1000 < 80_000


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
