# SPDX-License-Identifier: Apache-2.0
"""A pool is destroyed: exactly its drives are wiped, all of them or named, and the server is as one without a pool."""

import errno
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.lifecycle.destroy import destroy, status, text
from millrace.serve.config import store
from millrace.serve.share import kept_snapshots
from millrace.serve.share.kept_snapshots import LockRecord, SnapshotLock
from millrace.storage.record.destruction import DestructionJournal, last_destruction
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import kinds
from millrace.system.mounts import mounted
from millrace.system.run import Result
from millrace.system.trees import nofollow
from tests.fakes.drives.disks import Disk
from tests.fakes.mounts import unmount_all
from tests.unit.lifecycle.destroy.conftest import CLIENT, DestroyedServer
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


def disk(server: DestroyedServer, serial: str) -> Disk:
    return next(disk for disk in server.world.disks if disk.serial == serial)


def members(server: DestroyedServer) -> list[Disk]:
    return [disk(server, drive.serial) for drive in server.pool.drives]


def test_pool_is_gone_and_another_one_can_be_built(server: DestroyedServer) -> None:
    server.start()
    assert all(drive.blank and not drive.inside for drive in members(server))
    assert known_pool() is None and mounted("/srv/pool") is None and not server.world.arrays
    ended = last_destruction()
    assert ended is not None and (ended.error, ended.left, ended.by) == (None, [], "admin")
    assert not paths.destruction_file().exists()
    assert server.world.calls[-1][-2:] == list(destroy.PLAN)
    assert built(server.world, raid6_plan()).filesystem_uuid != server.pool.filesystem_uuid


def test_shares_and_records_of_the_pool_go_and_people_stay(server: DestroyedServer) -> None:
    kept = paths.state_dir() / "keep"
    kept.mkdir()
    for name in ("status.json", "writer.json", "key.json"):
        (kept / name).write_text("{}")
    server.start()
    config = store.load()
    assert (config.shares, [user.name for user in config.users]) == ([], ["anna"])
    assert [path.name for path in kept.iterdir()] == ["key.json"]
    assert not list((paths.state_dir() / "history").glob("pool-*.json"))
    assert not (server.root / "etc/systemd/system/srv-pool.mount").exists()


def test_drive_of_somebody_else_is_not_touched(server: DestroyedServer) -> None:
    foreign = disk(server, "FOREIGN")
    server.start()
    written = {word for command in server.world.writes for word in command}
    name = next(name for name, other in server.world.names.items() if other is foreign)
    assert f"/dev/{name}" not in written and foreign.foreign == "ext4 file system"


def test_pool_with_a_locked_snapshot_is_not_destroyed(server: DestroyedServer) -> None:
    top = kept_snapshots.top("/srv/pool")
    (top / "data/20261129T120000Z-manual").mkdir(parents=True)
    top.chmod(0o700)
    lock = SnapshotLock(
        share="data",
        name="20261129T120000Z-manual",
        by="anna",
        at="2026-11-29T12:00:00+00:00",
        until="2099-01-31T00:00:00+00:00",
        left=9,
    )
    write_model(top / kept_snapshots.RECORD, LockRecord(locks=[lock]))
    with pytest.raises(Refused, match="is locked until 2099-01-31 00:00 UTC, as anna decided"):
        server.start()
    (top / kept_snapshots.RECORD).write_text("{")
    with pytest.raises(Refused, match="not known which snapshots are locked"):
        server.start()
    # nobody but root removes this, and a pool that fails can still be destroyed
    (top / kept_snapshots.RECORD).unlink()
    assert status.status(server.run).obstacle is None


@pytest.fixture
def locked_pool(server: DestroyedServer) -> Path:
    """A pool with the record of a lock that a server has yet to count for a year after its date; return the record."""
    top = kept_snapshots.top("/srv/pool")
    (top / "data/20261129T120000Z-manual").mkdir(parents=True)
    top.chmod(0o700)
    lock = {"share": "data", "name": "20261129T120000Z-manual", "by": "anna", "at": "2026-11-29T12:00:00+00:00"}
    lock |= {"until": "2020-01-01T00:00:00+00:00", "left": 365 * 86400}
    (top / kept_snapshots.RECORD).write_text(json.dumps({"schema_version": 1, "locks": [lock]}))
    return top / kept_snapshots.RECORD


def test_lock_is_shown_with_its_end_by_the_seconds_that_are_left(server: DestroyedServer, locked_pool: Path) -> None:
    end = datetime.now(UTC) + timedelta(days=365)
    with pytest.raises(Refused, match=f"is locked until {end:%Y-%m}-"):
        server.start()
    assert locked_pool.is_file()


@pytest.mark.parametrize("damage", ["link", "mode", "EIO"])
def test_record_of_locks_that_cannot_be_opened_keeps_the_pool(
    server: DestroyedServer, locked_pool: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "link":
        locked_pool.unlink()
        locked_pool.symlink_to("/etc/passwd")
    elif damage == "mode":
        locked_pool.parent.chmod(0o777)
    else:

        def failing(where: Path, others: int = 0) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(where))

        monkeypatch.setattr(nofollow, "require_private", failing)
    with pytest.raises(Refused, match="not known which snapshots are locked"):
        server.start()


def test_pool_that_failed_as_a_whole_can_be_destroyed(
    server: DestroyedServer, locked_pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(name: str | Path, *_: object, **__: object) -> None:
        raise Failed(f"{name} cannot be opened: {os.strerror(errno.EIO)}")

    monkeypatch.setattr(nofollow, "require_private", failing)
    monkeypatch.setattr(nofollow, "directory", failing)
    assert locked_pool.is_file() and status.status(server.run).obstacle is None


def test_missing_drive_is_named_and_left(server: DestroyedServer) -> None:
    gone = disk(server, "D1")
    server.world.disks.remove(gone)
    server.world.boot()
    [row] = [drive for drive in status.status(server.run).drives if not drive.here]
    server.start()
    ended = last_destruction()
    assert row.serial == "D1" and ended is not None and gone.inside
    assert [(drive.serial, drive.missing) for drive in ended.left] == [("D1", True)]
    assert any("D1" in line and "still carries its part" in line for line in text.result(ended))


@pytest.mark.parametrize("changed", ["another table", "a file system over it"])
def test_drive_that_holds_something_else_by_now_is_left(server: DestroyedServer, changed: str) -> None:
    other = disk(server, "D2")
    if changed == "another table":
        other.gpt_ids.add("somebody-else")
    else:
        other.whole["TYPE"] = "ext4"
    before = {name: dict(held) for name, held in other.inside.items()}
    server.start()
    ended = last_destruction()
    assert ended is not None and [drive.serial for drive in ended.left] == ["D2"]
    assert other.inside == before


def test_drive_that_cannot_be_written_does_not_keep_the_others(server: DestroyedServer) -> None:
    name = next(name for name, other in server.world.names.items() if other.serial == "D0")

    def fails(words: list[str], stdin: str) -> Result:
        error = Result(1, "", "blkdiscard: BLKZEROOUT ioctl failed: Input/output error")
        return error if words[-1] == f"/dev/{name}" else server.world.works(words, stdin)

    server.world.broken["blkdiscard"] = fails  # type: ignore[assignment]
    server.start()
    ended = last_destruction()
    assert ended is not None and [drive.serial for drive in ended.left] == ["D0"]
    assert "Input/output error" in ended.left[0].why and known_pool() is None


def test_clients_are_disconnected_only_where_that_was_asked_for(server: DestroyedServer) -> None:
    server.clients = [CLIENT]
    with pytest.raises(Refused, match=r"1 client is connected; end that first, or add --end.*nothing was destroyed"):
        server.start()
    assert known_pool() is not None and not paths.destruction_file().exists()
    server.start(ends=True)
    assert known_pool() is None


@pytest.mark.parametrize("ends", [False, True])
def test_jobs_that_use_the_pool_are_ended_only_where_that_was_asked_for(server: DestroyedServer, ends: bool) -> None:
    server.run.working = {kinds.CLONE.unit: "active"}
    if ends:
        server.start(ends)
        assert server.run.called(f"systemctl stop {kinds.CLONE.unit}") and known_pool() is None
        return
    with pytest.raises(Refused, match="a share is being cloned"):
        server.start(ends)
    assert server.run.called("systemctl stop") == [] and known_pool() is not None


def test_change_of_drives_is_never_ended(server: DestroyedServer) -> None:
    paths.drive_change_file().write_text('{"ended": null}')
    server.run.working = {kinds.DRIVE_CHANGE.unit: "active"}
    with pytest.raises(Refused, match="a drive is being replaced"):
        server.start(ends=True)
    assert known_pool() is not None


def test_sealed_share_keeps_the_pool(server: DestroyedServer) -> None:
    server.share("golden", sealed=True)
    with pytest.raises(Refused, match="share golden is sealed"):
        server.start(ends=True)
    assert known_pool() is not None


def test_name_that_is_typed_wrong_destroys_nothing(server: DestroyedServer) -> None:
    destroy.confirm(" filer ")
    with pytest.raises(BadInput, match=r"typed as .*other.*, not .*filer"):
        destroy.confirm("other")
    assert known_pool() is not None


def test_pool_that_stays_in_use_is_served_again(server: DestroyedServer) -> None:
    server.run.busy = True
    with pytest.raises(Failed, match="is still in use"):
        server.start()
    assert server.run.serves and known_pool() is not None and not paths.destruction_file().exists()
    ended = last_destruction()
    assert ended is not None and "still in use" in (ended.error or "")
    assert all(drive.inside for drive in members(server))


def test_destruction_that_stopped_goes_on_when_it_is_called_again(server: DestroyedServer) -> None:
    server.world.broken["mdadm --stop"] = Result(1, "", "mdadm: Cannot get exclusive access to /dev/md127")
    with pytest.raises(Failed, match="exclusive access"):
        server.start()
    # no drive was begun: it is as it was
    assert not paths.destruction_file().exists()
    server.world.broken.clear()
    server.start()
    assert known_pool() is None


def test_everything_that_is_lost_is_shown(server: DestroyedServer) -> None:
    server.clients = [CLIENT]
    shown = "\n".join(text.consequences(status.status(server.run)))
    for words in ("models", "5 GB", "10.0.0.7", "D0, D1, D2, D3, L0, L1", "users, groups", "no way back"):
        assert words in shown


def test_snapshots_that_are_lost_are_counted(server: DestroyedServer) -> None:
    assert "it has no snapshots" in "\n".join(text.consequences(status.status(server.run)))
    for name in ("20261129T120000Z-manual", "20261129T130000Z-hourly"):
        (server.root / "srv/pool/.millrace-snapshots/models" / name).mkdir(parents=True)
    assert "2 snapshots of shares" in "\n".join(text.consequences(status.status(server.run)))
    unmount_all(server.root)
    assert "snapshots, whose number is unknown" in "\n".join(text.consequences(status.status(server.run)))


def test_no_pool_is_one_sentence(server: DestroyedServer) -> None:
    server.start()
    with pytest.raises(Refused, match="this server has no pool"):
        server.start()
    assert DestructionJournal.load() is None
