# SPDX-License-Identifier: Apache-2.0
"""A share becomes a snapshot of it completely or not at all, and what it held before is a snapshot."""

from collections.abc import Callable
from typing import Any

import pytest

from millrace.protect.snapshot import (
    rollback_run,
    snapshot_rollback,
    snapshot_run,
)
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.serve.clone import clone_job, clone_tree, copy_job
from millrace.serve.clone.clone_model import CloneOrder
from millrace.serve.clone.copy_model import CopyOrder
from millrace.serve.config import store
from millrace.serve.permissions import permissions_job
from millrace.serve.permissions.permissions_model import PermissionsOrder
from millrace.serve.share.edit import create_shares, remove_share, set_share
from millrace.serve.share.kept_snapshots import MANIFEST
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import record
from tests.unit.protect.snapshot.conftest import Nas
from tests.unit.protect.snapshot.rollbacks import (
    AFTER,
    AT,
    BEFORE,
    KEPT,
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


def test_share_is_the_snapshot_and_its_former_content_is_kept(changed: Nas) -> None:
    order = ordered(changed)
    manifest = executed(changed)
    assert contents(changed.share) == AFTER and kept(changed) == BEFORE
    assert (manifest.id, manifest.name, manifest.kind, manifest.moment is not None) == (
        order.id,
        KEPT,
        "before-rollback",
        True,
    )
    assert snapshot_run.sweep(changed.server) and changed.stage() == []
    # the snapshot is as it was, and the rollback can be undone
    assert contents(changed.snapshots.place("data", NAME) / "tree") == AFTER
    assert [row.former for row in changed.snapshots.rows(store.load(), "data")] == [False, False]


def test_settings_and_top_directory_of_the_share_stay(changed: Nas) -> None:
    before = store.load().share("data")
    ordered(changed)
    executed(changed)
    assert store.load().share("data") == before
    assert changed.share.stat().st_mode & 0o7777 == 0o750


def test_people_who_are_shut_out_while_it_is_cloned_stay_out(changed: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    ordered(changed)
    busy = snapshot_rollback.busy

    def closed(*arguments: Any) -> Any:
        # asked when the clone is complete
        changed.share.chmod(0o700)
        return busy(*arguments)

    monkeypatch.setattr(snapshot_rollback, "busy", closed)
    executed(changed)
    assert contents(changed.share) == AFTER and changed.share.stat().st_mode & 0o7777 == 0o700


def test_former_content_counts_to_the_snapshots_and_the_share_to_its_own_project(changed: Nas) -> None:
    share = store.load().share("data")
    assert share is not None
    inode = (changed.share / "set/one").stat().st_ino
    ordered(changed)
    executed(changed)
    assert changed.appliance.projects.of("data/set/one") == share.project
    assert changed.appliance.projects.given[inode] == (3 << 30) + share.project


def test_limits_bind_between_the_exchange_and_the_count(changed: Nas, monkeypatch: pytest.MonkeyPatch) -> None:
    set_share("data", {"size": "1GiB"}, changed.appliance.server)
    share = store.load().share("data")
    assert share is not None
    project = (7 << 29) + share.project
    limits = f"limit -p bsoft=0k bhard={1 << 20}k ihard={1 << 20} {project}"
    commands: list[list[str]] = []
    exchange = rollback_run.exchange

    def exchanged(*arguments: Any) -> None:
        commands.append(changed.appliance.called("xfs_quota"))
        exchange(*arguments)

    monkeypatch.setattr(rollback_run, "exchange", exchanged)
    changed.projects.clear()
    ordered(changed)
    executed(changed)
    [before] = commands
    assert changed.projects[0] == project and f"xfs_quota -x -c {limits} /srv/pool" in before
    released = f"xfs_quota -x -c limit -p bsoft=0 bhard=0 ihard=0 {project} /srv/pool"
    assert released not in before and released in changed.appliance.called("xfs_quota")


def test_home_of_a_user_who_came_after_the_snapshot_is_made_again(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(rollback_run.directories, "create", lambda share: made.append(share.name))
    ordered(changed)
    executed(changed)
    assert made == ["data"]


def test_home_that_cannot_be_made_ends_no_rollback(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(_: object) -> None:
        raise Failed("a file is in its place")

    monkeypatch.setattr(rollback_run.directories, "create", refused)
    ordered(changed)
    executed(changed)
    assert contents(changed.share) == AFTER and "a file is in its place" in capsys.readouterr().err


def test_servers_open_the_share_again(changed: Nas) -> None:
    ordered(changed)
    executed(changed)
    assert changed.appliance.called("exportfs -f") and changed.appliance.called("smbcontrol smbd close-share data")


@pytest.mark.parametrize(
    ("cut", "rolled_back"),
    [
        (step(rollback_run, "_stage", False), False),
        (step(clone_tree.TreeClone, "run", True), False),
        (step(rollback_run, "write_model", False), False),
        (step(rollback_run, "write_model", True), False),
        (step(rollback_run, "exchange", False), False),
        (step(rollback_run, "exchange", True), True),
        (step(rollback_run, "reopen", True), True),
        (step(rollback_run.project_walk, "count", True), True),
        (step(snapshot_run, "take", False), True),
        (step(snapshot_run, "write_model", True), True),
        (step(snapshot_run.SnapshotStore, "add", True), True),
    ],
)
def test_cut_leaves_the_old_or_the_new_share_and_the_next_boot_is_at_the_end(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, cut: Callable[[pytest.MonkeyPatch], None], rolled_back: bool
) -> None:
    order = ordered(changed)
    with monkeypatch.context() as patch:
        cut(patch)
        with pytest.raises(Killed):
            executed(changed)
    snapshot_run.end(lambda: changed.server)
    assert contents(changed.share) == (AFTER if rolled_back else BEFORE) and ORDER.get() is None
    boot_again(changed)
    rollback_run.resume(changed.server)
    assert ORDER.get() == (order if rolled_back else None)
    if rolled_back:
        assert executed(changed).id == order.id and kept(changed) == BEFORE
    assert snapshot_run.sweep(changed.server) and changed.stage() == []
    assert contents(changed.share) == (AFTER if rolled_back else BEFORE)
    assert len(changed.snapshots.rows(store.load(), "data")) == (2 if rolled_back else 1)


def test_next_snapshot_finishes_a_rollback_that_a_power_cut_ended(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanged_alone(changed, monkeypatch)
    changed.ordered(7)
    assert executed(changed).name == "20261129T120007Z-manual"
    assert kept(changed) == BEFORE and contents(changed.share) == AFTER


def test_rollback_that_is_open_is_not_removed_with_removed_snapshots(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanged_alone(changed, monkeypatch)
    assert snapshot_run.sweep(changed.server) and changed.stage() == []
    assert contents(changed.snapshots.rollback / "tree") == BEFORE


def test_share_that_was_removed_meanwhile_leaves_its_former_content(
    changed: Nas, monkeypatch: pytest.MonkeyPatch
) -> None:
    ORDER.write(exchanged_alone(changed, monkeypatch))
    remove_share("data", None, changed.appliance.server)
    executed(changed)
    assert kept(changed) == BEFORE and contents(changed.share) == AFTER


def clones(nas: Nas) -> None:
    order = CloneOrder(id="1", source="data/set", target="other", seal=False, size=None, by="admin")
    clone_job.ORDER.write(order)


def copies(nas: Nas) -> None:
    copy_job.ORDER.write(CopyOrder(id="1", source="host:/x", target="data/in", by="admin"))


def sets_permissions(nas: Nas) -> None:
    permissions_job.ORDER.write(PermissionsOrder(id="1", share="data", by="admin"))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (clones, "share data takes part in a clone"),
        (copies, "files are being copied to share data"),
        (sets_permissions, "the permissions of share data are being set"),
    ],
)
def test_job_that_uses_the_share_refuses_it_before_and_at_the_exchange(
    changed: Nas, monkeypatch: pytest.MonkeyPatch, job: Callable[[Nas], None], words: str
) -> None:
    ordered(changed)
    monkeypatch.setattr(snapshot_rollback.clone_job.Job, "runs", lambda *_: True)
    job(changed)
    with pytest.raises(Refused, match=words):
        snapshot_rollback.forecast(AT, changed.server)
    with pytest.raises(Failed, match=words):
        executed(changed)
    assert contents(changed.share) == BEFORE


def sealed(nas: Nas) -> None:
    config = store.load()
    share = config.share("data")
    assert share is not None
    values = share.model_copy(update={"sealed": True, "type": "dataset-ro"})
    store.change("test", "seal", lambda state: state.model_copy(update={"shares": [values]}))


def small(nas: Nas) -> None:
    set_share("data", {"size": "1M"}, nas.appliance.server)
    path = nas.snapshots.place("data", NAME) / MANIFEST
    path.write_text(nas.snapshots.manifest("data", NAME).model_copy(update={"bytes": 2_000_000}).model_dump_json())


def another(nas: Nas) -> None:
    remove_share("data", "data", nas.appliance.server)
    create_shares(["data"], {}, nas.appliance.server)


def unreadable(nas: Nas) -> None:
    (nas.snapshots.place("data", NAME) / MANIFEST).write_text("{")


@pytest.mark.parametrize(
    ("situation", "words"),
    [
        (sealed, "share data is sealed: unseal it first: millrace share unseal data"),
        (small, f"{AT} holds 2 MB, and the limit of the share is 1.05 MB"),
        (another, f"data@{NAME} is of a former share: restore what is needed with millrace snapshot get"),
        (unreadable, "has no manifest that can be read, so its share is not known"),
    ],
)
def test_snapshot_that_the_share_cannot_become_is_refused(
    changed: Nas, situation: Callable[[Nas], None], words: str
) -> None:
    situation(changed)
    with pytest.raises(Refused, match=words):
        snapshot_rollback.forecast(AT, changed.server)


def test_part_of_a_snapshot_and_another_name_are_refused(changed: Nas) -> None:
    with pytest.raises(BadInput, match="is a part of a snapshot: put it back with millrace snapshot get"):
        snapshot_rollback.forecast(f"{AT}/set", changed.server)
    with pytest.raises(BadInput, match="repeated as 'date', not data: nothing was changed"):
        snapshot_rollback.confirm("data", "date")


def test_pool_that_would_be_too_full_leaves_the_share(changed: Nas) -> None:
    ordered(changed)
    changed.space.free = 9
    with pytest.raises(Failed, match="less than 10 % of the pool would be free"):
        executed(changed)
    assert contents(changed.share) == BEFORE and changed.stage() == []


def test_rollback_is_recorded_as_the_job_that_made_the_snapshot(changed: Nas) -> None:
    order = ordered(changed)
    snapshot_rollback.start(order, changed.server)
    executed(changed)
    last = record.load("snapshot")
    assert last is not None and (last.state, last.what) == ("done", f"share data back to {NAME}")
    *_, ended = snapshot_rollback.follow(order, changed.server)
    assert ended == snapshot_rollback.SnapshotRollback(share="data", snapshot=NAME, kept=KEPT)
