# SPDX-License-Identifier: Apache-2.0
"""A reset keeps the state on the pool, or forgets its people, and then asks the firmware; else nothing changes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from millrace.lifecycle.adopt import restore, search
from millrace.lifecycle.keep import forget, generation_store
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.reset import reset
from millrace.lifecycle.reset.reset_job import JOB
from millrace.lifecycle.reset.reset_request import VARIABLES
from millrace.lifecycle.update import update_job
from millrace.serve.config import reset_journal, store
from millrace.serve.config.model import Config, DesiredShare, Group
from millrace.serve.config.protocols import Smb
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.mounts import unmount_all
from tests.unit.lifecycle.adopt.test_restore import Tools
from tests.unit.lifecycle.reset.conftest import Reset, ask_firmware


def newest(server: Reset) -> Generation:
    found = generation_store.newest(server.where)
    assert found is not None
    return found.generation


def unchanged(server: Reset) -> None:
    """No reset is under way, none was asked for, and the server keeps its state as before."""
    assert not server.run.requested and not server.run.rebooted
    assert reset_journal.under_way() is None
    server.keep()
    assert "accounts/shadow" in newest(server).stored


def test_state_is_kept_before_the_reset_with_who_began_it(server: Reset) -> None:
    server.reset("keep")
    assert server.run.requested and server.run.rebooted
    stored = newest(server).stored
    assert {"accounts/shadow", "var/lib/samba/private/secrets.tdb.dump"} <= set(stored)
    record = json.loads(stored["var/lib/millrace/reset-last.json"])
    assert (record["by"], record["what"]) == ("admin", "keep")


def test_state_is_written_anew_although_nothing_was_decided(server: Reset) -> None:
    server.keep()
    before = newest(server).manifest.generation
    server.file("var/lib/samba/private/passdb.tdb", "a password that was changed over SMB")
    server.reset("keep")
    assert newest(server).manifest.generation > before
    assert b"changed over SMB" in newest(server).stored["var/lib/samba/private/passdb.tdb.dump"]


def test_forgotten_people_are_in_no_generation_and_the_shares_are_closed(server: Reset) -> None:
    models = DesiredShare(
        name="models", type="mixed", comment="of anna", size=1 << 30, project=1001, smb=Smb(users=["anna"])
    )
    server.decide(lambda old: old.model_copy(update={"shares": [models]}))
    server.keep()
    server.rename("another state")
    server.file("home/admin/.ssh/authorized_keys", "ssh-ed25519 AAAA of-anna\n", 0o600)
    server.keep()
    server.reset("forget")
    assert server.run.requested and server.run.rebooted
    [only] = server.kept()
    everything = b"".join(newest(server).stored.values())
    for secret in (b"anna", b"$y$", b"SID", b"NT hash", b"authority"):
        assert secret not in everything, only
    latest = generation_store.newest(server.where)
    assert latest is not None
    config, pool = search.config_of(latest), search.pool_of(latest)
    restore.verify(latest.generation.manifest, latest.generation.readable())
    assert pool.filesystem_uuid == latest.generation.manifest.pool
    [share] = config.shares
    assert (share.name, share.size, share.project, share.comment) == ("models", 1 << 30, 1001, "")
    assert not share.nfs.enabled and not share.smb.enabled
    assert (config.users, config.nfs.networks, config.next_id) == ([], [], store.load().next_id)
    assert latest.generation.manifest.forgotten is not None and latest.generation.manifest.forgotten.by == "admin"


def test_shares_whose_people_are_forgotten_keep_what_is_about_their_data() -> None:
    share = DesiredShare(
        name="golden",
        type="dataset-ro",
        project=1002,
        sealed=True,
        child_size=1 << 30,
        fsid=UUID(int=7),
        comment="x",
        writing="together",
        snapshots=SnapshotSchedule(hourly=24),
    )
    [closed] = forget.without_people(Config(shares=[share])).shares
    # other servers are trusted by people: a replica is an ordinary share afterwards
    people = {"comment", "nfs", "smb", "group", "readers", "replica"}
    assert closed.model_dump(exclude=people) == share.model_dump(exclude=people)
    assert set(DesiredShare.model_fields) - people == {
        *("name", "type", "project", "fsid", "size", "soft_size", "child_size", "sealed", "writing", "snapshots")
    }, "a new field is about the data of a share, or about people"
    [closed] = forget.without_people(
        Config(shares=[share.model_copy(update={"group": "lab"})], groups=[Group(name="lab", gid=2010)])
    ).shares
    assert (closed.writing, closed.group) == ("own", None)


class Killed(BaseException):
    """The power is cut."""


def killed(*_: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    "place",
    ["keep.generation_store.write", "keep.forget._remove_others", "keep.forget.sync", "reset.reset_request.request"],
)
def test_reset_that_is_killed_goes_on_at_the_next_boot(
    server: Reset, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    server.keep()
    server.rename("another state")
    server.keep()
    with monkeypatch.context() as patch:
        patch.setattr(f"millrace.lifecycle.{place}", killed)
        with pytest.raises(Killed):
            server.reset("forget")
    assert not server.run.requested
    with pytest.raises(Refused, match="under way"):
        server.keep()
    server.run.unit()
    assert server.run.requested and server.run.rebooted
    assert len(server.kept()) == 1 and newest(server).manifest.forgotten is not None


def test_firmware_that_forgets_the_request_resets_nothing(server: Reset) -> None:
    server.run.forgetful = True
    for what in ("keep", "forget"):
        with pytest.raises(Failed, match="did not keep the request"):
            server.reset(what)
        unchanged(server)
        assert reset.last() is None and reset.last_failure() is not None


def test_request_of_another_boot_is_not_taken_for_this_one(server: Reset) -> None:
    # of a system with another name, which the initrd leaves there
    ask_firmware(server.root, "c1f0e4d2-0000-4000-8000-7b2d4f6a8c1e")
    server.run.forgetful = True
    with pytest.raises(Failed, match="did not keep the request"):
        server.reset("keep")
    unchanged(server)


def test_boot_that_did_not_make_root_again_is_not_repeated_for_ever(server: Reset) -> None:
    reset_journal.begin(reset_journal.Reset(what="keep", by="admin", at="2026-11-24T10:00:00+00:00"))
    server.run.complete = True
    assert server.run.unit().status != 0
    unchanged(server)
    failure = reset.last_failure()
    assert failure is not None and "systemd-repart.service" in failure.problem


def test_request_that_no_boot_carries_out_ends_after_three(server: Reset) -> None:
    server.reset("keep")
    for _ in range(2):
        # the next boots, which took no notice of it
        server.run.rebooted = False
        reset.carry_out(server.run)
        assert server.run.rebooted
    server.run.rebooted = False
    with pytest.raises(Failed, match="3 boots were asked"):
        reset.carry_out(server.run)
    assert not server.run.rebooted
    assert reset_journal.under_way() is None and reset.last_failure() is not None


def test_server_is_reset_in_the_boot_after_a_reset(server: Reset) -> None:
    server.run.complete = True
    server.reset("keep")
    assert server.run.requested and server.run.rebooted


def test_pool_that_does_not_take_the_state_is_not_left_without_one(server: Reset) -> None:
    server.run.broken["tdbdump"] = Result(3, "", "")
    with pytest.raises(Refused, match="cannot be kept on the pool"):
        server.reset("keep")
    server.run.broken.clear()
    unchanged(server)
    assert reset.last() is None


def test_nothing_is_decided_any_more_while_a_reset_is_under_way(server: Reset) -> None:
    reset_journal.begin(reset_journal.Reset(what="keep", by="admin", at="2026-11-24T10:00:00+00:00"))
    with pytest.raises(Refused, match="factory reset"):
        server.decide(lambda old: old)


def test_without_a_pool_only_the_boot_drive_is_reset(server: Reset) -> None:
    paths.pool_file().unlink()
    server.reset("forget")
    assert server.run.requested and server.run.rebooted and not server.where.exists()


def _unmount(server: Reset) -> None:
    unmount_all(server.root)


def _update(server: Reset) -> None:
    server.run.working["millrace-update.service"] = "activating"


def _erase(server: Reset) -> None:
    server.run.working["millrace-erase.service"] = "active"


def _test(server: Reset) -> None:
    server.run.working["millrace-drive-test.service"] = "active"


def _change(server: Reset) -> None:
    server.file("var/lib/millrace/drive-change.json", "{}")


def _clone(server: Reset) -> None:
    server.run.working["millrace-reflink@clone.service"] = "active"


def _no_firmware(server: Reset) -> None:
    (server.root / VARIABLES).rmdir()


def _adoption(server: Reset) -> None:
    paths.pool_file().unlink()
    server.file("var/lib/millrace/adoption.json", "{}")


def _rescue(server: Reset) -> None:
    server.file("var/lib/millrace/rescue.json", "{}")


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (_unmount, "not mounted"),
        (_update, "an update is being installed"),
        (_erase, "a drive is being erased"),
        (_test, "a drive is being tested"),
        (_change, "a drive is being replaced"),
        (_clone, "a share is being cloned"),
        (_no_firmware, "UEFI"),
        (_adoption, "being adopted"),
        (_rescue, "being rescued"),
    ],
)
@pytest.mark.parametrize("what", ["keep", "forget"])
def test_reset_is_refused_and_says_why(server: Reset, plant: Callable[[Reset], None], why: str, what: str) -> None:
    server.keep()
    before = server.kept()
    plant(server)
    with pytest.raises(MillraceError, match=why):
        server.reset(what)
    assert not server.run.requested and not paths.reset_file().exists()
    assert server.kept() == before


def test_variables_that_cannot_be_written_are_named(server: Reset, monkeypatch: pytest.MonkeyPatch) -> None:
    found = os.statvfs(server.root)

    class ReadOnly:
        f_flag = found.f_flag | os.ST_RDONLY

    monkeypatch.setattr("millrace.lifecycle.reset.reset_request.os.statvfs", lambda where: ReadOnly())
    with pytest.raises(Refused, match="EFI variables of this server cannot be written"):
        server.reset("keep")


def test_what_was_typed_is_compared(server: Reset) -> None:
    reset.confirm("millrace-1a2b3c", None)
    reset.confirm(" millrace-1a2b3c\n", "FORGET")
    for host, word, why in (("other", None, "'other'"), ("millrace-1a2b3c", "forget", "'forget'")):
        with pytest.raises(BadInput, match=why):
            reset.confirm(host, word)


def test_damaged_journal_does_not_hold_the_server_for_ever(server: Reset) -> None:
    server.file("var/lib/millrace/reset.json", "torn")
    with pytest.raises(BadInput):
        reset.carry_out(server.run)
    unchanged(server)
    assert reset.last_failure() is not None


def test_state_without_people_comes_back_on_a_new_boot_drive(
    server: Reset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reset("forget")
    generation = newest(server)
    fresh = tmp_path / "fresh"
    (fresh / "proc/sys/kernel").mkdir(parents=True)
    monkeypatch.setattr(paths, "ROOT", fresh)
    assert restore.restore(generation.manifest, generation.stored, {}, Tools()) == []
    config = store.read().config
    assert config.users == [] and [share.name for share in config.shares] == ["data"]
    assert list(fresh.rglob("*.tdb")) == []


def test_server_that_does_not_restart_says_that_the_next_boot_resets_it(server: Reset) -> None:
    server.run.broken["systemctl --no-block reboot"] = Result(1, "", "Call to Reboot failed: Access denied")
    with pytest.raises(Failed, match="the next boot resets it"):
        server.reset("keep")
    assert server.run.requested and reset_journal.under_way() is not None


def test_unit_that_is_under_way_is_waited_for(server: Reset) -> None:
    looks: list[float] = []

    def pause(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            server.run.working.clear()
            server.run.unit()

    def begins(*_: object) -> Result:
        server.run.working[JOB.unit] = "activating"
        return GOOD

    server.keep()
    server.run.broken["systemctl start --no-block"] = begins
    paths.pool_file().unlink()
    reset.start("keep", "admin", server.run, pause)
    assert server.run.rebooted and len(looks) == 2


def test_start_that_the_restart_cuts_is_no_failure(server: Reset) -> None:
    def goes_down(*_: object) -> Result:
        server.run.unit()
        server.run.broken["systemctl show"] = Result(1, "", "Failed to connect to bus: Connection refused")
        return GOOD

    server.run.broken["systemctl start --no-block"] = goes_down
    server.reset("keep")
    assert server.run.requested and server.run.rebooted and reset_journal.under_way() is not None


@pytest.mark.parametrize(
    ("started", "words"),
    [
        (Result(1, "", "Unit is masked."), r"millrace-reset\.service does not start: Unit is masked"),
        (GOOD, "the reset did not begin; journalctl"),
    ],
)
def test_unit_that_did_not_run_is_a_failure(server: Reset, started: Result, words: str) -> None:
    server.run.broken["systemctl start --no-block"] = started
    with pytest.raises(Failed, match=words):
        server.reset("keep")
    assert not server.run.requested and reset_journal.under_way() is None and reset.last() is None


def test_reset_is_a_job_that_nobody_cancels(server: Reset) -> None:
    server.reset("keep")
    job = JOB.last(server.run)
    assert job is not None and (job.what, job.by, job.state) == ("millrace-1a2b3c", "admin", "done")
    with pytest.raises(Refused, match="the server restarts at once"):
        JOB.cancel(server.run)
    # where the next boot took no notice of it, the server goes on with it by itself
    server.run.rebooted = False
    reset.carry_out(server.run)
    job = JOB.last(server.run)
    assert server.run.rebooted and job is not None and (job.by, job.state) == ("the server", "done")


def test_update_that_is_staged_comes_first(server: Reset) -> None:
    with update_job.JOB.alone(), pytest.raises(Refused, match="an update is under way"):
        server.reset("keep")
    assert reset_journal.under_way() is None
