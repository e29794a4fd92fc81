# SPDX-License-Identifier: Apache-2.0
"""Runs of a backup: which snapshot is sent, which files are read, and what becomes of one that fails."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from millrace.protect.backup import backup_store
from millrace.protect.snapshot import snapshot_job
from millrace.serve.config import store
from millrace.serve.config.replica import ReplicaSource
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.unit.protect.backup.conftest import Site


def made(site: Site) -> None:
    site.add()
    site.carry_out("run")


def test_share_is_sent_as_a_snapshot_and_restored_as_one(both: Site) -> None:
    made(both)
    sent = both.snapshot()
    words = both.carry_out("restore")
    restored = next(path for path in both.nas.snapshots.top.glob("data/*-restored"))
    assert (restored / "tree/set/deep/two").read_text() == (sent / "set/deep/two").read_text() == "second"
    assert f"data@{restored.name}" in words[0]
    assert both.nas.snapshots.manifest("data", restored.name).kind == "restored"


def test_file_whose_time_was_set_back_is_sent_again(both: Site) -> None:
    file = both.nas.share / "set/deep/two"
    made(both)
    before = file.stat()
    file.write_text("SECOND")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    both.carry_out("run")
    moved = both.state().moved
    # the file, and the manifest beside the tree; the other file is not read
    assert moved is not None and moved.read == 2 and moved.files == 3
    both.carry_out("drill")
    drill = both.state().drill
    assert drill is not None and drill.problem is None


def test_unchanged_files_are_not_read_again(both: Site) -> None:
    made(both)
    both.carry_out("run")
    moved = both.state().moved
    assert moved is not None and (moved.files, moved.read) == (3, 1)
    assert not [words for words in both.restic.commands if words[0] == "rewrite"]


def test_all_is_read_where_the_snapshot_before_is_gone(both: Site) -> None:
    made(both)
    state = both.state()
    both.nas.snapshots.set_aside("data", str(state.snapshot))
    both.carry_out("run")
    moved = both.state().moved
    assert moved is not None and moved.read == 3
    assert "--force" in next(words for words in reversed(both.restic.commands) if words[0] == "backup")


def test_check_and_drill_of_a_good_repository_succeed(both: Site) -> None:
    made(both)
    both.carry_out("check")
    words = both.carry_out("drill")
    state = both.state()
    assert state.check is not None and state.check.problem is None
    assert state.drill is not None and state.drill.succeeded is not None and words[0].startswith("2 files")


def test_drill_is_red_where_a_block_of_the_snapshot_was_flipped(both: Site) -> None:
    made(both)
    file = both.snapshot() / "set/one"
    kept = file.stat()
    file.write_text("fixst")
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    with pytest.raises(Failed, match="1 of 2 restored files differ"):
        both.carry_out("drill")
    drill = both.state().drill
    assert drill is not None and drill.problem is not None and "set/one" not in drill.problem


def test_drill_is_red_where_the_repository_is_damaged(site: Site) -> None:
    made(site)
    site.fake.damaged = True
    with pytest.raises(Failed, match="is damaged: millrace backup check offsite"):
        site.carry_out("drill")
    with pytest.raises(Failed, match="is damaged"):
        site.carry_out("check")
    assert [each.failures for each in (site.state().drill, site.state().check) if each is not None] == [1, 1]


def test_wrong_password_is_one_sentence(both: Site) -> None:
    made(both)
    (backup_store.secrets_directory("offsite") / "password").write_text("another\n")
    with pytest.raises(Failed, match="the password of backup offsite does not open the repository"):
        both.carry_out("run")


def test_own_lock_is_removed_and_that_of_another_host_stays(site: Site) -> None:
    made(site)
    site.fake.locks = [(os.uname().nodename, "millrace-backup", site.at.isoformat())]
    site.carry_out("run")
    assert site.fake.locks == []
    since = site.at.isoformat()
    site.fake.locks = [("elsewhere", "bob", since)]
    with pytest.raises(Failed, match=f"is locked by bob on elsewhere since {since[:19]}"):
        site.carry_out("run")
    assert site.fake.locks == [("elsewhere", "bob", since)]


def test_abandoned_lock_of_another_host_is_removed_and_reported(site: Site) -> None:
    made(site)
    since = f"{site.at - timedelta(minutes=31):%Y-%m-%dT%H:%M:%S}"
    site.fake.locks = [("elsewhere", "bob", f"{since}.584498286Z")]
    words = site.carry_out("run")
    assert words[0] == f"the abandoned lock of bob on elsewhere since {since} was removed" and site.fake.locks == []


def test_lock_of_a_lost_server_keeps_nobody_from_a_restore(site: Site) -> None:
    made(site)
    site.fake.locks = [("lost", "millrace-backup", site.at.isoformat())]
    site.carry_out("restore")
    assert len(site.fake.locks) == 1 and [*site.nas.snapshots.top.glob("data/*-restored")]
    reading = [words for words in site.fake.commands if words[0] in ("snapshots", "dump", "restore")]
    assert reading and not [words for words in reading if "--no-lock" not in words]


def test_far_side_that_cannot_be_reached_is_reported_at_once(site: Site) -> None:
    site.add()
    site.unreachable = ConnectionRefusedError(111, "Connection refused")
    with pytest.raises(
        Failed, match=r"rest:https://backup.example.com:8000/data cannot be reached: Connection refused"
    ):
        site.carry_out("run")
    assert site.fake.commands == []


def test_nothing_secret_is_in_an_argument(site: Site) -> None:
    password = site.add(limit=5_000_000).password
    site.carry_out("run")
    files = backup_store.secrets_directory("offsite").iterdir()
    secrets = [str(password), "s3cret", *(path.read_text().strip() for path in files)]
    said = "\n".join(word for started in site.fake.started for word in (*started.properties, *started.words))
    assert len(secrets) == 4 and not [text for text in secrets if text in said]
    assert "--limit-upload" in said


def test_secrets_are_files_of_root_alone(site: Site) -> None:
    site.add()
    top = backup_store.secrets_directory("offsite")
    assert {path.name: path.stat().st_mode & 0o777 for path in top.iterdir()} == {
        "password": 0o600,
        "repository": 0o600,
    }
    assert (
        top / "repository"
    ).read_text() == "rest:https://millrace:s3cret%2Fof%3Auser@backup.example.com:8000/data/\n"


def test_snapshot_that_was_made_for_a_backup_goes_after_the_next_one(site: Site) -> None:
    made(site)
    first = site.state().snapshot
    site.carry_out("run")
    assert str(first).endswith("-backup") and not site.nas.snapshots.place("data", str(first)).exists()
    assert site.snapshot().is_dir()


def test_runs_that_fail_leave_one_snapshot_and_the_one_that_is_compared(site: Site) -> None:
    made(site)
    base = str(site.state().snapshot)
    site.fake.answers["backup"] = Result(1, "", "")
    for _ in range(3):
        site.at += timedelta(hours=2)
        with pytest.raises(Failed):
            site.carry_out("run")
    kept = sorted(path.name for path in site.nas.snapshots.top.glob("data/*-backup"))
    assert len(kept) == 2 and kept[0] == base


@pytest.fixture
def replica(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The share is a replica, whose directory is empty."""
    source = ReplicaSource(address="10.0.0.7", share="data", authority="-", fingerprint=":".join(["AA"] * 32))
    site.add()
    config = store.load()
    shares = [share.model_copy(update={"replica": source}) for share in config.shares]
    monkeypatch.setattr(store, "load", lambda: config.model_copy(update={"shares": shares}))
    return site


def test_replica_without_a_snapshot_of_its_source_sends_nothing(replica: Site) -> None:
    with pytest.raises(Failed, match="has no snapshot of its source that was not sent yet: millrace replica status"):
        replica.carry_out("run")
    assert not [words for words in replica.fake.commands if words[0] == "backup"]
    assert not [*replica.nas.snapshots.top.glob("data/*")]


def test_replica_is_sent_once_for_each_snapshot_of_its_source(site: Site, request: pytest.FixtureRequest) -> None:
    manifest = site.nas.made()
    place = site.nas.snapshots.place("data", manifest.name)
    write_model(place / "manifest.json", manifest.model_copy(update={"by": "replica of data"}))
    request.getfixturevalue("replica")
    site.at = datetime(2026, 11, 30, tzinfo=UTC)
    site.carry_out("run")
    assert site.state().snapshot == manifest.name
    with pytest.raises(Failed, match="not sent yet"):
        site.carry_out("run")
    assert place.exists()


def test_replica_has_no_snapshots_of_its_own(replica: Site) -> None:
    with pytest.raises(Refused, match="share data is a replica: its snapshots come from its source"):
        snapshot_job.prepare("data", False, replica.server)


def test_restic_sees_one_snapshot_and_its_cache(site: Site) -> None:
    made(site)
    started = next(each for each in site.fake.started if "backup" in each.words)
    [snapshot] = [each for each in started.of("BindReadOnlyPaths") if "/srv/pool" in each]
    assert snapshot == f"{site.snapshot().parent}:/srv/backup"
    assert started.of("BindPaths") == [f"{site.nas.appliance.root}/srv/pool/.millrace/backup/{_id()}/cache:/srv/cache"]
    assert started.of("CapabilityBoundingSet") == started.of("AmbientCapabilities") == ["CAP_DAC_READ_SEARCH"]
    assert started.of("User") == ["millrace-backup"] and started.of("BindsTo") == ["millrace-reflink@backup.service"]


def test_full_target_is_one_sentence(site: Site) -> None:
    made(site)
    said = '{"message_type":"error","error":{"message":"unexpected HTTP response (507): 507 Insufficient Storage"}}'
    site.fake.answers["backup"] = Result(1, said, "")
    with pytest.raises(Failed, match="is full: free space there"):
        site.carry_out("run")
    run = site.state().run
    assert run is not None and run.succeeded is not None and run.failures == 1


def test_version_without_files_that_cannot_be_read_is_one_and_says_so(site: Site) -> None:
    site.add()
    site.fake.unread = ["/srv/backup/tree/set/one"]
    words = site.carry_out("run")
    state = site.state()
    assert state.moved is not None and state.moved.unread == 1 and state.version == site.fake.versions[-1].id
    assert state.run is not None and state.run.problem is None
    assert words[0] == "files that could not be read: 1; their names are in the journal"


def _id() -> str:
    return backup_store.known("offsite").id


def test_cancelled_run_is_not_due_at_once(site: Site) -> None:
    made(site)

    def cancelled(verb: str) -> None:
        if verb == "backup":
            raise SystemExit(0)

    site.fake.during = cancelled
    with pytest.raises(SystemExit):
        site.carry_out("run")
    run = site.state().run
    assert run is not None and run.problem == "it was cancelled, or the server was stopped" and run.failures == 1


def test_restored_snapshot_of_the_share_itself_is_not_former(site: Site) -> None:
    made(site)
    site.carry_out("restore")
    [restored] = site.nas.snapshots.top.glob("data/*-restored")
    assert restored.stat().st_mode & 0o777 == 0o711
    assert not site.nas.snapshots.row(store.load(), "data", restored.name).former


@pytest.mark.parametrize("name", ["/etc/new/x", "../x-manual", "20261129T120000Z:x-manual"])
def test_version_that_names_a_place_of_its_own_is_not_restored(site: Site, name: str) -> None:
    made(site)
    version = site.fake.versions[-1]
    manifest = version.files["/srv/backup/manifest.json"]
    said = json.loads(manifest.content)
    manifest.content = json.dumps({**said, "name": name}).encode()
    version.tags[:] = [f"snapshot={name}" if tag.startswith("snapshot=") else tag for tag in version.tags]
    with pytest.raises(Failed, match="has the manifest of another snapshot"):
        site.carry_out("restore")
    assert not [words for words in site.fake.commands if words[0] == "restore"]


def test_version_whose_tree_is_no_directory_is_no_snapshot(site: Site) -> None:
    made(site)

    def plant(verb: str) -> None:
        if verb == "restore":
            tree = site.fake.started[-1].place("/srv/work") / "tree"
            tree.rmdir()
            tree.symlink_to("/etc")

    site.fake.during = plant
    site.fake.answers["restore"] = Result(0, "", "")
    with pytest.raises(Failed, match="has no directory of files"):
        site.carry_out("restore")
    assert not [*site.nas.snapshots.top.glob("data/*-restored")]


def test_restore_ends_where_the_pool_runs_full_meanwhile(site: Site) -> None:
    made(site)

    def fill(verb: str) -> None:
        if verb == "restore":
            site.nas.space.free = 1

    site.fake.during = fill
    with pytest.raises(Refused, match="of the pool was free while the version was restored"):
        site.carry_out("restore")
    assert not [*site.nas.snapshots.top.glob("data/*-restored")]


def test_restore_owns_files_and_leaves_nothing_in_the_cache(site: Site) -> None:
    made(site)
    site.carry_out("restore")
    started = next(each for each in site.fake.started if "restore" in each.words)
    assert started.of("User") == [] and "CAP_CHOWN" in started.of("CapabilityBoundingSet")[0]
    assert {each.rpartition(":")[2] for each in started.of("BindPaths")} == {"/srv/cache", "/srv/work"}
    assert str(started.place("/srv/cache")).endswith("/work") and not (started.place("/srv/cache")).exists()
