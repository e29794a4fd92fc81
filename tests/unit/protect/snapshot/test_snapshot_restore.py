# SPDX-License-Identifier: Apache-2.0
"""Files come back from snapshots, and snapshots are removed; nothing that a share has is replaced."""

import json
from collections.abc import Callable

import pytest

from millrace.protect.snapshot import snapshot_remove, snapshot_restore, snapshot_run
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_model import RestoredFile, RestoreLine, SnapshotManifest
from millrace.serve.clone import clone_job, clone_run
from millrace.serve.clone.clone_model import Clone
from millrace.serve.config import store
from millrace.serve.config.choices import ShareType
from millrace.serve.share.edit import create_shares
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.jobs import job_paths
from tests.unit.protect.snapshot.conftest import Nas

NAME = "20261129T120000Z-manual"
AT = f"data@{NAME}"


@pytest.fixture
def kept(nas: Nas) -> Nas:
    """A share with a snapshot, whose files changed after it."""
    nas.made()
    (nas.share / "set/one").write_text("changed")
    return nas


def restored(nas: Nas, source: str, target: str | None = None) -> list[RestoreLine]:
    return [*snapshot_restore.restore(source, target, nas.server, nas.links())]


def set_type(nas: Nas, kind: ShareType) -> None:
    store.change(
        "test", "type", lambda config: config.model_copy(
            update={"shares": [share.model_copy(update={"type": kind}) for share in config.shares]}
        )
    )  # fmt: skip


def test_file_comes_back_beside_the_one_that_changed(kept: Nas) -> None:
    [line] = restored(kept, f"{AT}/set/one", "data/set/one.before")
    assert line == RestoredFile(source=f"{AT}/set/one", target="data/set/one.before", bytes=5)
    assert (kept.share / "set/one.before").read_text() == "first"
    assert (kept.share / "set/one").read_text() == "changed"


def test_file_that_was_removed_comes_back_where_it_was(kept: Nas) -> None:
    (kept.share / "set/one").unlink()
    restored(kept, f"{AT}/set/one")
    assert (kept.share / "set/one").read_text() == "first"
    assert sorted(path.name for path in (kept.share / "set").iterdir()) == ["deep", "one"]


@pytest.mark.parametrize("source", [AT, f"{AT}/set", f"{AT}/set/one"])
def test_snapshot_of_a_former_share_comes_back_only_to_a_target(kept: Nas, source: str) -> None:
    store.change(
        "test", "new", lambda config: config.model_copy(
            update={"shares": [share.model_copy(update={"project": share.project + 1}) for share in config.shares]}
        )
    )  # fmt: skip
    (kept.share / "set/one").unlink()
    with pytest.raises(Refused, match=f"{source} is of a former share: name the target"):
        restored(kept, source)
    assert not (kept.share / "set/one").exists()


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (f"{AT}/set/one", None, "data/set/one already exists: choose another name"),
        (f"{AT}/set/one", "data", "data is a share: name the file that is made in it, such as data/one"),
        (f"{AT}/set/one", f"{AT}/set/x", "is a snapshot, which cannot be changed"),
        (f"{AT}/set", f"{AT}/x", "is a snapshot, which cannot be changed"),
        (f"{AT}/set/one", "other/x", "share other does not exist"),
        (f"{AT}/set/three", None, "set/three does not exist: millrace snapshot browse"),
        (f"{AT}/no/three", None, "no is not a directory, or a link is on its path: millrace snapshot list data"),
        (AT, None, "is a whole share, which exists"),
        ("data/set/one", None, "'data/set/one' is no snapshot: write it like data@"),
        ("data@20261129T130000Z-manual/set", None, "data has no snapshot 20261129T130000Z-manual"),
        ("data@yesterday/set", None, "'yesterday' is not the name of a snapshot"),
        (f"{AT}/../../etc", None, "is not a directory of a share"),
    ],
)
def test_restore_of_what_cannot_be_says_why(kept: Nas, source: str, target: str | None, words: str) -> None:
    with pytest.raises(MillraceError, match=words):
        restored(kept, source, target)
    assert sorted(path.name for path in (kept.share / "set").iterdir()) == ["deep", "one"]


def test_directory_is_cloned_out_of_a_snapshot(kept: Nas) -> None:
    order = clone_job.prepare(f"{AT}/set", "data/set.before", False, None, kept.server)
    write_model(job_paths.clone_order_file(), order)
    ended = clone_run.execute(kept.server, kept.links())
    assert isinstance(ended, Clone) and (ended.state, ended.entries) == ("done", 4)
    assert (kept.share / "set.before/one").read_text() == "first"


def test_whole_snapshot_becomes_a_share_for_the_same_clients(kept: Nas) -> None:
    write_model(job_paths.clone_order_file(), clone_job.prepare(AT, "restored", False, None, kept.server))
    assert clone_run.execute(kept.server, kept.links()).share
    assert (kept.appliance.root / "srv/pool/restored/set/one").read_text() == "first"
    assert "/srv/pool/restored" in kept.appliance.exported()


def test_homes_of_a_former_share_become_no_share_for_other_clients(nas: Nas) -> None:
    set_type(nas, "home")
    nas.made()
    set_type(nas, "training")
    with pytest.raises(Refused, match="share data holds the homes of users, which stay private"):
        clone_job.prepare(AT, "restored", False, None, nas.server)
    assert clone_job.prepare(f"{AT}/set", "data/set.before", False, None, nas.server).source == f"{AT}/set"


def test_directory_of_a_snapshot_is_listed(kept: Nas) -> None:
    listed = kept.snapshots.browse(kept.snapshots.known(f"{AT}/set"))
    assert [(entry.name, entry.kind, entry.bytes) for entry in listed.entries] == [
        ("deep", "directory", 0),
        ("one", "file", 5),
    ]
    assert (listed.place, listed.more) == (f"{AT}/set", 0)


def test_removed_snapshot_is_gone_at_once_and_freed_by_the_cleanup(kept: Nas) -> None:
    snapshot_remove.remove(AT, kept.server)
    assert kept.snapshots.rows(store.load(), None) == [] and len(kept.stage()) == 1
    assert kept.appliance.called("systemctl start --no-block millrace-cleanup@snapshot.service")
    assert snapshot_run.sweep(kept.server) and kept.stage() == []


def _cloned(nas: Nas) -> None:
    clone_job.ORDER.write(clone_job.prepare(f"{AT}/set", "data/x", False, None, nas.server))


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        (f"{AT}/set", BadInput, "is a part of a snapshot: name a whole one"),
        ("data", BadInput, "'data' is no snapshot"),
        ("other@20261129T120000Z-manual", Refused, "other has no snapshot"),
    ],
)
def test_removal_of_what_is_no_snapshot_says_why(kept: Nas, place: str, error: type[MillraceError], words: str) -> None:
    with pytest.raises(error, match=words):
        snapshot_remove.remove(place, kept.server)
    assert len(kept.snapshots.rows(store.load(), None)) == 1


def test_snapshot_that_is_being_cloned_is_not_removed(kept: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    _cloned(kept)
    monkeypatch.setattr(type(clone_job.JOB), "runs", lambda *_: True)
    with pytest.raises(Refused, match="a clone of data@20261129T120000Z-manual is under way"):
        snapshot_remove.remove(AT, kept.server)
    assert (kept.snapshots.place("data", NAME) / "tree").is_dir()


def _another(manifest: SnapshotManifest) -> str:
    return manifest.model_copy(update={"share": "other"}).model_dump_json()


@pytest.mark.parametrize("content", [_another, lambda _: "{", lambda manifest: json.dumps({"id": manifest.id})])
def test_snapshot_whose_manifest_was_changed_is_listed_with_the_problem_and_stays(
    kept: Nas, content: Callable[[SnapshotManifest], str]
) -> None:
    path = kept.snapshots.place("data", NAME) / "manifest.json"
    path.write_text(content(kept.snapshots.manifest("data", NAME)))
    [row] = kept.snapshots.rows(store.load(), "data")
    assert row.manifest is None and str(path) in (row.problem or "")
    restored(kept, f"{AT}/set/one", "data/kept")
    assert (kept.share / "kept").read_text() == "first"


def test_snapshot_of_a_share_that_is_gone_comes_back_in_another_one(kept: Nas) -> None:
    create_shares(["models"], {}, kept.appliance.server)
    store.change(
        "test", "remove", lambda config: config.model_copy(
            update={"shares": [share for share in config.shares if share.name != "data"]}
        )
    )  # fmt: skip
    restored(kept, f"{AT}/set/one", "models/one")
    assert (kept.appliance.root / "srv/pool/models/one").read_text() == "first"
    with pytest.raises(Refused, match="share data does not exist"):
        restored(kept, AT, "whole")
    assert ORDER.get() is not None
