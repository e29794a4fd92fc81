# SPDX-License-Identifier: Apache-2.0
"""The order in which members fail is written down at once, as the kernel logs it."""

import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.storage.array.machine import Linux
from millrace.storage.assemble import failures
from millrace.storage.assemble.failures import KernelMessage, parsed
from millrace.storage.record import failure_record
from millrace.storage.record.failure_record import Failure, last_of, load
from millrace.system import paths
from tests.unit.storage.kernel_log import SAME, UUID, appeared, array, broke, failed, goes_on, gone, log, main

__all__ = ["array"]


def test_failures_of_one_moment_are_recorded_in_their_order(array: Path, root: Path) -> None:
    main(log("md127: detected capacity change from 0 to 1"))
    assert load() == []
    started = "md/raid:md127: raid level 6 active with 4 out of 4 devices, algorithm 2"
    main(log(started, failed(2), goes_on(3), failed(0), goes_on(2), failed(3), broke(3), failed(1), broke(4)))
    records = load()
    assert [(record.member, record.left, record.broken) for record in records] == [
        ("guid-2", 3, False),
        ("guid-0", 2, False),
        ("guid-3", 1, True),
        ("guid-1", 0, True),
    ]
    assert {(record.boot, record.array) for record in records} == {("boot-1", UUID)}
    assert [record.member for record in last_of(SAME, 2, records)] == ["guid-3", "guid-1"]
    assert last_of("0:0:0:0", 2, records) == []


def test_drive_that_is_gone_is_who_it_was(array: Path, root: Path) -> None:
    recorder = failures.FailureRecorder("boot-1")
    assert (
        recorder.see(
            KernelMessage(1, 1.0, "md/raid:md127: raid level 6 active with 4 out of 4 devices, algorithm 2", 1e9)
        )
        == []
    )
    gone(root, 2)
    assert recorder.see(KernelMessage(2, 2.0, failed(2), 1e9)) == []
    (failure,) = recorder.see(KernelMessage(3, 2.0, goes_on(3), 1e9))
    assert failure.member == "guid-2"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the members were looked at; each message of the kernel takes 10 ms."""
    messages, moments = 0, list[float]()

    def seen(
        recorder: failures.FailureRecorder, message: KernelMessage, see: Any = failures.FailureRecorder.see
    ) -> Any:
        nonlocal messages
        messages += 1
        return see(recorder, message)

    def look(recorder: failures.FailureRecorder, look: Callable[..., None] = failures.FailureRecorder.look) -> None:
        moments.append(time.monotonic())
        look(recorder)

    monkeypatch.setattr(failures.FailureRecorder, "see", seen)
    monkeypatch.setattr(failures.FailureRecorder, "look", look)
    monkeypatch.setattr(time, "monotonic", lambda: 10 + messages / 100)
    return moments


def test_flood_of_a_mirror_without_drives_is_read_as_fast_as_it_comes(array: Path, looks: list[float]) -> None:
    flood = ["md: super_written gets error=-5", "md: recover of RAID array md126", "md: md126: recover done."]
    main(log(failed(1), *flood * 20, goes_on(3), *flood * 40))
    assert [(one.member, one.left) for one in load()] == [("guid-1", 3)]
    # at the beginning and with each of the two lines; then once a second
    assert looks == pytest.approx([10.0, 10.01, 10.62, 11.62])


def test_message_that_is_read_late_is_dated_when_it_was_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "time", lambda: 1.8e9 + clock[0])
    dating = failures.Dating()
    # the kernel's clock is 3 s behind after so many days
    assert dating.logged(997.0) == pytest.approx(1.8e9 + 1000)
    clock[0] += 60
    # of the same moment, and read a minute later
    assert dating.logged(997.5) == pytest.approx(1.8e9 + 1000.5, abs=0.1)
    # after a day without a message both clocks are further apart
    clock[0] += 86_400
    assert dating.logged(clock[0] - 5) == pytest.approx(1.8e9 + clock[0], abs=0.1)


def renamed(root: Path, number: int, guid: str) -> None:
    """A drive came back, under this name."""
    (root / f"sys/class/block/nvme{number}n1p1/uevent").write_text(f"DEVTYPE=partition\nPARTUUID={guid}\n")


@pytest.mark.parametrize("said", ["md: recover of RAID array md127", "md: delaying recover of md127 until md126 has …"])
def test_members_that_return_under_each_others_names_are_told_apart(
    array: Path, root: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 10.0)
    recorder = failures.FailureRecorder("boot-1")
    recorder.look()
    renamed(root, 1, "GUID-2")
    renamed(root, 2, "GUID-1")
    (array / "dev-nvme9n1p1").mkdir()
    appeared(root, "nvme9n1p1", "259:9", 0.5)
    renamed(root, 9, "GUID-9")
    recorder.see(KernelMessage(1, 1.0, said))
    # the kernel says it once, and it is less than a second since the last look
    monkeypatch.setattr(time, "monotonic", lambda: 11.0)
    recorder.look_if_due()
    for number in (1, 2, 9):
        gone(root, number)
    records = []
    for at, number in enumerate((1, 2, 9)):
        recorder.see(KernelMessage(2 + 2 * at, 2.0, failed(number), 1.8e9))
        records += recorder.see(KernelMessage(3 + 2 * at, 2.0, goes_on(3 - at), 1.8e9))
    assert [record.member for record in records] == ["guid-2", "guid-1", "guid-9"]


def test_member_that_fails_while_it_is_filled_is_recorded_so(array: Path) -> None:
    recorder = failures.FailureRecorder("boot-1")

    def fails(number: int, state: str, left: int) -> Failure:
        (array / f"dev-nvme{number}n1p1/state").write_text(f"{state}\n")
        recorder.look()
        (array / f"dev-nvme{number}n1p1/state").write_text("faulty\n")
        assert recorder.see(KernelMessage(left, 1.0, failed(number), 1.8e9)) == []
        (one,) = recorder.see(KernelMessage(left, 1.0, goes_on(left), 1.8e9))
        return one

    assert fails(1, "in_sync", 3).filling is False
    # back, and gone again before it was seen, or before its rebuild has ended
    assert fails(1, "faulty", 3).filling is True
    assert fails(1, "spare", 3).filling is True
    assert fails(1, "write_error,in_sync", 3).filling is False
    assert fails(2, "spare,want_replacement", 3).filling is True


def test_record_that_an_older_version_reads_has_no_new_keys(array: Path) -> None:
    main(log(failed(1), goes_on(3)))
    (array / "dev-nvme2n1p1/state").write_text("spare\n")
    main(log(failed(2), goes_on(3), begin=5))
    assert ["filling" in line for line in paths.failures_file().read_text().splitlines()] == [False, True]
    assert [one.filling for one in load()] == [False, True]


def test_look_that_is_due_waits_for_no_other_message(array: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "SOON", 0.2)
    looked = threading.Semaphore(0)

    def look(recorder: failures.FailureRecorder, look: Callable[..., None] = failures.FailureRecorder.look) -> None:
        look(recorder)
        looked.release()

    monkeypatch.setattr(failures.FailureRecorder, "look", look)
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    recorder = threading.Thread(target=failures.main, args=(ours.fileno(),))
    recorder.start()
    assert looked.acquire(timeout=20)
    renamed(root, 2, "GUID-7")
    kernel.send(b"6,1,1000000,-;md: recover of RAID array md127\n")
    assert looked.acquire(timeout=20)
    gone(root, 2)
    kernel.send(f"2,2,1000000,-;{failed(2)}\n".encode())
    kernel.send(f"2,3,1000000,-;{goes_on(3)}\n".encode())
    kernel.close()
    recorder.join(20)
    ours.close()
    assert [record.member for record in load()] == ["guid-7"]


def test_two_that_the_kernel_logs_at_once_have_no_order(array: Path) -> None:
    main(log(failed(2), goes_on(3), failed(0), failed(1), goes_on(2), broke(3)))
    assert [(one.member, one.left) for one in load()] == [("guid-2", 3), ("guid-0", None), ("guid-1", None)]
    assert last_of(UUID, 2, load()) == []


def test_restart_of_the_service_records_nothing_twice_and_misses_nothing(array: Path) -> None:
    main(log(failed(2), goes_on(3)))
    main(log(failed(2), goes_on(3), failed(0), goes_on(2)))
    assert [one.member for one in load()] == ["guid-2", "guid-0"]


def test_messages_of_others_are_none(array: Path) -> None:
    main(log("md/raid:md9: Disk failure on sda1, disabling device.", "md/raid:md9: Operation continuing on 2 devices."))
    main(log("XFS (md127): log I/O error -5", "md/raid1:md126: Disk failure on sdb1, disabling device.\\x0a"))
    assert load() == []


def test_boot_drive_that_takes_no_record_stops_nothing(array: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths.failures_file().mkdir(parents=True)
    main(log(failed(2), goes_on(3), failed(0), goes_on(2)))
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2 and all("cannot be recorded" in line for line in said)
    assert load() == []


def test_torn_and_foreign_lines_are_left_out(array: Path) -> None:
    main(log(failed(2), goes_on(3)))
    with paths.failures_file().open("a") as file:
        file.write('[]\n{"boot": 1}\n{"boot": "boot-1", "numb')
    main(log(failed(0), goes_on(2), begin=5))
    assert [one.member for one in load()] == ["guid-2", "guid-0"]


@pytest.mark.parametrize(
    "line", ["", "4,x,5,-;md", "4,1,y,-;md", "SUBSYSTEM=block"], ids=["empty", "no", "time", "fields"]
)
def test_line_that_is_no_message_is_none(line: str) -> None:
    assert parsed(line) is None


def test_messages_that_were_overwritten_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [BrokenPipeError(), b"4,7,1000000,-;one\n", b""]

    def read(log: int, size: int) -> bytes:
        if isinstance(one := kept.pop(0), BrokenPipeError):
            raise one
        return one

    monkeypatch.setattr(os, "read", read)
    log, kernel = socket.socketpair()
    kernel.close()
    (message,) = failures.messages(log.fileno(), lambda: 1.0)
    assert message is not None and message[:3] == (7, 1.0, "one")


def test_failure_that_is_read_as_it_happens_has_the_time_of_that_and_no_other_clock(
    array: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stamps of the kernel drift: here by 20 s since the boot."""
    monkeypatch.setattr(time, "monotonic", lambda: 500_000.0)
    monkeypatch.setattr(time, "time", lambda: 1_795_000_000.0)
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    recorder = threading.Thread(target=failures.main, args=(ours.fileno(),))

    def says(number: int, line: str) -> None:
        kernel.send(f"2,{number},{499_980 * 1_000_000},-;{line}\n".encode())

    says(1, failed(2))
    says(2, goes_on(3))
    recorder.start()
    for _ in range(200):
        if load():
            break
        recorder.join(0.05)
    recorder.join(0.2)
    says(3, failed(0))
    says(4, goes_on(2))
    recorder.join(0.2)
    kernel.close()
    recorder.join(20)
    ours.close()
    assert [record.at for record in load()] == [1_794_999_980.0, 1_795_000_000.0]


def test_mirror_whose_two_lines_are_one_message_is_recorded(array: Path) -> None:
    line = "md/raid1:md127: Disk failure on nvme2n1p1, disabling device."
    main(log(f"{line}\\x0amd/raid1:md127: Operation continuing on 1 devices.\\x0a"))
    assert [(one.member, one.left, one.broken) for one in load()] == [("guid-2", 1, False)]


def whole(root: Path, array: Path, name: str, serial: str | None) -> None:
    """A member that is a whole SCSI drive."""
    (array / f"dev-{name}").mkdir()
    device = root / f"sys/class/block/{name}/device"
    device.mkdir(parents=True)
    for attribute in ("vendor", "model"):
        (device / attribute).write_text("ACME\n")
    appeared(root, name, "8:32", 2.0)
    if serial:
        (device / "vpd_pg80").write_bytes(b"\0\x80\0\4" + serial.encode())


def test_whole_drive_is_known_by_the_serial_that_the_pool_has_of_it(array: Path, root: Path) -> None:
    whole(root, array, "sdc", "Z4XX")
    main(log("md/raid:md127: Disk failure on sdc, disabling device.", goes_on(3)))
    assert [one.member for one in load()] == ["Z4XX"] == [Linux().identity("sdc").serial]


def test_member_without_any_identity_is_named_and_the_others_are_not(array: Path, root: Path) -> None:
    assert failures.unidentified(SAME) == []
    whole(root, array, "sdc", None)
    # md keeps the last member of a mirror when its drive is gone
    (array / "dev-sdd").mkdir()
    assert failures.unidentified(SAME) == ["sdc"]


def test_members_are_looked_at_before_the_kernel_says_anything_and_from_time_to_time(
    array: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "LOOK", 0.05)
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    recorder = threading.Thread(target=failures.main, args=(ours.fileno(),))
    recorder.start()
    recorder.join(0.3)
    gone(root, 2)
    kernel.send(f"2,1,1000000,-;{failed(2)}\n".encode())
    kernel.send(f"2,2,1000000,-;{goes_on(3)}\n".encode())
    kernel.close()
    recorder.join(20)
    ours.close()
    assert [record.member for record in load()] == ["guid-2"]


@pytest.mark.parametrize(
    "line",
    [
        "usb 1-1: Product: md/raid:md127: Disk failure on nvme1n1p2, disabling device.",
        "process 'x\\x0amd/raid:md127: Disk failure on nvme1n1p2, disabling device.' started with executable stack",
        "usb 1-1: Product: x\\x0amd/raid:md127: Disk failure on nvme1n1p2, disabling device.",
        "md/raid:md127: Disk failure on nvme1n1p2, disabling device. Yes",
    ],
)
def test_text_that_somebody_chose_is_no_failure(line: str) -> None:
    recorder = failures.FailureRecorder("boot")
    recorder.see(KernelMessage(1, 1.0, line))
    assert recorder._open == {}


def test_message_of_a_program_is_not_the_kernels() -> None:
    text = "md/raid:md127: Disk failure on nvme1n1p2, disabling device."
    assert parsed(f"12,7,5000000,-;{text}\n") is None
    assert parsed(f"2,7,5000000,-;{text}\n") == KernelMessage(7, 5.0, text)


def test_drive_that_has_the_name_of_one_that_failed_is_not_accused(array: Path, root: Path) -> None:
    """nvme2n1 failed and was pulled while the service did not run; another drive with its name joined the array."""
    gone(root, 2)
    appeared(root, "nvme2n1p1", "259:9", 1100.0)
    (root / "sys/class/block/nvme2n1p1/uevent").write_text("DEVTYPE=partition\nPARTUUID=GUID-NEW\n")
    main(log(failed(2), goes_on(3), failed(0), goes_on(2)))
    assert [(one.array, one.member, one.left) for one in load()] == [(UUID, "", 3), (UUID, "guid-0", 2)]


def test_order_of_an_array_is_not_known_where_one_that_failed_is_not(array: Path, root: Path) -> None:
    gone(root, 3)
    main(log(failed(2), goes_on(3), failed(0), goes_on(2), failed(3), broke(3), failed(1), broke(4)))
    assert [one.member for one in load()] == ["guid-2", "guid-0", "", "guid-1"]
    assert failure_record.broke(UUID) is not None
    assert last_of(UUID, 2, load()) == []


@pytest.mark.parametrize(("seconds", "known"), [(990.0, True), (996.0, False), (None, False)])
def test_device_is_that_of_a_message_only_where_udev_saw_it_long_before(
    array: Path, root: Path, seconds: float | None, known: bool
) -> None:
    if seconds is None:
        (root / "run/udev/data/b259:2").write_text("E:ID_FS_TYPE=linux_raid_member\n")
    else:
        appeared(root, "nvme2n1p1", "259:2", seconds)
    main(log(failed(2), goes_on(3)))
    assert [one.member for one in load()] == ["guid-2" if known else ""]


def test_message_about_an_array_of_before_is_none_of_the_array_that_has_its_name(array: Path, root: Path) -> None:
    appeared(root, "md127", "9:127", 1100.0)
    main(log(failed(2), goes_on(3)))
    assert load() == []


def test_failure_that_is_read_as_it_happens_needs_no_date_of_its_device(array: Path, root: Path) -> None:
    recorder = failures.FailureRecorder("boot-1")
    recorder.look()
    gone(root, 2)
    appeared(root, "md127", "9:127", 1100.0)
    assert recorder.see(KernelMessage(1, 1000.0, failed(2), 1e9)) == []
    assert [one.member for one in recorder.see(KernelMessage(2, 1000.0, goes_on(3), 1e9))] == ["guid-2"]
