# SPDX-License-Identifier: Apache-2.0
"""The record of failures: what is kept of it, and who failed last by it."""

import json
import threading
from pathlib import Path

import pytest

from millrace.storage.record import failure_record
from millrace.storage.record.failure_record import Failure, last_of, load, since_start
from millrace.system import paths
from millrace.system.files import append_line, write_text
from tests.unit.storage.kernel_log import SAME, UUID, array, broke, failed, goes_on, log, main

__all__ = ["array"]


def recorded() -> list[str]:
    return paths.failures_file().read_text().splitlines()


def flapping(times: int) -> list[str]:
    """A member that fails again and again."""
    return [line for _ in range(times) for line in (failed(1), goes_on(3))]


def fill(lines: int) -> None:
    """A record of years: another array has a drive that comes and goes."""
    one = Failure("boot-0", 1, 1.0, "other", "guid-9", 3, False)
    paths.failures_file().parent.mkdir(parents=True, exist_ok=True)
    with paths.failures_file().open("a") as file:
        file.write(f"{json.dumps(one._asdict())}\n" * lines)


def test_record_is_shortened_when_the_service_starts(array: Path) -> None:
    fill(failure_record.MOST + 50)
    main(log())
    assert len(recorded()) == failure_record.KEPT


def test_record_is_shortened_while_the_service_runs(array: Path) -> None:
    fill(failure_record.MOST - 2)
    main(log(*flapping(6)))
    assert len(recorded()) == failure_record.KEPT + 3
    assert [one.member for one in load()[-6:]] == ["guid-1"] * 6


def test_order_of_an_array_that_is_broken_is_kept(array: Path) -> None:
    main(log(failed(2), goes_on(3), failed(0), goes_on(2), failed(3), broke(3), failed(1), broke(4)))
    fill(failure_record.MOST)
    main(log())
    assert len(recorded()) == failure_record.KEPT + 4
    assert [last_failure.member for last_failure in last_of(UUID, 2, load())] == ["guid-3", "guid-1"]
    # Millrace starts it
    failure_record.note_start(SAME)
    fill(failure_record.MOST)
    main(log())
    assert len(recorded()) == failure_record.KEPT


def test_array_that_broke_and_that_something_else_started_is_known_however_often_a_member_fails_since(
    array: Path,
) -> None:
    main(log(failed(2), goes_on(3), failed(0), goes_on(2), failed(3), broke(3)))
    for number in range(12):
        main(log(*flapping(50), begin=1000 * (number + 1)))
    assert len(recorded()) < failure_record.MOST
    assert failure_record.broke(UUID) is not None
    # not the order of before
    assert last_of(UUID, 2, load()) == []


def test_broken_arrays_that_are_gone_do_not_fill_the_record(array: Path) -> None:
    def line(number: int) -> str:
        return json.dumps(Failure("boot-0", 1, 1.0, f"gone-{number // 200}", "guid-9", None, True)._asdict())

    paths.failures_file().parent.mkdir(parents=True, exist_ok=True)
    paths.failures_file().write_text("".join(f"{line(number)}\n" for number in range(200 * 100)))
    main(log())
    assert len(recorded()) <= failure_record.KEPT + failure_record.ARRAYS * (failure_record.OF_BROKEN + 1)


def test_boot_drive_without_room_for_a_shorter_record_keeps_the_long_one_and_the_service(
    array: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, text: str) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failure_record, "write_text", full)
    fill(failure_record.MOST)
    main(log(*flapping(2)))
    assert len(recorded()) == failure_record.MOST + 2
    assert "cannot be shortened: [Errno 28] No space left on device" in capsys.readouterr().out


def test_start_that_is_recorded_while_the_record_is_shortened_is_not_lost(
    array: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(log(failed(2), goes_on(3), failed(0), goes_on(2), failed(3), broke(3)))
    fill(failure_record.MOST)
    assembling = threading.Thread(target=failure_record.note_start, args=(UUID,))

    def slow(path: Path, text: str) -> bool:
        assembling.start()
        assembling.join(0.3)
        return write_text(path, text)

    monkeypatch.setattr(failure_record, "write_text", slow)
    main(log())
    assembling.join(10)
    assert failure_record.broke(UUID) is None


def failure(member: str, left: int | None, broken: bool, boot: str = "b") -> Failure:
    return Failure(boot, 1, 1.0, UUID, member, left, broken)


@pytest.mark.parametrize(
    ("known", "last"),
    [
        # an older incident is none of this one
        ([failure("x", 1, True), failure("y", 3, False), failure("z", 1, True)], ["z"]),
        ([failure("x", 1, True, "a"), failure("y", 1, True)], ["y"]),
        # a hot spare, or a member that was being filled, leaves as many as before
        ([failure("w", 2, False), failure("x", 1, True), failure("s", 1, True)], ["x"]),
        ([failure("x", 1, True), failure("y", 0, True), failure("s", 0, True)], ["x", "y"]),
        ([failure("x", 1, True), failure("s", 1, True), failure("y", 0, True)], ["x", "y"]),
        ([failure("w", 2, False), failure("s", 2, False), failure("x", 1, True)], ["x"]),
        # one without an order, or of another boot, or one that is missing in between
        ([failure("x", 1, True), failure("y", None, True)], []),
        ([failure("x", 1, True, "a"), failure("y", 0, True)], []),
        ([failure("x", 0, True)], []),
        ([failure("x", 1, True), failure("y", 3, False)], []),
        ([], []),
    ],
)
def test_only_a_record_without_a_gap_says_who_was_last(known: list[Failure], last: list[str]) -> None:
    assert [one.member for one in last_of(UUID, 2, known)] == last


def test_failure_before_a_start_of_the_array_is_none_of_those_after_it() -> None:
    """The second member left as many as the first one, as a spare does."""
    for member in ("x", "y"):
        append_line(paths.failures_file(), json.dumps(failure(member, 1, True)._asdict()))
        assert [one.member for one in last_of(UUID, 2, since_start(SAME))] == [member]
        failure_record.note_start(SAME)
        assert since_start(UUID) == []
    assert [one.member for one in load()] == ["x", "y"]


def test_line_that_is_nested_too_deeply_is_passed_over(array: Path) -> None:
    fill(1)
    append_line(paths.failures_file(), "[" * 3000, mode=0o600)
    assert [failure.array for failure in load()] == ["other"]
