# SPDX-License-Identifier: Apache-2.0
"""A snapshot is there completely or not at all, and says how exact it is."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.protect.snapshot import snapshot_run, snapshot_store
from millrace.protect.snapshot.snapshot_job import JOB
from millrace.serve.clone import clone_tree
from millrace.serve.config import store
from millrace.serve.share.edit import create_shares, remove_share
from millrace.serve.share.kept_snapshots import MANIFEST
from millrace.system import leases, locks, paths
from millrace.system.errors import Failed
from millrace.system.jobs import record
from tests.unit.protect.snapshot.conftest import Nas

NAME = "20261129T120000Z-manual"


class Killed(BaseException):
    """The process ends here."""


def test_snapshot_has_everything_of_its_share_and_keeps_it(nas: Nas) -> None:
    manifest = nas.made()
    tree = nas.snapshots.place("data", NAME) / "tree"
    assert (tree / "set/one").read_text() == "first" and (tree / "set/deep/two").read_text() == "second"
    assert (manifest.entries, manifest.changed_count, manifest.changed) == (5, 0, [])
    assert manifest.moment is not None and manifest.first <= manifest.moment <= manifest.last
    assert nas.snapshots.manifest("data", NAME) == manifest and nas.stage() == []
    (nas.share / "set/one").write_text("changed")
    assert (tree / "set/one").read_text() == "first"


def test_users_pass_the_way_to_a_snapshot_and_it_has_a_project_of_its_own(nas: Nas) -> None:
    nas.made()
    top = nas.snapshots.top
    ways = (top, top / "data", top / "data" / NAME, top / ".stage", top / "data" / NAME / MANIFEST)
    assert [stat.S_IMODE(path.stat().st_mode) for path in ways] == [0o711, 0o755, 0o711, 0o700, 0o600]
    assert not [path for path in nas.appliance.exported() if paths.SNAPSHOTS in path]
    share = store.load().share("data")
    assert share is not None and nas.projects == [(3 << 30) + share.project]


def test_file_that_changes_meanwhile_is_taken_again(nas: Nas) -> None:
    calls: list[int] = []

    def change() -> None:
        calls.append(1)
        if len(calls) == 2:
            (nas.share / "set/one").write_text("changed")
            (nas.share / "new").write_text("new")

    nas.before = change
    manifest = nas.made()
    tree = nas.snapshots.place("data", NAME) / "tree"
    assert (tree / "set/one").read_text() == "changed" and (tree / "new").read_text() == "new"
    assert manifest.moment is not None and manifest.taken_again >= 3 and manifest.changed == []


def test_file_that_never_rests_is_named(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_run, "COARSE", 1)
    nas.before = lambda: (nas.share / "set/log").open("a").write("line\n")
    manifest = nas.made()
    assert manifest.moment is None and "set/log" in manifest.changed
    assert manifest.changed_count == len(manifest.changed)
    # viewers list snapshots, and the names of files are not for them
    listed = nas.snapshots.rows(store.load(), None)[0].manifest
    assert listed == manifest.model_copy(update={"changed": []})


def held(nas: Nas, name: str) -> str:
    status = (nas.share / name).stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    return f"1: DELEG  ACTIVE    WRITE 1093 {device}:{status.st_ino} 0 EOF\n"


def test_file_with_a_delegation_is_taken_again_and_returned(nas: Nas) -> None:
    locks_file = nas.appliance.root / "proc/locks"
    locks_file.write_text(held(nas, "set/one"))
    cloned: list[int] = []

    def opened() -> None:
        cloned.append(1)
        if len(cloned) == 3:
            locks_file.write_text("")

    nas.before = opened
    manifest = nas.made()
    assert manifest.moment is not None and manifest.taken_again >= 1 and len(cloned) >= 3


def test_file_with_a_delegation_that_is_never_returned_is_named(nas: Nas) -> None:
    (nas.appliance.root / "proc/locks").write_text(held(nas, "set/one"))
    manifest = nas.made()
    assert manifest.moment is None and manifest.changed == ["set/one"]


def test_file_that_is_held_after_each_look_leaves_no_moment(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[set[int]] = []
    inode = (nas.share / "set/one").stat().st_ino

    def held_for_writing(_: int) -> set[int]:
        looks.append({inode} if len(looks) % 2 else set())
        return looks[-1]

    monkeypatch.setattr(leases, "held_for_writing", held_for_writing)
    manifest = nas.made()
    # the look is repeated
    assert len(looks) == 2 * snapshot_run.ROUNDS
    assert (manifest.moment, manifest.changed_count, manifest.changed) == (None, 1, [])


@pytest.mark.parametrize(
    "broken",
    [
        (clone_tree.TreeClone, "run"),
        (snapshot_run.AgainClone, "__init__"),
        (snapshot_run, "changes"),
        (snapshot_run, "write_model"),
        (snapshot_store.SnapshotStore, "add"),
        (Path, "rename"),
    ],
)
def test_snapshot_that_is_cut_at_any_step_is_none_and_is_cleaned_up(
    nas: Nas, monkeypatch: pytest.MonkeyPatch, broken: tuple[object, str]
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(*broken, killed)
        with pytest.raises(Killed):
            nas.made()
    assert nas.snapshots.rows(store.load(), None) == [] and nas.stage() == ["new"]
    assert snapshot_run.sweep(nas.server) and nas.stage() == []
    assert nas.made().entries == 5


def test_snapshot_that_was_killed_after_it_got_its_name_is_done(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    removals: list[int] = []

    def killed(*_: object) -> None:
        removals.append(1)
        if len(removals) == 2:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(snapshot_store.SnapshotStore, "remove_new", killed)
        with pytest.raises(Killed):
            nas.made()
    snapshot_run.end(lambda: nas.server)
    last = record.load("snapshot")
    assert last is not None and last.state == "done" and len(nas.snapshots.rows(store.load(), "data")) == 1


def test_snapshot_that_was_killed_before_is_interrupted(nas: Nas) -> None:
    def killed() -> None:
        raise Killed

    nas.before = killed
    with pytest.raises(Killed):
        nas.made()
    snapshot_run.end(lambda: nas.server)
    last = record.load("snapshot")
    assert last is not None and last.state == "interrupted" and not JOB.kind.may_run()


def test_cleanup_leaves_a_snapshot_that_is_being_made(nas: Nas) -> None:
    for directory in (nas.snapshots.stage, nas.snapshots.stage / "new"):
        directory.mkdir(mode=0o700)
    with locks.held(paths.run_dir() / "snapshot/lock"):
        assert not snapshot_run.sweep(nas.server)
    assert nas.stage() == ["new"]


def scarce(nas: Nas) -> None:
    nas.space.free = 9


def few_inodes(nas: Nas) -> None:
    nas.space.inodes = 100_004


def removed(nas: Nas) -> None:
    remove_share("data", None, nas.appliance.server)


@pytest.mark.parametrize(
    ("situation", "words"),
    [
        (scarce, "less than 10 % of the pool would be free with a snapshot of data: remove files, or older snapshots"),
        (few_inodes, "less than 10 % of the inodes of the pool would be free with a snapshot of data: remove files"),
        (removed, "share data does not exist"),
    ],
)
def test_snapshot_that_cannot_be_made_says_why_and_leaves_nothing(
    nas: Nas, situation: Callable[[Nas], object], words: str
) -> None:
    nas.ordered()
    situation(nas)
    with pytest.raises(Failed, match=words):
        snapshot_run.execute(nas.server, nas.links(), snapshot_run.ChangeClock())
    assert nas.snapshots.rows(store.load(), None) == [] and nas.stage() == []


def test_share_with_many_files_has_to_be_asked_for(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_run, "LARGEST", 4)
    with pytest.raises(Failed, match=r"share data has 5 files and directories, .* add --large"):
        nas.made()
    assert nas.made(large=True).entries == 5


def test_removed_share_leaves_its_snapshots_and_says_so(nas: Nas) -> None:
    nas.made()
    report = remove_share("data", "data", nas.appliance.server)
    assert "1 snapshot of data remains, with the files in it: millrace snapshot list data" in report.warnings
    assert nas.snapshots.rows(store.load(), None)[0].former
    create_shares(["data"], {}, nas.appliance.server)
    # another share by now
    assert nas.snapshots.rows(store.load(), "data")[0].former
    assert (nas.snapshots.place("data", NAME) / "tree/set/one").read_text() == "first"
    assert os.listdir(nas.appliance.root / "srv/pool/data") == []


@pytest.mark.parametrize("link", [".", ".stage"])
def test_link_of_adopted_drives_leads_no_cleanup_out_of_the_pool(nas: Nas, tmp_path: Path, link: str) -> None:
    foreign = tmp_path / "foreign"
    (foreign / ".stage").mkdir(parents=True)
    (foreign / "kept").write_text("")
    (foreign / ".stage/kept").write_text("")
    if link == ".":
        shutil.rmtree(nas.snapshots.top)
    (nas.snapshots.top / link).symlink_to(foreign)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        snapshot_run.sweep(nas.server)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        nas.made()
    assert (foreign / "kept").exists() and (foreign / ".stage/kept").exists()


def test_directory_of_adopted_drives_that_users_reach_takes_no_snapshot(nas: Nas) -> None:
    nas.snapshots.stage.mkdir()
    nas.snapshots.stage.chmod(0o777)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        nas.made()
    assert nas.stage() == []


def test_client_that_fills_the_pool_meanwhile_ends_the_snapshot(nas: Nas) -> None:
    nas.before = lambda: scarce(nas)
    with pytest.raises(Failed, match="less than 10 % of the pool was free while data was taken"):
        nas.made()
    assert nas.snapshots.rows(store.load(), None) == [] and nas.stage() == []
