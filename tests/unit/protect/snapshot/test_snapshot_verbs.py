# SPDX-License-Identifier: Apache-2.0
"""What the commands print of snapshots, and how one is ordered and followed."""

import json
from dataclasses import replace
from functools import partial

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import snapshot_completion, snapshot_job, snapshot_remove, snapshot_rollback
from millrace.protect.snapshot.rollback_model import SnapshotRollback
from millrace.protect.snapshot.snapshot_job import ORDER, PROGRESS, SnapshotWriter
from millrace.protect.snapshot.snapshot_model import SnapshotOrder
from millrace.serve.share import server as share_server
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from tests.fakes.jobs import JobManager, shown
from tests.unit.protect.snapshot.conftest import Nas

UNIT = "millrace-reflink@snapshot.service"
AT = "data@20261129T120000Z-manual"


@pytest.fixture
def systemd() -> JobManager:
    return JobManager(UNIT)


@pytest.fixture
def server(nas: Nas, systemd: JobManager) -> ShareServer:
    return replace(nas.server, run=systemd, pause=lambda _: None)


@pytest.fixture
def here(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> Nas:
    monkeypatch.setattr(share_server, "this_server", lambda: nas.server)
    return nas


def test_order_is_followed_to_the_manifest(nas: Nas, server: ShareServer, systemd: JobManager) -> None:
    order = snapshot_job.prepare("data", False, server)

    def made() -> None:
        writer = SnapshotWriter("data")
        writer.begin("clone", 5)
        writer(2)

    manifest = nas.made().model_copy(update={"id": order.id, "name": order.name})
    place = nas.snapshots.place("data", order.name)
    place.mkdir()
    (place / "manifest.json").write_text(manifest.model_dump_json())
    systemd.run = made
    systemd.states = ["active", "active", "inactive"]
    snapshot_job.start(order, server)
    assert ORDER.read() == order and order.name.endswith("Z-manual")
    progress, ended = snapshot_job.follow(order, server)
    assert ended == manifest and progress == PROGRESS.read()


def test_order_that_is_not_carried_out_says_why(server: ShareServer, systemd: JobManager) -> None:
    order = snapshot_job.prepare("data", False, server)
    systemd.line = "share data does not exist"
    snapshot_job.start(order, server)
    with pytest.raises(Failed, match="there is no snapshot of data: "):
        list(snapshot_job.follow(order, server))


def test_snapshot_does_not_start_while_an_update_is_installed(server: ShareServer, systemd: JobManager) -> None:
    systemd.others = {"millrace-update.service": "activating"}
    with pytest.raises(Refused, match="an update is being installed"):
        snapshot_job.start(snapshot_job.prepare("data", False, server), server)
    assert ORDER.get() is None


def test_snapshot_of_what_is_no_share_is_refused(server: ShareServer) -> None:
    with pytest.raises(Refused, match="share other does not exist"):
        snapshot_job.prepare("other", False, server)
    with pytest.raises(BadInput, match="cannot be the name of a share"):
        snapshot_job.prepare("data/set", False, server)


def test_list_says_of_which_moment_a_snapshot_is(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "list"]) == 0
    assert "There is no snapshot. To make one: millrace snapshot create SHARE" in capsys.readouterr().out
    manifest = here.made()
    assert run(["snapshot", "list", "data", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["snapshots"]
    assert row == {
        "share": "data",
        "name": manifest.name,
        "former": False,
        "manifest": json.loads(manifest.model_dump_json()),
        "problem": None,
        "removal": None,
        "lock": None,
    }
    assert run(["snapshot", "list"]) == 0
    listed = capsys.readouterr().out
    assert AT in listed and "UTC" in listed and "meanwhile" not in listed
    (here.snapshots.place("data", manifest.name) / "manifest.json").unlink()
    assert run(["snapshot", "list"]) == 0
    assert "has no manifest that can be read" in capsys.readouterr().out


def test_files_are_listed_and_restored_by_command(
    here: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.made()
    monkeypatch.setattr("millrace.serve.clone.clone_job.Reflinks", partial(Nas.links, here))
    assert run(["snapshot", "browse", f"{AT}/set"]) == 0
    assert "deep/" in capsys.readouterr().out
    assert run(["snapshot", "get", f"{AT}/set/one", "data/again"]) == 0
    assert capsys.readouterr().out == f"{AT}/set/one is restored to data/again\n"
    assert run(["snapshot", "get", f"{AT}/set/one", "data/again"]) == 1
    assert "data/again already exists" in capsys.readouterr().err
    snapshot_remove.remove(AT, here.server)
    assert run(["snapshot", "sweep"]) == 0 and here.stage() == []


def test_unit_makes_the_snapshot_of_the_order(
    here: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.ordered()
    monkeypatch.setattr("millrace.serve.clone.clone_job.Reflinks", partial(Nas.links, here))
    assert run(["share", "snapshot-execute"]) == 0
    printed = capsys.readouterr().out
    assert f"{AT} has 5 files and directories" in printed and "the share as it was at one moment" in printed
    assert run(["share", "snapshot-end"]) == 0 and ORDER.get() is None


def test_shell_completes_snapshots(nas: Nas) -> None:
    nas.made()
    assert [*snapshot_completion._all_snapshots()] == [AT]


def test_order_of_an_administrator_may_exceed_the_limit(server: ShareServer) -> None:
    order: SnapshotOrder = snapshot_job.prepare("data", True, server)
    assert order.large and order.share == "data"


def test_rollback_says_what_it_does_and_needs_the_name_of_the_share(
    here: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.made()
    here.appliance.broken["systemctl show --property=Id,"] = lambda words, _: shown(words[3:])
    assert run(["snapshot", "rollback", AT, "--share-again", "date"]) == 2
    assert "the name of the share was repeated as 'date', not data" in capsys.readouterr().err
    assert run(["snapshot", "rollback", AT]) == 2
    printed = capsys.readouterr()
    assert f"Share data becomes the snapshot {AT.partition('@')[2]}: 5 files and directories" in printed.out
    assert "NFS clients get the error 'Stale file handle' and have to mount the share again" in printed.out
    assert "use --share-again SHARE" in printed.err
    ended = SnapshotRollback(share="data", snapshot="20261129T120000Z-manual", kept="20261129T130000Z-before-rollback")
    monkeypatch.setattr(snapshot_rollback, "start", lambda *_: None)
    monkeypatch.setattr(snapshot_rollback, "follow", lambda *_: iter([ended]))
    assert run(["snapshot", "rollback", AT, "--share-again", "data"]) == 0
    undo = "millrace snapshot rollback data@20261129T130000Z-before-rollback"
    assert f"to undo the rollback: {undo}\n" in capsys.readouterr().out


def test_snapshot_that_a_share_is_rolled_back_to_is_not_removed(here: Nas, server: ShareServer) -> None:
    here.made()
    order = snapshot_job.prepare("data", False, server)
    ORDER.write(order.model_copy(update={"rollback": "20261129T120000Z-manual"}))
    with pytest.raises(Refused, match="share data is being rolled back to it; wait for that"):
        snapshot_remove.remove(AT, replace(server, run=here.appliance))
