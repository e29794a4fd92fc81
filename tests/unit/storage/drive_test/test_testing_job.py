# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit and to the record of a test; the drive is a file, and everything below is real."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.inventory import drive_tests
from millrace.inventory.collect import collect
from millrace.inventory.drive_tests import DriveTest
from millrace.inventory.model import Inventory
from millrace.inventory.surface import MD_MAGIC, TEST_MARK
from millrace.observe.drive.rows import row
from millrace.storage.array.machine import Linux
from millrace.storage.drive.facts import facts
from millrace.storage.drive_test import drive_test_run, testable, testing_job
from millrace.storage.drive_test.drive_test_run import DriveTestBoard, DriveTestRun
from millrace.storage.erase import erase_job
from millrace.storage.erase.overwrite import RawDrive
from millrace.storage.record.test_order import DriveTestOrder, DriveTestProgress, DriveTestsProgress
from millrace.storage.record.writer import PROVISIONING, READDING, writing
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import by_asking
from millrace.system.run import Result
from tests.fakes.files.trees import booted, nothing_found
from tests.fakes.tools import stand_in
from tests.unit.storage.erase.test_erase_job import Manager as EraseManager

SERIAL = "S6XYZ123"
SIZE = 24 << 20
UNIT = testing_job.JOB.unit


class Manager(EraseManager):
    """systemd: starting the unit runs it, as far as a test says; and the tools that examine a drive."""

    def __init__(self) -> None:
        super().__init__()
        self.unit = UNIT


class Server:
    """A server with one blank drive beside the one that it boots from."""

    def __init__(self, root: Path, manager: Manager) -> None:
        tree = booted(root)
        tree.cpus(("0-1", ["0", "1"]))
        disk = tree.virtio("vdb", SERIAL)
        tree.write(disk / "diskseq", "7\n")
        tree.write("proc/sys/kernel/random/boot_id", "5f0e\n")
        self.root, self.manager, self.device, self.disk = root, manager, root / "dev/vdb", disk
        self.size = int((disk / "size").read_text()) * 512
        self.device.write_bytes(bytes(self.size))
        self.examine()

    def examine(self) -> None:
        write_model(paths.inventory_file(), collect(self.root, nothing_found))

    def state(self) -> str:
        found = read_model(paths.inventory_file(), Inventory).drives
        return next(str(one.state) for one in found if one.serial == SERIAL)

    def order(self, quick: bool = True) -> DriveTestOrder:
        return testing_job.start(Linux(), testable.ready(Linux(), [SERIAL], quick), quick)

    @property
    def is_zero(self) -> bool:
        return not any(self.device.read_bytes())


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    manager = Manager()
    stand_in(monkeypatch, manager)
    return Server(root_user, manager)


def last() -> DriveTest:
    return drive_tests.by_serial()[SERIAL]


def run() -> list[DriveTest]:
    return testing_job.execute(Linux())


@pytest.mark.parametrize("quick", [True, False])
def test_blank_drive_passes_and_is_blank_in_the_inventory(server: Server, quick: bool) -> None:
    server.manager.run = run
    ended = list(testing_job.follow(Linux(), server.order(quick)))[-1]
    assert isinstance(ended, DriveTest)
    assert (ended.state, ended.scope, ended.blank, ended.reason) == (
        "passed",
        "quick" if quick else "full",
        True,
        None,
    )
    assert ended.written_bytes and ended.longest_write_ms is not None and ended.ended is not None
    assert server.is_zero and server.state() == "blank"
    assert drive_tests.not_blank() == {}
    job = testing_job.JOB.last(server.manager)
    assert job is not None and (job.what, job.by, job.state) == (f"drive {SERIAL}", "root", "done")
    drive = row(facts(), SERIAL)
    assert (drive.verdict, drive.test) == ("blank", ended)
    # nothing is left to be interrupted
    testing_job.clean_up(Linux())
    assert last() == ended and not job_paths.drive_test_order_file().exists()


def test_verb_says_what_it_does_and_how_it_ended(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.manager.run = run
    assert program.run(["drive", "test", "/dev/vdb", "--quick", "--yes"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"To be tested:\n  Bay .*\n .*\b{SERIAL}\b", out) and "Expected: less than 10 minutes" in out
    assert f"drive {SERIAL}: passed; the drive is blank" in out
    assert program.run(["drive", "show", SERIAL]) == 0
    assert "passed on " in capsys.readouterr().out
    assert program.run(["drive", "test", SERIAL, "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["scope"] == "full"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([SERIAL], 2, "no terminal to confirm this: use --yes"),
        ([], 2, "name the drives to test"),
        (["NOSUCH", "--yes"], 1, "no drive has the serial number, bay or device name 'NOSUCH'"),
        ([SERIAL, "--all-candidates"], 2, "--all-candidates takes no drives"),
        ([SERIAL, "--cancel"], 2, "it takes no drives"),
        (["--cancel"], 1, "no drive is being tested"),
        # of the drives here none is NVMe
        (["--all-candidates"], 1, "no drive of this server is blank and may be used for a pool"),
    ],
)
def test_verb_refuses_in_one_sentence(
    words: list[str], status: int, said: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(["drive", "test", *words]) == status
    assert said in capsys.readouterr().err
    assert server.is_zero and not job_paths.drive_test_order_file().exists()


def test_drive_that_holds_anything_is_not_tested(server: Server) -> None:
    data = b"\xa5" * server.size
    server.device.write_bytes(data)
    with pytest.raises(Refused, match=r"is not blank but foreign \(data at byte 0\): only a blank drive is tested"):
        testable.ready(Linux(), [SERIAL], quick=False)
    assert server.device.read_bytes() == data


def test_drive_that_was_filled_after_the_order_is_not_tested(server: Server) -> None:
    server.order()
    data = bytes(server.size - 512) + b"\xa5" * 512
    server.device.write_bytes(data)
    with pytest.raises(Refused, match="is not blank"):
        run()
    assert server.device.read_bytes() == data and drive_tests.load() == []


def test_drive_that_was_replaced_meanwhile_is_not_written(server: Server) -> None:
    server.order()
    (server.disk / "diskseq").write_text("8\n")
    with pytest.raises(Refused, match="was replaced meanwhile; nothing was written"):
        run()
    assert server.is_zero and drive_tests.load() == []


def test_drive_that_loses_writes_fails_and_is_blank_for_nobody(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RawDrive.write

    def written(one: RawDrive, data: object, offset: int, length: int) -> None:
        if offset < SIZE // 2 or (length == 4096 and offset > server.size - 8192):
            write(one, data, offset, length)  # type: ignore[arg-type]

    monkeypatch.setattr(RawDrive, "write", written)
    server.manager.run = run
    ended = list(testing_job.follow(Linux(), server.order()))[-1]
    assert isinstance(ended, DriveTest)
    assert (ended.state, ended.blank) == ("failed", False)
    assert "it lost a write" in (ended.reason or "")
    job = testing_job.JOB.last(server.manager)
    assert job is not None and (job.state, job.reason) == (
        "failed",
        f"not passed: {SERIAL}; see `millrace drive show`",
    )
    drive = row(facts(), SERIAL)
    assert drive.verdict == "unknown" and (drive.what or "").startswith("test failed: the drive returns")
    assert "erase" in drive.actions
    with pytest.raises(Refused, match="only a blank drive is tested"):
        testable.ready(Linux(), [SERIAL], quick=False)


def killed(server: Server) -> None:
    """A unit that was killed in the middle, and what systemd runs after it."""
    order = read_model(job_paths.drive_test_order_file(), DriveTestOrder)
    found = testable.candidate(Linux(), SERIAL, quick=False)
    drive_tests.save(DriveTestRun(Linux(), found, order, DriveTestBoard()).record)
    with server.device.open("r+b") as file:
        file.write(TEST_MARK)
        file.seek(1 << 20)
        file.write(b"\xa5" * 4096)
    testing_job.clean_up(Linux())


def test_killed_test_is_interrupted_and_can_be_run_again_or_erased(server: Server) -> None:
    server.manager.run = lambda: killed(server)
    (ended,) = testing_job.follow(Linux(), server.order())
    assert isinstance(ended, DriveTest) and (ended.state, ended.reason) == ("interrupted", testing_job.KILLED)
    assert server.state() == "foreign"
    drive = row(facts(), SERIAL)
    assert (drive.verdict, drive.what) == ("unknown", drive_tests.INTERRUPTED)
    assert "erase" in drive.actions
    with pytest.raises(Refused, match="a quick test leaves what the test before wrote"):
        testable.ready(Linux(), [SERIAL], quick=True)
    server.manager.run = run
    list(testing_job.follow(Linux(), server.order(quick=False)))
    assert (last().state, server.state(), server.is_zero) == ("passed", "blank", True)


def test_blank_drive_that_is_failing_after_its_test_is_blank_for_nobody(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_test_run, "why_failing", lambda drive: "is failing (it is in read-only mode)")
    server.manager.run = run
    ended = list(testing_job.follow(Linux(), server.order()))[-1]
    assert isinstance(ended, DriveTest)
    assert (ended.state, ended.reason, ended.blank) == (
        "failed",
        "the drive is failing (it is in read-only mode)",
        False,
    )
    assert server.state() == "foreign"


def test_new_media_errors_do_not_pass(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([7, 9])
    monkeypatch.setattr(drive_test_run, "_smart", lambda system, drive: {"media_errors": next(counts)})
    server.manager.run = run
    list(testing_job.follow(Linux(), server.order()))
    assert (last().state, last().reason, last().media_errors) == ("failed", "the drive reports 2 new media errors", 2)


@pytest.mark.parametrize("failing", [True, False])
def test_nobody_takes_a_drive_between_its_test_and_its_record(
    server: Server, monkeypatch: pytest.MonkeyPatch, failing: bool
) -> None:
    if failing:
        monkeypatch.setattr(drive_test_run, "why_failing", lambda drive: "is failing")
    seen: list[bool] = []

    def reread(*_: object) -> None:
        with pytest.raises(Refused, match=f"the test of drive {SERIAL} ends"), writing(PROVISIONING):
            pass
        seen.append(server.device.read_bytes().startswith(TEST_MARK))

    monkeypatch.setattr(drive_test_run, "reread", reread)
    server.order()
    (ended,) = run()
    # what did not pass is never blank for a moment
    assert seen == [failing] and ended.state == ("failed" if failing else "passed")
    with writing(PROVISIONING):
        pass


@pytest.mark.parametrize("taken", [True, False])
def test_mark_is_not_written_over_what_came_on_a_drive(
    server: Server, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    said = iter([None, "is failing"])
    monkeypatch.setattr(drive_test_run, "why_failing", lambda drive: next(said))
    monkeypatch.setattr(Linux, "gpt_ids", lambda self, name, block: frozenset(["id"] if taken else []))
    server.order()
    (ended,) = run()
    assert (ended.state, ended.blank, server.is_zero) == ("failed", False, taken)


def test_erase_ends_what_a_test_left(server: Server) -> None:
    server.manager.run = lambda: killed(server)
    list(testing_job.follow(Linux(), server.order()))
    server.manager.run = lambda: erase_job.execute(Linux())
    ready = erase_job.ready(Linux(), SERIAL, foreign=False)
    list(erase_job.follow(Linux(), erase_job.start(Linux(), ready, foreign=False)))
    found = row(facts(), SERIAL)
    assert (found.verdict, found.what) == ("blank", None)
    assert found.test is not None and found.test.state == "interrupted"


def test_record_is_not_of_another_drive_with_the_serial_number(server: Server) -> None:
    server.manager.run = lambda: killed(server)
    list(testing_job.follow(Linux(), server.order()))
    server.device.write_bytes(bytes(server.size))
    server.examine()
    assert row(facts(), SERIAL).what == drive_tests.INTERRUPTED
    drive_tests.save(last().model_copy(update={"wwid": "eui.of-another-one"}))
    assert row(facts(), SERIAL).verdict == "blank"


def test_file_system_that_came_after_a_cancelled_test_is_not_erased_without_foreign(server: Server) -> None:
    server.manager.run = lambda: killed(server)
    list(testing_job.follow(Linux(), server.order()))
    drive_tests.save(last().model_copy(update={"state": "cancelled"}))
    # md leaves the first 4 KiB as they are, and so the mark
    with server.device.open("r+b") as file:
        file.seek(4096)
        file.write(MD_MAGIC)
    server.examine()
    with pytest.raises(Refused, match=r"carries data of another system \(md superblock, metadata 1.2\)"):
        erase_job.ready(Linux(), SERIAL, foreign=False)


@pytest.mark.parametrize("head", [True, False])
def test_data_in_the_place_of_one_mark_is_found_beside_the_other(server: Server, head: bool) -> None:
    with server.device.open("r+b") as file:
        for offset, data in ((0, b"data" if head else TEST_MARK), (server.size - 4096, TEST_MARK if head else b"data")):
            file.seek(offset)
            file.write(data)
    server.examine()
    with pytest.raises(Refused, match=r"carries data of another system \(data at byte \d+\)"):
        erase_job.ready(Linux(), SERIAL, foreign=False)


def test_power_cut_within_a_test_is_named_at_the_next_boot(server: Server) -> None:
    server.manager.run = lambda: None
    order = server.order()
    found = testable.candidate(Linux(), SERIAL, quick=False)
    drive_tests.save(DriveTestRun(Linux(), found, order, DriveTestBoard()).record)
    assert row(facts(), SERIAL).what == "is being tested"
    (server.root / "proc/sys/kernel/random/boot_id").write_text("6a1f\n")
    assert row(facts(), SERIAL).what == drive_tests.INTERRUPTED
    # another drive of the same number that was never tested
    assert testable.ready(Linux(), [SERIAL], quick=False)


def begin(server: Server) -> DriveTest:
    """A full test that has just begun."""
    server.manager.run = lambda: None
    order = server.order(quick=False)
    found = testable.candidate(Linux(), SERIAL, quick=False)
    drive_tests.save(DriveTestRun(Linux(), found, order, DriveTestBoard()).record)
    return last()


def test_test_under_way_is_in_the_row_of_its_drive(server: Server) -> None:
    assert row(facts(), SERIAL).actions == ["test", "erase", "locate"]
    begin(server)
    drive = row(facts(), SERIAL)
    assert drive.testing is not None and (drive.testing.what, drive.testing.done, drive.testing.total) == (
        "writing",
        0,
        0,
    )
    assert drive.actions == ["locate"] and drive.test_seconds is None
    now = DriveTestProgress(serial=SERIAL, what="reading back", done=30, total=60, bytes_per_second=15, seconds_left=2)
    assert testing_job.JOB.glance() is None
    write_model(job_paths.drive_test_progress_file(), DriveTestsProgress(drives=[now]))
    assert row(facts(), SERIAL).testing == now
    assert testing_job.JOB.glance() == (f"drive {SERIAL}: reading back", 0.5, 2, 15)
    # a test of another boot does not go on
    (server.root / "proc/sys/kernel/random/boot_id").write_text("6a1f\n")
    drive = row(facts(), SERIAL)
    assert drive.testing is None and drive.actions == ["test", "erase", "locate"]


def test_cancel_prints_how_each_test_ended(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = begin(server)

    def wait(*_: object) -> None:
        assert job_paths.drive_test_cancel_file().exists()
        drive_tests.save(record.model_copy(update={"state": "cancelled", "reason": "an administrator ended it"}))

    stop = by_asking(kinds.DRIVE_TEST, job_paths.drive_test_cancel_file, wait)
    monkeypatch.setattr(testing_job, "JOB", replace(testing_job.JOB, stop=stop))
    server.manager.states = ["active", "active", "active", "inactive"]
    assert program.run(["drive", "test", "--cancel", "--json"]) == 0
    [ended] = json.loads(capsys.readouterr().out)["tests"]
    assert (ended["serial"], ended["state"], ended["blank"]) == (SERIAL, "cancelled", False)
    drive_tests.save(record)
    server.manager.states = ["active", "active", "active", "inactive"]
    assert program.run(["drive", "test", "--cancel"]) == 0
    out = capsys.readouterr().out
    assert f"tests cancelled: {SERIAL}" in out
    assert f"drive {SERIAL}: cancelled (an administrator ended it); the drive is not blank" in out


def test_cancelled_test_is_recorded_and_the_drive_is_blank(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read = RawDrive.read
    reads: list[int] = []

    def reading(one: RawDrive, offset: int, length: int) -> bytes:
        reads.append(offset)
        if len(reads) == 5:
            job_paths.drive_test_cancel_file().write_text("")
        return read(one, offset, length)

    server.manager.run = lambda: (monkeypatch.setattr(RawDrive, "read", reading), run())
    ended = list(testing_job.follow(Linux(), server.order()))[-1]
    assert isinstance(ended, DriveTest)
    assert (ended.state, ended.blank, server.is_zero) == ("cancelled", True, True)
    job = testing_job.JOB.last(server.manager)
    assert job is not None and (job.what, job.state) == (f"drive {SERIAL}", "cancelled")
    assert row(facts(), SERIAL).verdict == "blank"


def test_drive_that_is_pulled_within_its_test_fails_and_another_one_of_its_name_is_left_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = RawDrive.flush
    data = b"\xa5" * server.size

    def pulled(one: RawDrive) -> None:
        flush(one)
        (server.disk / "diskseq").write_text("8\n")
        server.device.unlink()
        server.device.write_bytes(data)
        raise Failed("the drive cannot be written at byte 0 (Input/output error)")

    server.order()
    monkeypatch.setattr(RawDrive, "flush", pulled)
    (ended,) = run()
    assert (ended.state, ended.blank) == ("failed", False)
    assert "cannot be written" in (ended.reason or "")
    assert server.device.read_bytes() == data


def test_other_changes_do_not_wait_for_hours(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.order()

    def mark(*_: object) -> None:
        with writing(PROVISIONING):
            raise Failed("the lock was free")

    monkeypatch.setattr(RawDrive, "mark", mark)
    assert run()[0].reason == "the lock was free"


def test_another_change_and_another_test_are_refused(server: Server) -> None:
    with writing(READDING), pytest.raises(Refused, match="returned members are being re-added"):
        testable.ready(Linux(), [SERIAL], quick=False)
    ready = testable.ready(Linux(), [SERIAL], quick=False)
    server.manager.others[UNIT] = "active"
    with pytest.raises(Refused, match="drives are being tested"):
        testing_job.start(Linux(), ready, True)
    server.manager.others = {"millrace-bench.service": "active"}
    with pytest.raises(Refused, match="a benchmark is running; wait for it, or stop it: millrace bench stop"):
        testing_job.start(Linux(), ready, True)
    assert not job_paths.drive_test_order_file().exists()


def test_clean_up_by_hand_ends_no_test_that_goes_on(server: Server) -> None:
    server.order()
    ready = testable.candidate(Linux(), SERIAL, quick=True)
    order = read_model(job_paths.drive_test_order_file(), DriveTestOrder)
    drive_tests.save(DriveTestRun(Linux(), ready, order, DriveTestBoard()).record)
    with testing_job.JOB.alone(), pytest.raises(Refused, match="drives are being tested"):
        testing_job.clean_up(Linux())
    assert last().state == "running" and job_paths.drive_test_order_file().exists()
    testing_job.clean_up(Linux())
    assert server.manager.called("udevadm settle")
    assert last().state == "interrupted" and not job_paths.drive_test_order_file().exists()


def test_unit_that_does_not_start_leaves_no_order(server: Server) -> None:
    server.manager.broken = {"systemctl start": Result(1, "", "Failed to start\n")}
    with pytest.raises(Failed, match="does not start: Failed to start"):
        server.order()
    assert not job_paths.drive_test_order_file().exists()


def test_without_root_nothing_is_examined(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1001)
    with pytest.raises(Refused, match="requires root"):
        testable.ready(Linux(), [SERIAL], quick=False)
    with pytest.raises(Refused, match="requires root"):
        testing_job.cancel(Linux())
    with pytest.raises(Refused, match="requires root"):
        testing_job.clean_up(Linux())
    assert server.manager.calls == []
