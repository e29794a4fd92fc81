# SPDX-License-Identifier: Apache-2.0
"""Members that may be newer than those of a revival: none is overwritten, and no other one is kept out."""

import json
import os
from pathlib import Path

import pytest

from millrace.storage.assemble import in_sync, revival
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.readd import readd
from millrace.storage.record import apart_record
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.failure_record import Failure
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.files import append_line
from millrace.system.run import Result
from tests.fakes.drives.without_log import WithoutLog, without_log
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import pool_of
from tests.unit.storage.drive_life import die, plug_in, rebuilt
from tests.unit.storage.drive_life import writing as write
from tests.unit.storage.plans import planned
from tests.unit.storage.rescue.reviving import Terminal, gone, revive, world

__all__ = ["root", "world"]

WRITTEN = 1_795_000_000
"""When the superblocks of the fake are written."""
FORCED = "mdadm --assemble /dev/md/millrace-data --run --force"


def put_in(world: WithoutLog, serial: str) -> None:
    plug_in(world, next(one for one in world.disks if one.serial == serial))


def kept_apart() -> set[str]:
    return {one.serial for one in apart_record.load().members if one.started}


def readded(world: WithoutLog) -> str:
    lines: list[str] = []
    readd(world, lines.append)
    in_sync.record(world, load_pool(), lines.append)
    return "; ".join(lines)


def confirmed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Revive as it was shown; what is said."""
    _, out, _ = revive(capsys, *words, "--dry-run", "--json")
    status, _, error = revive(capsys, *words, "--plan", json.loads(out)["sha256"])
    assert status == 0, error
    return error


def failed(serial: str, left: int, broken: bool) -> None:
    data = load_pool().arrays[0]
    (member,) = [one for one in data.members if one.serial == serial]
    failure = Failure("boot", 1, WRITTEN, data.uuid, member.partuuid, left, broken)
    append_line(paths.failures_file(), json.dumps(failure._asdict()))


def test_member_that_is_equal_to_the_one_chosen_is_kept_too_where_a_third_left_last(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D2 is dead for good: D1 is the newest of what is left."""
    monkeypatch.setattr(revival, "updated", lambda *_: WRITTEN)
    gone(world, ("D0", "D1"), ("D2",))
    for left, serial in ((3, "D0"), (2, "D1"), (1, "D2")):
        failed(serial, left, serial == "D2")
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "D2"}
    _, out, _ = revive(capsys, "--with", "D0", "--dry-run")
    assert "may have left last; will be kept apart" in out and "only on D2 and D1" in out.replace(", ", " and ")
    assert "D1 returned" not in confirmed(capsys, "--with", "D0")
    assert kept_apart() == {"D1", "D2"}


def test_record_that_the_boot_drive_did_not_take_is_written_later(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    paths.apart_file().mkdir(parents=True)
    error = confirmed(capsys, "--with", "D2")
    assert "the boot drive took no record of the members that may be newer (" in error
    readded(world)
    paths.apart_file().rmdir()
    readded(world)
    world.boot()
    for now in (paths.apart_now_file(), paths.in_sync_now_file()):
        now.unlink()
    lines: list[str] = []
    assemble(world, lines.append)
    assert "D1 returned" not in lines[0] and "may be newer than the array" in lines[0]


def test_nothing_is_started_where_they_cannot_be_kept_apart(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    paths.apart_now_file().mkdir(parents=True)
    status, _, error = revive(capsys, "--with", "D2", "--yes")
    assert status == 1 and "RAID6 data is not started: members that may be newer cannot be kept apart" in error
    assert not [command for command in world.calls if "--force" in command]


def test_half_of_the_log_that_is_known_to_be_the_last_is_started_without_a_question(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    in_sync.record(world, load_pool(), lambda _: None)
    die(world, "L0", "L1")
    log = world.running("/dev/md/millrace-log")
    # md gives up the other one, and this one stays its member
    log.kept, log.state = 0, "broken"
    in_sync.record(world, load_pool(), lambda _: None)
    put_in(world, "L0")
    status, _, error = revive(capsys, "--yes")
    assert status == 0 and "RAID1 log: started without L1" in error
    put_in(world, "L1")
    assert "L1 returned and is resyncing" in readded(world) and kept_apart() == set()


def test_start_that_failed_keeps_nobody_out(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    in_sync.record(world, load_pool(), lambda _: None)
    for serial in ("D0", "D1", "D2"):
        die(world, serial)
        in_sync.record(world, load_pool(), lambda _: None)
        write(world, "data")
    put_in(world, "D0")
    _, out, _ = revive(capsys, "--dry-run", "--json")
    world.broken[FORCED] = Result(1, "", "mdadm: failed to RUN_ARRAY: Device or resource busy")
    assert revive(capsys, "--plan", json.loads(out)["sha256"])[0] == 1 and kept_apart() == {"D1", "D2"}
    world.broken.clear()
    put_in(world, "D2")
    assert revive(capsys, "--yes")[0] == 0 and kept_apart() == set()
    rebuilt(world)
    put_in(world, "D1")
    assert "D1 returned and is" in readded(world)


def test_drive_that_another_array_was_started_without_may_be_chosen(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The halves of the log are on drives of the data, and all of them are gone."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    shared = without_log(pool_of(planned(6)))
    monkeypatch.setattr("millrace.storage.array.machine.Linux", lambda: shared)
    arrays = {array.array.name: array for array in load_pool().arrays}
    log, data = arrays["log"], arrays["data"]
    first, half = (member.serial for member in log.members)
    third = next(member.serial for member in data.members if member.serial not in (first, half))
    running = shared.running("/dev/md/millrace-log")
    running.members.remove(next(member for member in running.members if half in shared.serials(member)))
    for _ in range(2):
        write(shared, "log")
    who = log.members[1]
    kept = Apart(array="log", serial=half, partuuid=who.partuuid, written=None, started="2026-08-01T00:00:00+00:00")
    apart_record.save(log, [kept.model_copy(update={"beside": {log.members[0].partuuid: 1}})])
    in_sync.record(shared, load_pool(), lambda _: None)
    gone(shared, (first, half, third))
    status, out, error = revive(capsys, "--with", half, "--dry-run")
    assert status == 0 and f"{half} " in out, error


def test_older_member_of_a_slot_that_another_drive_took_is_not_kept_apart(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pool.json does not have the drive that was built in the place of D0 yet: it is missing, D0 is old."""
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    old = next(disk for disk in world.disks if disk.serial == "D0")
    (held,) = old.inside.values()
    gone(world, ("D1",), ("D2",))
    held.update(events="1")
    record = load_pool().arrays[0]
    situation = revival.situation(world, record)
    assert situation.choice is not None
    assert "D0" not in {who.serial for who in situation.passed}
