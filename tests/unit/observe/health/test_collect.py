# SPDX-License-Identifier: Apache-2.0
"""Each failure has its finding and its remedy; what cannot be read is UNKNOWN."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from millrace.observe.health.checks import arrays, cockpit, filesystem, nfs, smb, units
from millrace.observe.health.checks import pool as pool_check
from millrace.observe.health.collect import CHECKS, collect
from millrace.observe.health.model import HealthFinding, Level
from millrace.observe.health.write import write
from millrace.plan.model import DriveName, PlanFile, PlanObstacle, Refusal
from millrace.serve.config import files
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.protocols import Nfs, NfsClient
from millrace.serve.share import kept_snapshots
from millrace.storage.record.model import Approval, StepRecord, Transaction
from millrace.storage.rescue.rescue_model import RescueWork
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.files import write_text
from millrace.system.jobs.job import Job
from millrace.system.run import Result
from millrace.system.units import UnitState
from tests.fakes import firewall
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.samples import Tools, plan
from tests.fakes.sockets import listen
from tests.fakes.xfs import V5, V5_OF_6_1
from tests.unit.observe.health.servers import beats, deaf, filled, host, sentences, well
from tests.unit.tune.fake_sysfs import add_rdma_device

STARTING = Result(1, "starting\n", "")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server without a pool."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    firewall.load(tmp_path)
    return tmp_path


@pytest.fixture
def serving(empty: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server that is well."""
    well(empty)
    monkeypatch.setattr(os, "statvfs", filled(40))
    return empty


def test_a_server_that_serves_is_well(serving: Path) -> None:
    health = collect(host())
    assert health.level is Level.OK, sentences(health.findings)
    # a server without an access log, in no domain, whose image is not signed, with drives that are not trimmed, whose
    # arrays started clean and lost no member, where no run of the tuner left a setting, without a route for alerts or
    # an external device, whose kernel counts no errors of its hardware, in the first minutes of its time client
    assert {finding.check for finding in health.findings} == set(CHECKS) - {
        "access_log",
        "protection",
        "snapshots",
        "backups",
        "alerts",
        "backend",
        "clock",
        "connections",
        "domain",
        "encryption",
        "heat",
        "journal",
        "latency",
        "links",
        "memory",
        "unclean",
        "returns",
        "apart",
        "tuner",
        "kernel",
        "replicas",
        "reset",
        "slots",
        "trim",
        "volumes",
    }


def test_every_finding_that_is_not_ok_says_what_to_do(empty: Path) -> None:
    findings = collect(host(failed=Result(0, '[{"unit":"x.service"}]', ""))).findings
    bad = [finding for finding in findings if finding.level is not Level.OK]
    assert "units" in {finding.check for finding in bad}
    assert [finding for finding in bad if not finding.todo] == []


class TestBeforeThereIsAPool:
    def test_the_plan_waits_for_its_approval_by_hash(self, empty: Path) -> None:
        write_model(paths.plan_file(), PlanFile(sha256=plan().digest(), proposal=plan()))
        [finding] = pool_check.check(host())
        assert finding.level is Level.WARN
        assert f"millrace approve {plan().digest()}" in (finding.todo or "")

    def test_what_is_in_the_way_is_named_one_by_one(self, empty: Path) -> None:
        obstacles = [
            PlanObstacle(
                drives=[DriveName(bay=None, name="nvme1n1", serial="S1")],
                what="a GPT with 3 partitions is on the drive.",
                todo="millrace drive erase S1",
            ),
            PlanObstacle(drives=[], what="there are fewer than 3 data drives.", todo="add drives"),
        ]
        write_model(paths.plan_file(), PlanFile(sha256=None, proposal=Refusal(obstacles=obstacles, drives=[])))
        findings = pool_check.check(host())
        assert [finding.level for finding in findings] == [Level.WARN, Level.WARN]
        assert "GPT" in findings[0].sentence and "S1" in findings[0].sentence

    def test_rescue_that_is_open_is_named_in_every_boot(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "ROOT", tmp_path)
        well(tmp_path)
        assert [one.level for one in pool_check.check(host())] == [Level.OK]
        write_text(paths.rescue_file(), "{}")
        [_, finding] = pool_check.check(host())
        assert (finding.level, finding.todo) == (Level.FAIL, "millrace pool rescue")
        assert finding.sentence == "The rescue of the pool, whose log was lost, is not finished."

    @pytest.mark.parametrize(
        ("unit", "state", "end"),
        [
            ("activating", "running", ": step 'repair' is running."),
            ("inactive", "running", ": step 'repair' did not end well."),
            ("inactive", "failed", ": step 'repair' did not end well."),
            ("inactive", "done", "."),
        ],
    )
    def test_step_of_a_rescue_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, state: Any, end: str
    ) -> None:
        monkeypatch.setattr(paths, "ROOT", tmp_path)
        monkeypatch.setattr(Job, "state", lambda *_: UnitState(unit, queued=False))
        well(tmp_path)
        write_text(paths.rescue_file(), "{}")
        work = RescueWork(
            id="1", step="repair", by="a", at="", drives=[], image=None, without_image=False, state=state, progress=0.5
        )
        write_model(paths.rescue_step_file(), work)
        [_, finding] = pool_check.check(host())
        assert finding.sentence == f"The rescue of the pool, whose log was lost, is not finished{end}"

    def test_provisioning_under_way_says_how_far(self, empty: Path) -> None:
        steps = [StepRecord(name="label S1", state="done"), StepRecord(name="create data", state="started")]
        write_model(
            paths.transaction_file(),
            Transaction(id="1", plan=plan(), drives=[], arrays=[], filesystem_uuid="u", steps=steps),
        )
        [finding] = pool_check.check(host())
        assert finding.level is Level.WARN and "1 of 2 steps done, now create data" in finding.sentence

    def test_an_approval_that_is_not_carried_out_points_to_the_journal(self, empty: Path) -> None:
        write_model(paths.plan_file(), PlanFile(sha256=plan().digest(), proposal=plan()))
        write_model(paths.approval_file(), Approval(sha256="b" * 64, by="admin", at="now"))
        [finding] = pool_check.check(host())
        assert "approved plan was not built" in finding.sentence and "journalctl" in (finding.todo or "")

    def test_no_plan_is_unknown_and_during_boot_merely_not_yet(self, empty: Path) -> None:
        assert pool_check.check(host())[0].level is Level.UNKNOWN
        assert pool_check.check(host(running=STARTING))[0].level is Level.WARN

    def test_servers_that_have_nothing_to_serve_are_not_missed(self, empty: Path) -> None:
        down = host(show=Result(0, "inactive\n", ""))
        assert nfs.check(down) == smb.check(down) == arrays.check(down) == filesystem.check(down) == []

    def test_a_pool_file_that_cannot_be_understood_is_unknown(self, empty: Path) -> None:
        paths.pool_file().parent.mkdir(parents=True)
        paths.pool_file().write_text('{"schema_version": 2}')
        health = collect(host())
        assert {one.check for one in health.findings if one.level is Level.UNKNOWN} >= {"pool", "arrays", "filesystem"}
        assert health.level is Level.UNKNOWN


class TestFilesystem:
    @pytest.mark.parametrize(("percent", "level"), [(40, Level.OK), (90, Level.WARN), (98, Level.FAIL)])
    def test_room(self, serving: Path, percent: int, level: Level) -> None:
        beats(percent)
        [finding] = filesystem.check(host())
        assert finding.level is level and f"{percent} % full" in finding.sentence
        assert bool(finding.todo) == (level is not Level.OK)
        assert "snapshot" not in (finding.todo or "")

    def test_room_that_snapshots_keep_is_named(self, serving: Path) -> None:
        beats(98)
        (kept_snapshots.top("/srv/pool") / "data/20261129T120000Z-manual").mkdir(parents=True)
        [finding] = filesystem.check(host())
        assert (finding.todo or "").endswith("millrace snapshot list; then: millrace snapshot remove.")

    def test_not_mounted(self, serving: Path) -> None:
        unmount_all(serving)
        mount(serving, "/dev/sda1", "/", "ext4", "rw")
        assert "FAIL: /srv/pool is not mounted" in sentences(filesystem.check(host()))

    def test_being_mounted_takes_its_time_and_says_so(self, serving: Path) -> None:
        unmount_all(serving)
        mount(serving, "/dev/sda1", "/", "ext4", "rw")
        began = "InactiveExitTimestamp=Sat 2026-11-21 23:50:07 UTC\nInactiveExitTimestampMonotonic=9000000\n"
        slow = host(show=Result(0, "activating\n", ""), since=Result(0, began, ""))
        [finding] = filesystem.check(slow)
        assert finding.level is Level.WARN
        assert finding.sentence == (
            "/srv/pool is being mounted since 23:50: XFS is replaying its log or counting quotas."
        )
        unknown = host(show=Result(0, "activating\n", ""), since=Result(1, "", "no answer"))
        assert "/srv/pool is being mounted: XFS is replaying" in filesystem.check(unknown)[0].sentence

    def test_read_only(self, serving: Path) -> None:
        unmount_all(serving)
        mount(serving, "/dev/md127", "/srv/pool", "xfs", "ro,noatime")
        assert "FAIL: /srv/pool is mounted read-only" in sentences(filesystem.check(host()))

    def test_mounted_with_other_options_than_planned(self, serving: Path) -> None:
        unmount_all(serving)
        mount(serving, "/dev/md127", "/srv/pool", "xfs", "rw,nosuid,nodev,relatime")
        [room, finding] = filesystem.check(host())
        assert (room.level, finding.level) == (Level.OK, Level.WARN)
        assert finding.sentence == "/srv/pool is not mounted as planned: noexec is missing, noatime is missing."
        assert finding.todo and "srv-pool.mount" in finding.todo

    def test_pool_that_was_made_with_every_feature_has_no_finding(self, serving: Path) -> None:
        beats(features=V5)
        [room] = filesystem.check(host())
        assert room.level is Level.OK

    def test_pool_that_was_made_without_features_names_what_it_lacks(self, serving: Path) -> None:
        beats(features=V5_OF_6_1)
        [room, finding] = filesystem.check(host())
        assert (room.level, finding.level, finding.key) == (Level.OK, Level.WARN, "filesystem/features")
        assert finding.sentence == (
            "/srv/pool was made without exchange: xfs_scrub cannot repair directories; without parent: names of "
            "damaged files are searched by reading every directory, for 10 minutes at most."
        )
        assert finding.todo == (
            "Only a pool that Millrace creates has parent: copy the data to one on occasion. While the pool is not "
            "mounted, xfs_admin -O exchange=1 adds exchange. Acknowledge it: millrace alert ack filesystem/features"
        )

    def test_features_that_are_not_known_are_no_finding(self, serving: Path) -> None:
        beats(features=None)
        assert [one.kind for one in filesystem.check(host())] == ["space"]

    def test_an_xfs_that_shut_itself_down_fails_for_all_who_use_it(self, serving: Path) -> None:
        beats(problem="Input/output error", error="EIO")
        health = collect(host())
        failed = {one.check: one for one in health.findings if one.level is Level.FAIL}
        assert set(failed) == {"filesystem", "nfs", "smb", "shares"}
        assert "XFS has shut itself down" in failed["filesystem"].sentence
        assert all("restart the server" in (one.todo or "") for one in failed.values())

    def test_a_pool_that_hangs_is_not_waited_for_and_not_touched(self, serving: Path) -> None:
        (serving / "srv/pool/.millrace-trash/old-77").mkdir(parents=True)
        beats(uptime=time.monotonic() - 95)
        hangs = host(heartbeat=Result(124, "", "systemctl did not finish in 20 s"))
        found = sentences(collect(hangs).findings)
        assert "FAIL: /srv/pool does not answer: no answer for 95 s" in found
        # what the trash holds is in the pool
        assert "old-77" not in found

    def test_a_pool_that_has_failed_is_not_asked_what_it_holds(self, serving: Path) -> None:
        unmount_all(serving)
        mount(serving, "/dev/md127", "/srv/pool", "xfs", "rw,prjquota")

        def asked() -> bool:
            tools = Tools({"xfs_quota -x -c report": Result(0, "", "")})
            write(collect(host()), list, lambda: None, tools)
            return bool(tools.called("xfs_quota"))

        assert asked()
        beats(problem="no answer for 95 s", error="")
        assert not asked()

    def test_a_heartbeat_that_cannot_be_run_is_unknown(self, serving: Path) -> None:
        broken = host(heartbeat=Result(1, "", "Unit millrace-heartbeat.service not found."))
        [unknown] = [one for one in collect(broken).findings if one.level is not Level.OK]
        assert (unknown.check, unknown.level) == ("filesystem", Level.UNKNOWN)
        assert unknown.todo == "systemctl status millrace-heartbeat.service"

    def test_a_full_pool_that_takes_no_write(self, serving: Path) -> None:
        beats(problem="No space left on device", error="ENOSPC")
        assert "FAIL: /srv/pool cannot be written to: No space left on device. [Delete" in sentences(
            filesystem.check(host())
        )


class TestServers:
    def test_nfs_that_is_not_running(self, serving: Path) -> None:
        (serving / "proc/fs/nfsd/threads").write_text("0\n")
        assert "FAIL: The NFS server is not running" in sentences(nfs.check(host()))

    def test_nfs_that_is_not_even_loaded(self, serving: Path) -> None:
        for name in ("threads", "portlist"):
            (serving / "proc/fs/nfsd" / name).unlink()
        assert "FAIL: The NFS server is not running" in sentences(nfs.check(host()))

    def test_nfs_that_listens_and_does_not_respond(self, serving: Path) -> None:
        assert "FAIL: The NFS server does not respond to an RPC call: timed out" in sentences(
            nfs.check(deaf(nfs="timed out"))
        )

    def test_smb_that_listens_and_does_not_respond(self, serving: Path) -> None:
        found = sentences(smb.check(deaf(smb="it closes the connection")))
        assert "FAIL: The SMB server does not respond: it closes the connection" in found

    def test_an_rdma_device_that_nfs_does_not_use(self, serving: Path) -> None:
        add_rdma_device(serving)
        assert "[millrace tune]" in sentences(nfs.check(host()))

    def test_nfs_that_waits_for_a_client_network(self, serving: Path) -> None:
        (serving / "etc/millrace/policy.toml").unlink()
        said = "WARN: NFS is closed for data: no client network is confirmed yet."
        assert f"{said} [millrace share networks set 10.0.0.0/24]" in sentences(nfs.check(host()))

    def test_shares_that_wait_for_no_client_network(self, serving: Path) -> None:
        (serving / "etc/millrace/policy.toml").unlink()
        named = Nfs(clients=[NfsClient(client="10.0.0.9")])
        for nfs_side in (Nfs(enabled=False), named):
            share = DesiredShare(name="data", type="training", project=1001, nfs=nfs_side)
            write_model(files.config_file(), Config(shares=[share]))
            assert [one.level for one in nfs.check(host())] == [Level.OK]

    def test_records_of_clients_that_cannot_be_written(self, serving: Path) -> None:
        beats(records_free=0)
        assert "FAIL: nfsdcld cannot write the records of NFS clients (their file system is full" in sentences(
            nfs.check(host())
        )
        beats(100, records_free=None)
        said = sentences(nfs.check(host()))
        assert "(the pool is full, and they have no room of their own): a restart of the NFS server takes" in said
        assert "[Free 537 MB on the pool first; then: systemctl restart nfsdcld.service (it restarts" in said
        beats(records_free=None)
        said = sentences(nfs.check(host()))
        assert "WARN: The records of NFS clients have no room of their own" in said
        assert "it restarts the NFS server, and clients wait for about a minute and a half" in said
        mount(serving, "/dev/loop0", "/srv/pool/.millrace/nfsdcld", "ext3", "rw,emergency_ro")
        # statfs does not show it
        beats()
        assert "FAIL: nfsdcld cannot write the records of NFS clients (their file system is read-only" in sentences(
            nfs.check(host())
        )

    def test_smb_that_is_down(self, serving: Path) -> None:
        assert "FAIL: The SMB server is failed" in sentences(smb.check(host(show=Result(0, "failed\n", ""))))

    def test_an_address_on_which_smb_does_not_listen(self, serving: Path) -> None:
        listen(serving, "0.0.0.0:2049", "127.0.0.1:445")
        found = sentences(smb.check(host()))
        assert "FAIL: The SMB server does not listen on 10.0.0.2. [systemctl restart smbd.service" in found

    def test_smb_need_not_listen_on_a_management_port(self, serving: Path) -> None:
        listen(serving, "0.0.0.0:2049", "127.0.0.1:445")
        [port] = host().ports
        assert port.mac
        write_model(files.config_file(), Config(management=[port.mac]))
        assert [one.level for one in smb.check(host())] == [Level.OK]

    def test_cockpit_that_does_not_listen_even_without_a_pool(self, empty: Path) -> None:
        assert "FAIL: The socket of Cockpit is inactive" in sentences(
            cockpit.check(host(show=Result(0, "inactive\n", "")))
        )

    def test_failed_units_are_named(self, empty: Path) -> None:
        listed = Result(0, '[{"unit":"nfsdcld.service","active":"failed"}]', "")
        said = sentences(units.check(host(failed=listed)))
        assert "FAIL: nfsdcld.service has failed. [Mend the reason in the journal (journalctl -b -u nfsdcld" in said

    def test_failed_unit_of_ours_says_why_and_what_to_do(self, empty: Path) -> None:
        listed = Result(0, '[{"unit":"millrace-users.service","active":"activating","sub":"auto-restart"}]', "")
        why = Result(0, "millrace: the accounts cannot be written: No space left on device\n", "")
        said = sentences(units.check(host(failed=listed, why=why)))
        assert (
            "has failed: the accounts cannot be written: No space left on device. It is tried again by itself." in said
        )
        assert "[Mend the reason, and wait a minute; otherwise: millrace user list" in said

    def test_boot_drive_that_is_full_comes_first(self, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        finding = HealthFinding(check="root", level=Level.FAIL, sentence="It is full.", todo="du -xh /")
        monkeypatch.setattr(units.root, "check", lambda host: [finding])
        listed = Result(0, '[{"unit":"millrace-tune.service","active":"failed","sub":"failed"}]', "")
        said = sentences(units.check(host(failed=listed, why=Result(0, "", ""))))
        assert (
            "millrace-tune.service has failed. [Make room on the boot drive first: du -xh /. millrace tune --diff"
            in said
        )

    def test_boot_drive_that_is_read_only_comes_first(self, empty: Path) -> None:
        mount(empty, "/dev/vda3", "/", "ext4", "ro,relatime")
        listed = Result(0, '[{"unit":"millrace-tune.service","active":"failed","sub":"failed"}]', "")
        said = sentences(units.check(host(failed=listed, why=Result(0, "", ""))))
        assert "has failed. [Make the boot drive writable first: journalctl -k | grep -E 'EXT4" in said
        assert "Make room" not in said

    def test_a_systemd_that_does_not_answer_is_unknown(self, empty: Path) -> None:
        health = collect(host(failed=Result(1, "", "Failed to connect to bus"), show=Result(1, "", "no bus")))
        assert [one.check for one in health.findings if one.level is Level.UNKNOWN] == [
            "pool",
            "drives",
            "root",
            "encryption",
            "units",
            "cockpit",
        ]
