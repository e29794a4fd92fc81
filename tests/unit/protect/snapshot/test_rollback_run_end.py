# SPDX-License-Identifier: Apache-2.0
"""A rollback that does not come to its end loses nothing, is not begun for ever, and blocks no other share."""

import shutil

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import (
    rollback_run,
    rollback_text,
    snapshot_job,
    snapshot_rollback,
    snapshot_run,
)
from millrace.protect.snapshot.rollback_run import JOURNAL
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder
from millrace.serve.share import kept_snapshots
from millrace.serve.share import server as share_server
from millrace.serve.share.edit import create_shares
from millrace.system.errors import Failed
from millrace.system.jobs import record
from millrace.system.run import Result
from tests.unit.protect.snapshot.conftest import Nas
from tests.unit.protect.snapshot.rollbacks import (
    AFTER,
    BEFORE,
    NAME,
    Killed,
    boot_again,
    contents,
    exchanged_alone,
    executed,
    kept,
    ordered,
    step,
)


def test_rollback_whose_former_content_is_not_kept_says_so_and_is_tried_once_a_boot(changed: Nas) -> None:
    order = ordered(changed)
    changed.appliance.broken["exportfs -f"] = Result(1, "", "exportfs: no")
    with pytest.raises(Failed, match=r"share data is as in .*, but its former files are not a snapshot yet: .*no"):
        executed(changed)
    snapshot_run.end(lambda: changed.server)
    rollback_run.resume(changed.server)
    assert ORDER.get() is None
    boot_again(changed)
    rollback_run.resume(changed.server)
    assert ORDER.get() == order


def test_release_that_knows_no_rollback_removes_none(changed: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    order = exchanged_alone(changed, monkeypatch)
    assert kept_snapshots.shares("/srv/pool") == ["data"]
    # all but what is being made is removed there
    for path in changed.snapshots.stage.iterdir():
        shutil.rmtree(path)
    rollback_run.resume(changed.server)
    assert ORDER.get() == order and executed(changed).id == order.id and kept(changed) == BEFORE


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_rollback_of_adopted_drives_that_users_reach_is_not_followed(changed: Nas, mode: int) -> None:
    changed.snapshots.rollback.mkdir()
    changed.snapshots.rollback.chmod(mode)
    with pytest.raises(Failed, match="is not a directory of root alone: examine it"):
        rollback_run.resume(changed.server)


@pytest.mark.parametrize("ended", [Killed, ValueError])
@pytest.mark.parametrize("place", [(rollback_run, "reopen"), (snapshot_run, "take")])
def test_end_that_a_kill_or_a_surprise_ends_is_begun_once_a_boot(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, place: tuple[object, str], ended: type[BaseException]
) -> None:
    order = ordered(changed)

    def raising(*_: object) -> None:
        raise ended

    with monkeypatch.context() as patch:
        patch.setattr(*place, raising)
        with pytest.raises(ended):
            executed(changed)
    snapshot_run.end(lambda: changed.server)
    sentence = str(rollback_run.resume(changed.server))
    assert ORDER.get() is None and sentence.endswith(
        "it was ended from outside, or the server was restarted; to try again: millrace snapshot create data, or start "
        "the server again"
    )
    boot_again(changed)
    assert rollback_run.resume(changed.server) is None and ORDER.get() == order


def test_end_that_was_killed_when_its_snapshot_was_complete_leaves_nothing(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered(changed)
    with monkeypatch.context() as patch:
        step(snapshot_run.SnapshotStore, "add", True)(patch)
        with pytest.raises(Killed):
            executed(changed)
    snapshot_run.end(lambda: changed.server)
    assert rollback_run.resume(changed.server) is None and ORDER.get() is None
    assert kept(changed) == BEFORE and changed.stage() == ["new"] and not changed.snapshots.rollback.exists()


@pytest.mark.parametrize("what", ["free", "inodes"])
def test_pool_that_becomes_full_keeps_a_floor_and_what_was_made_is_freed_before_the_error_is_written(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    order = ordered(changed)
    stages: list[list[str]] = []
    plain = rollback_run.write_model

    def written(*args: object) -> object:
        stages.append(changed.stage())
        # in the middle of the second clone
        changed.before = lambda: setattr(changed.space, what, {"free": 1, "inodes": 19_000}[what])
        return plain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(rollback_run, "write_model", written)
    monkeypatch.setattr(snapshot_run.clone_job, "threads", lambda: 1)
    with pytest.raises(Failed, match=r"former files are not a snapshot yet: less than 2 % of the .* was free while"):
        executed(changed)
    assert len(stages) == 2 and stages[1] == []
    assert contents(changed.share) == AFTER and contents(changed.snapshots.rollback / "tree") == BEFORE
    changed.before, changed.space.free, changed.space.inodes = lambda: None, 5, 1_000_000
    # 10 % are not needed for it
    ORDER.write(order)
    assert executed(changed).id == order.id and kept(changed) == BEFORE


def of_other(nas: Nas) -> SnapshotOrder:
    order = snapshot_job.prepare("other", False, nas.server)
    ORDER.write(order)
    return order


def test_rollback_that_cannot_end_keeps_no_snapshot_of_another_share_from_being_made(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create_shares(["other"], {}, changed.appliance.server)
    exchanged_alone(changed, monkeypatch)
    taken = snapshot_run.take
    tries: list[str] = []

    def refused(order: SnapshotOrder, *args: object) -> SnapshotManifest:
        tries.append(order.share)
        if order.share == "data":
            raise Failed("no")
        return taken(order, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshot_run, "take", refused)
    for number in (1, 2):
        order = of_other(changed).model_copy(update={"name": f"20261129T12000{number}Z-manual"})
        ORDER.write(order)
        assert executed(changed).id == order.id
        assert "former files are not a snapshot yet: no; to try again: " in capsys.readouterr().err
    # once for the first of them, and of its own share again
    assert tries == ["data", "other", "other"]
    changed.ordered(7)
    with pytest.raises(Failed, match="former files are not a snapshot yet: no"):
        executed(changed)
    assert contents(changed.snapshots.rollback / "tree") == BEFORE
    assert len(changed.appliance.called("smbcontrol smbd close-share data")) == 1


def test_rollback_of_another_share_needs_the_end_of_the_one_before(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_shares(["other"], {}, changed.appliance.server)
    exchanged_alone(changed, monkeypatch)
    monkeypatch.setattr(snapshot_run, "take", step_failed)
    ORDER.write(of_other(changed).model_copy(update={"rollback": NAME}))
    with pytest.raises(Failed, match=r"share data is as in .*, but its former files are not a snapshot yet: no"):
        executed(changed)


def step_failed(*_: object) -> None:
    raise Failed("no")


def test_limits_that_are_not_in_force_are_in_the_end_of_the_job(
    changed: Nas, capsys: pytest.CaptureFixture[str]
) -> None:
    order = ordered(changed)
    snapshot_rollback.start(order, changed.server)
    changed.appliance.broken["xfs_quota -x -c limit"] = Result(1, "", "xfs_quota: cannot set limits: no\n")
    executed(changed)
    last = record.load("snapshot")
    words = "the quota of data is not set: xfs_quota limit: xfs_quota: cannot set limits: no"
    assert last is not None and (last.state, last.reason) == ("done", words)
    assert words in capsys.readouterr().err
    *_, ended = snapshot_rollback.follow(order, changed.server)
    assert isinstance(ended, snapshot_rollback.SnapshotRollback)
    assert f"warning: {words}" in rollback_text.after(ended, snapshot_rollback.problem(changed.server))


@pytest.mark.parametrize("text", ["{", '{"order": {"id": "1", "share": "../etc", "name": "x"}}'])
def test_journal_that_cannot_be_trusted_is_not_followed_and_blocks_rollbacks_alone(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    place = changed.snapshots.rollback
    place.mkdir(mode=0o700)
    (place / "tree").mkdir()
    (place / JOURNAL).write_text(text)
    words = "the journal of a rollback cannot be read, and no share can be rolled back: .*; examine .*/tree, which"
    ordered(changed)
    with pytest.raises(Failed, match=words):
        executed(changed)
    assert contents(changed.share) == BEFORE
    changed.ordered(7)
    assert executed(changed).name == "20261129T120007Z-manual"
    assert "the journal of a rollback cannot be read" in capsys.readouterr().err
    snapshot_run.end(lambda: changed.server)
    changed.snapshots.set_aside("data", NAME)
    monkeypatch.setattr(share_server, "this_server", lambda: changed.server)
    assert run(["snapshot", "sweep"]) == 1 and changed.stage() == []
    assert "the journal of a rollback cannot be read" in capsys.readouterr().err
    assert (place / "tree").exists() and ORDER.get() is None
