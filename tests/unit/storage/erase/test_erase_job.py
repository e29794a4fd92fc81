# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit and to the record; the drive is a file, and everything below is real."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.inventory import drive_tests
from millrace.inventory.collect import collect
from millrace.inventory.drive_tests import DriveTest
from millrace.inventory.model import Inventory
from millrace.inventory.present import present
from millrace.inventory.surface import ERASE_MARK, MARK_SIZE
from millrace.storage.array.machine import Linux
from millrace.storage.drive import facts
from millrace.storage.erase import erase_job
from millrace.storage.record import erasure
from millrace.storage.record.erasure import EraseOrder, Erasure
from millrace.storage.record.writer import PROVISIONING, READDING, writing
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import job_paths
from millrace.system.run import Result
from tests.fakes.files.trees import booted, nothing_found
from tests.fakes.jobs import JOBS, JobManager
from tests.fakes.tools import stand_in

SERIAL = "S6XYZ123"
DATA = b"\xa5" * (64 << 20)


class Manager(JobManager):
    """systemd: starting the unit runs it, as far as a test says; and the tools that examine a drive."""

    TAKEN = (
        *JOBS,
        "blockdev --rereadpt /dev/vdb",
        "udevadm trigger --action=change /dev/vdb",
        "udevadm settle *",
        "blkid -p -o export *",
        "wipefs --no-act --json *",
        "mdadm --examine *",
    )

    def __init__(self) -> None:
        super().__init__("millrace-erase.service")
        self.line = "drive S6XYZ123 is in use (busy); nothing was written"

    def works(self, words: Sequence[str], stdin: str) -> Result:
        if words[0] in ("blkid", "wipefs", "mdadm"):
            return nothing_found(words)
        return super().works(words, stdin)


class Server:
    """A server with one drive beside the one that it boots from."""

    def __init__(self, root: Path, manager: Manager) -> None:
        tree = booted(root)
        tree.cpus(("0-1", ["0", "1"]))
        disk = tree.virtio("vdb", SERIAL)
        tree.write(disk / "diskseq", "7\n")
        tree.write("proc/sys/kernel/random/boot_id", "5f0e\n")
        self.root, self.manager, self.device, self.disk = root, manager, root / "dev/vdb", disk
        self.device.write_bytes(DATA)
        self.examine()

    def examine(self) -> None:
        write_model(paths.inventory_file(), collect(self.root, nothing_found))

    def state(self) -> str:
        found = read_model(paths.inventory_file(), Inventory).drives
        return next(str(one.state) for one in found if one.serial == SERIAL)

    def order(self, foreign: bool = True) -> EraseOrder:
        return erase_job.start(Linux(), erase_job.ready(Linux(), SERIAL, foreign), foreign)

    @property
    def untouched(self) -> bool:
        return self.device.read_bytes() == DATA


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    manager = Manager()
    stand_in(monkeypatch, manager)
    return Server(root_user, manager)


def interrupted(at: str) -> DriveTest:
    """A test of the drive that did not end."""
    wwid = next(drive.wwid for drive in present() if drive.serial == SERIAL)
    return DriveTest(
        id="t", serial=SERIAL, wwid=wwid, bay=None, scope="quick", state="interrupted", boot="4e0f", began=at, ended=at
    )


def last() -> Erasure:
    found = erasure.last(SERIAL)
    assert found is not None
    return found


def test_drive_is_erased_and_blank_in_the_inventory(server: Server) -> None:
    server.manager.run = lambda: erase_job.execute(Linux())
    assert server.state() == "foreign"
    ended = list(erase_job.follow(Linux(), server.order()))[-1]
    assert isinstance(ended, Erasure)
    assert (ended.state, ended.method, ended.reason, ended.boot) == ("done", "overwrite", None, "5f0e")
    assert ended.unproved is not None and ended.ended is not None
    assert not any(server.device.read_bytes())
    assert server.state() == "blank"
    assert erasure.unfinished() == {}
    # nothing is left to be interrupted
    erase_job.clean_up(Linux())
    assert last() == ended and not job_paths.erase_order_file().exists()


@pytest.mark.parametrize(
    ("tested", "erased", "blank"),
    [
        ("2026-11-20T10:00:00+00:00", "2026-11-21T10:00:00+00:00", True),
        ("2026-11-21T10:00:00+00:00", "2026-11-20T10:00:00+00:00", False),
        # the clock was ahead at the erasure before the test: it proves nothing
        ("2026-11-20T10:00:00+00:00", "2069-01-01T00:00:00+00:00", False),
    ],
)
def test_erasure_that_was_before_the_test_leaves_no_drive_blank(
    server: Server, tested: str, erased: str, blank: bool
) -> None:
    server.manager.run = lambda: erase_job.execute(Linux())
    list(erase_job.follow(Linux(), server.order()))
    erasure.save(last().model_copy(update={"ended": erased}))
    drive_tests.save(interrupted(tested))
    assert (SERIAL not in facts.facts().unfinished) is blank


def test_drive_is_blank_after_an_erasure_although_it_was_tested_in_2069(server: Server) -> None:
    server.manager.run = lambda: erase_job.execute(Linux())
    drive_tests.save(interrupted("2069-01-01T00:00:00+00:00"))
    list(erase_job.follow(Linux(), server.order()))
    assert drive_tests.not_blank() == {}
    # another drive with the same serial number
    drive_tests.save(interrupted("2026-11-20T10:00:00+00:00").model_copy(update={"wwid": "another"}))
    drive_tests.erased(SERIAL, last().wwid)
    assert set(drive_tests.not_blank()) == {SERIAL}


def test_without_an_inventory_a_drive_is_erased_and_none_is_invented(server: Server) -> None:
    paths.inventory_file().unlink()
    server.manager.run = lambda: erase_job.execute(Linux())
    list(erase_job.follow(Linux(), server.order()))
    assert (last().state, paths.inventory_file().exists()) == ("done", False)


def test_verb_prints_the_drive_progress_and_what_is_not_proved(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.manager.run = lambda: erase_job.execute(Linux())
    server.manager.states = ["active", "inactive"]
    assert program.run(["drive", "erase", SERIAL, "--serial-again", SERIAL, "--foreign"]) == 0
    out = capsys.readouterr().out
    assert f"All data on this drive will be lost: {SERIAL}" in out
    assert f"drive {SERIAL} is erased and blank (overwrite)\nNot proved: every block was written" in out
    assert program.run(["drive", "erase", SERIAL, "--serial-again", SERIAL, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1]["state"] == "done"


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--serial-again", "OTHER", "--foreign"], 2, "repeated as 'OTHER', not 'S6XYZ123': nothing was written"),
        (["--foreign"], 2, "use --serial-again"),
        (["--serial-again", SERIAL], 1, "carries data of another system (data at byte 0)"),
    ],
)
def test_verb_refuses_in_one_sentence(
    options: list[str], status: int, words: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(["drive", "erase", SERIAL, *options]) == status
    err = capsys.readouterr().err
    assert words in err and len(err.splitlines()) == 1
    assert server.untouched
    assert server.manager.called("systemctl") == []


def test_verb_fails_where_the_drive_is_not_erased(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["drive", "erase", SERIAL, "--serial-again", SERIAL, "--foreign"]
    assert program.run(arguments) == 1
    assert "is not erased: drive S6XYZ123 is in use (busy); nothing was written" in capsys.readouterr().err
    erase_job.clean_up(Linux())
    server.manager.run = lambda: killed(server)
    assert program.run(arguments) == 1
    assert f"is not erased: {erase_job.KILLED}; run it again" in capsys.readouterr().err


def killed(server: Server) -> None:
    """A unit that was killed in the middle, and what systemd runs after it."""
    order = read_model(job_paths.erase_order_file(), EraseOrder)
    with server.device.open("r+b") as file:
        for offset in (0, len(DATA) - MARK_SIZE):
            file.seek(offset)
            file.write(ERASE_MARK)
    record = erase_job._begun(erase_job.ready(Linux(), SERIAL, True), order, Linux())
    erasure.save(record)
    erase_job.clean_up(Linux())


def test_killed_erasure_is_interrupted_and_can_be_run_again_without_foreign(server: Server) -> None:
    server.manager.run = lambda: killed(server)
    (ended,) = erase_job.follow(Linux(), server.order())
    assert isinstance(ended, Erasure) and (ended.state, ended.reason) == ("interrupted", erase_job.KILLED)
    assert erasure.unfinished() == {SERIAL: "erase was interrupted; run it again"}
    assert server.state() == "foreign"
    server.manager.run = lambda: erase_job.execute(Linux())
    list(erase_job.follow(Linux(), server.order(foreign=False)))
    assert (last().state, server.state()) == ("done", "blank")


def test_drive_that_was_replaced_meanwhile_is_not_written(server: Server) -> None:
    server.order()
    (server.disk / "diskseq").write_text("8\n")
    with pytest.raises(Refused, match="was replaced meanwhile; nothing was written"):
        erase_job.execute(Linux())
    (server.disk / "diskseq").unlink()
    with pytest.raises(Refused, match="removed or replaced just now; nothing was written"):
        erase_job.execute(Linux())
    assert server.untouched and erasure.load() == []


def test_drive_that_cannot_be_opened_alone_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linux, "in_use", lambda self, name: "Device or resource busy")
    with pytest.raises(Refused, match="is in use \\(Device or resource busy\\)"):
        erase_job.ready(Linux(), SERIAL, True)


def test_another_change_and_another_erasure_are_refused(server: Server) -> None:
    with writing(READDING), pytest.raises(Refused, match="returned members are being re-added"):
        erase_job.ready(Linux(), SERIAL, True)
    ready = erase_job.ready(Linux(), SERIAL, True)
    server.manager.others["millrace-erase.service"] = "active"
    with pytest.raises(Refused, match="another drive is being erased"):
        erase_job.start(Linux(), ready, True)
    server.manager.others = {"millrace-bench.service": "active"}
    with pytest.raises(Refused, match="a benchmark is running; wait for it, or stop it: millrace bench stop"):
        erase_job.start(Linux(), ready, True)
    assert server.untouched


def test_clean_up_by_hand_ends_no_erasure_that_goes_on(server: Server) -> None:
    order = server.order()
    erasure.save(erase_job._begun(erase_job.ready(Linux(), SERIAL, True), order, Linux()))
    with erase_job.JOB.alone(), pytest.raises(Refused, match="another drive is being erased"):
        erase_job.clean_up(Linux())
    assert last().state == "running" and job_paths.erase_order_file().exists()
    erase_job.clean_up(Linux())
    assert last().state == "interrupted" and server.manager.called("udevadm settle")


def test_unit_that_does_not_start_leaves_no_order(server: Server) -> None:
    server.manager.broken = {"systemctl start": Result(1, "", "Failed to start\n")}
    with pytest.raises(Failed, match="does not start: Failed to start"):
        server.order()
    assert not job_paths.erase_order_file().exists()


def test_drive_that_fails_is_recorded_with_the_reason(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.order()

    def fail(*_: object) -> None:
        raise Failed("the drive cannot be written at byte 8388608 (Input/output error)")

    monkeypatch.setattr("millrace.storage.erase.overwrite.RawDrive.overwrite", fail)
    with pytest.raises(Failed):
        erase_job.execute(Linux())
    assert last().state == "failed"
    said = "erase failed: the drive cannot be written at byte 8388608 (Input/output error); run it again"
    assert erasure.unfinished() == {SERIAL: said}


def test_other_changes_do_not_wait_for_hours(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.order()

    def overwrite(*_: object) -> None:
        with writing(PROVISIONING):
            raise Failed("the lock was free")

    monkeypatch.setattr("millrace.storage.erase.overwrite.RawDrive.overwrite", overwrite)
    with pytest.raises(Failed, match="the lock was free"):
        erase_job.execute(Linux())


def test_without_root_nothing_is_examined(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1001)
    with pytest.raises(Refused, match="requires root"):
        erase_job.ready(Linux(), SERIAL, True)
    with pytest.raises(Refused, match="requires root"):
        erase_job.clean_up(Linux())
    assert server.manager.calls == []
