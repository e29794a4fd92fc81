# SPDX-License-Identifier: Apache-2.0
"""A promoted replica is served as its newest snapshot, with what this server has of users, and what it lacks named."""

from collections.abc import Iterator

import pytest

from millrace.plan.policy import policy_in_force
from millrace.plan.policy.model import Policy
from millrace.protect.replica import replica_promote
from millrace.protect.replica.file_list import FileListEnd, SourceShare
from millrace.protect.replica.replica_model import STATES, Promotion
from millrace.protect.snapshot import rollback_run, snapshot_rollback, snapshot_run
from millrace.protect.snapshot.rollback_model import SnapshotRollback
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_model import SnapshotOrder
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.config import store
from millrace.serve.config.model import Config, Group, User
from millrace.serve.share import edit
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from tests.fakes.jobs import shown
from tests.unit.protect.replica.conftest import Replicas
from tests.unit.protect.snapshot.rollbacks import contents


@pytest.fixture
def ready(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> Replicas:
    """A replica with a snapshot; what the job of a rollback does is done at its start."""
    nas = replicas.nas
    nas.appliance.TAKEN = (*nas.appliance.TAKEN, "exportfs -f")
    for states in ("systemctl show --property=ActiveState,Job millrace-", "systemctl show --property=Id,"):
        nas.appliance.broken[states] = lambda words, _: shown(words[3:])

    def start(order: SnapshotOrder, server: ShareServer) -> None:
        ORDER.write(order)
        snapshot_run.execute(server, nas.links(), ChangeClock(), rollback_run.carry_out)

    def follow(order: SnapshotOrder, _: ShareServer) -> Iterator[SnapshotRollback]:
        yield SnapshotRollback(share=order.share, snapshot=str(order.rollback), kept=order.name)

    monkeypatch.setattr(snapshot_rollback, "start", start)
    monkeypatch.setattr(snapshot_rollback, "follow", follow)
    replicas.snapshot(1)
    replicas.synced()
    return replicas


def promoted(replicas: Replicas) -> Promotion:
    *_, last = replica_promote.promote("copy", "copy", replicas.nas.server)
    assert isinstance(last, Promotion)
    return last


def test_promoted_replica_is_served_as_its_newest_snapshot(ready: Replicas) -> None:
    (ready.nas.share / "set/one").write_text("later")
    name = ready.snapshot(2)
    ready.synced()
    ended = promoted(ready)
    assert ended.snapshot == name and ended.missing == []
    assert contents(ready.appliance.root / "srv/pool/copy") == {"set/one": "later", "set/deep/two": "second"}
    copy = store.load().share("copy")
    assert copy is not None and copy.replica is None and copy.nfs.enabled and copy.smb.users == ["admin"]
    assert "/srv/pool/copy " in (ready.appliance.root / "etc/exports.d/millrace.exports").read_text()
    assert STATES.read().replicas == []


@pytest.mark.parametrize("kept", [20, -60])
def test_damaged_list_does_not_keep_a_replica_from_promotion(ready: Replicas, kept: int) -> None:
    name = ready.snapshot(2)
    ready.synced()
    path = ready.nas.snapshots.place("copy", name) / "files.gz"
    path.write_bytes(path.read_bytes()[:kept])
    ended = promoted(ready)
    assert ended.snapshot == name
    assert ended.missing == [f"the list of files of copy@{name} is damaged: the names of owners of files are not known"]
    assert contents(ready.appliance.root / "srv/pool/copy") == {"set/one": "first", "set/deep/two": "second"}


def test_promotion_needs_the_name_again(ready: Replicas) -> None:
    with pytest.raises(BadInput, match="was repeated as 'data', not copy: nothing was changed"):
        list(replica_promote.promote("copy", "data", ready.nas.server))
    copy = store.load().share("copy")
    assert copy is not None and copy.replica is not None


def test_replica_without_a_snapshot_is_not_promoted(replicas: Replicas) -> None:
    with pytest.raises(Refused, match=r"has no snapshot of 10\.9\.0\.7:data yet"):
        list(replica_promote.promote("copy", "copy", replicas.nas.server))


def test_promotion_that_failed_leaves_a_replica_and_is_run_again(
    ready: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object) -> Iterator[SnapshotRollback]:
        raise Failed("the pool is full")

    with monkeypatch.context() as patched:
        patched.setattr(snapshot_rollback, "follow", failed)
        with pytest.raises(Failed, match="the pool is full"):
            promoted(ready)
    copy = store.load().share("copy")
    assert copy is not None and copy.replica is not None and not copy.nfs.enabled


def test_promoted_replica_is_served_to_no_more_than_on_its_source(ready: Replicas) -> None:
    clients = ["10.0.0.0/24 access=ro squash=all"]
    wanted = {"nfs_clients": clients, "smb_networks": ["10.1.0.0/24"], "encryption": "required", "audit": True}
    edit.set_share("data", {**wanted, "child_size": "1GiB"}, ready.appliance.server)
    ready.snapshot(2)
    ready.synced()
    ended = promoted(ready)
    copy = store.load().share("copy")
    assert copy is not None and not copy.nfs.enabled and copy.child_size == 1 << 30
    assert (copy.smb.networks, copy.smb.encryption, copy.smb.audit) == (["10.1.0.0/24"], "required", True)
    allow = "millrace share set copy --nfs --nfs-client '10.0.0.0/24 access=ro squash=all sec=sys'"
    assert ended.missing[0].endswith(f"to clients of its own: decide who may mount it, then {allow}")


def test_source_of_privileged_ports_leaves_nfs_off_here(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy()
    wider = policy.model_copy(update={"nfs": policy.nfs.model_copy(update={"privileged_ports": False})})
    monkeypatch.setattr(policy_in_force, "in_force", lambda: wider)
    settings = SourceShare(type="mixed", privileged_ports=True)
    [line] = replica_promote.narrower("copy", settings)
    assert "to privileged ports only" in line and replica_promote.narrower("copy", SourceShare(type="mixed")) == []


def test_share_that_nobody_may_open_here_is_the_administrator_s(ready: Replicas) -> None:
    settings = SourceShare(type="mixed", nfs_clients=["10.0.0.7"], smb=False, smb_users=["ann"])
    copy = replica_promote._served(store.load(), "copy", settings).share("copy")
    assert copy is not None and (copy.nfs.enabled, copy.smb.enabled, copy.smb.users) == (False, True, ["admin"])


def test_users_and_groups_that_are_missing_are_named() -> None:
    end = FileListEnd(entries=3, users={2001: "ann", 2002: "bob", 1000: "admin"}, groups={2003: "team"})
    settings = SourceShare(type="mixed", smb_users=["ann", "eve"], smb_groups=["team"])
    here = Config(users=[User(name="ann", uid=2009)], groups=[Group(name="team", gid=2003)], next_id=2010)
    assert replica_promote.missing(settings, end, here) == [
        "user ann owns files as 2001, and has the number 2009 here",
        "user bob (2002) owns files, and is not here: millrace user create bob",
        "user eve opened the share over SMB, and is not here",
    ]
