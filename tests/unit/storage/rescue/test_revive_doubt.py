# SPDX-License-Identifier: Apache-2.0
"""Who left last, and what a start without that member loses."""

import json

import pytest

from millrace.storage.array.machine import System
from millrace.storage.assemble import revival, unclean
from millrace.storage.record.failure_record import Failure
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.files import append_line
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.drive_life import writing as write
from tests.unit.storage.rescue.reviving import gone, revive, world

__all__ = ["root", "world"]


WRITTEN = 1_795_000_000
"""When the superblocks of the fake are written."""


def failed(serial: str, left: int, broken: bool) -> None:
    """The kernel logged that a member failed."""
    data = load_pool().arrays[0]
    (member,) = [one for one in data.members if one.serial == serial]
    failure = Failure("boot", 1, WRITTEN, data.uuid, member.partuuid, left, broken)
    append_line(paths.failures_file(), json.dumps(failure._asdict()))


@pytest.mark.parametrize(("first", "last"), [("L0", "L1"), ("L1", "L0")])
def test_half_of_a_mirror_that_left_last_is_known_by_the_failure_of_the_other(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch, first: str, last: str
) -> None:
    """md reports no last member of a mirror, and a spare that it fills from that is the newest of all."""
    monkeypatch.setattr("millrace.storage.assemble.revival.updated", lambda *_: WRITTEN)
    gone(world, ("L0", "L1"))
    log = next(array for array in load_pool().arrays if array.array.name == "log")
    assert revival.situation(world, log).last == []
    member = next(half for half in log.members if half.serial == first)
    for number, who in enumerate([member.partuuid, "a spare that was being filled"]):
        failure = Failure("boot", number, WRITTEN, log.uuid, who, 1, False)
        append_line(paths.failures_file(), json.dumps(failure._asdict()))
        assert revival.situation(world, log).last == [last]


def happens(out: str) -> dict[str, str]:
    """What happens to each member, as it is shown."""
    rows = [line.split("  ") for line in out.splitlines() if line.startswith("  -")]
    return {next(cell for cell in row[2:] if cell.strip()).strip(): row[-1].strip() for row in rows}


LOST = "If the array starts without {0}, writes acknowledged after 2026-11-13 11:06 UTC {1} lost: they {1} only on {0}."


@pytest.fixture
def earlier(world: WithoutLog, monkeypatch: pytest.MonkeyPatch) -> WithoutLog:
    """D0 was last written five days before the others."""

    def times(system: System, name: str) -> int:
        return WRITTEN - 5 * 86400 if system.identity(name).serial == "D0" else WRITTEN

    monkeypatch.setattr(revival, "updated", times)
    return world


def test_start_with_what_left_last_loses_nothing(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    _, out, _ = revive(capsys, "--dry-run")
    assert happens(out) == {
        "D0": "left earlier; will be rebuilt",
        "D1": "left earlier; will be rebuilt",
        "D2": "started: left last",
        "D3": "started: in sync until the end",
    }
    assert "Earlier acknowledged writes are on the members that are started." in out and "lost" not in out


def test_start_of_equal_members_may_lose_what_the_other_one_has(
    earlier: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(earlier, ("D1",), ("D0", "D2"))
    _, out, _ = revive(capsys, "--dry-run", "--with", "D0")
    assert happens(out) == {
        "D0": "started: may have left earlier",
        "D1": "left earlier; will be rebuilt",
        "D2": "may have left last; will be kept apart",
        "D3": "started: in sync until the end",
    }
    assert LOST.format("D2", "may be") in out
    assert "The order of failure was not recorded. Choose the member that left last: --with SERIAL" in out
    assert "on the members that are started" not in out


def test_start_of_the_older_one_of_equal_members_loses_what_the_other_one_has(
    earlier: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(earlier, ("D1",), ("D0", "D2"))
    failed("D0", 2, False)
    failed("D2", 1, True)
    _, out, _ = revive(capsys, "--dry-run", "--with", "D0")
    assert "In doubt: D2 left after D0, and would be newer." in out and LOST.format("D2", "are") in out
    assert (happens(out)["D0"], happens(out)["D2"]) == ("started: left earlier", "left last; will be kept apart")
    assert "was not recorded" not in out and "Choose the member that left last: --with D2" in out


def test_start_without_the_member_that_left_last_says_what_is_lost(
    earlier: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    away = [next(disk for disk in earlier.disks if disk.serial == serial) for serial in ("D0", "D1", "D2")]
    for number, serial in enumerate(("D0", "D1", "D2")):
        die(earlier, serial)
        write(earlier, "data")
        failed(serial, 3 - number, number == 2)
    plug_in(earlier, away[0])
    _, out, _ = revive(capsys, "--dry-run", "--json")
    (array,) = json.loads(out)["arrays"]
    assert (array["recorded"], array["older"], array["newer"], array["since"]) == (
        True,
        True,
        ["D2"],
        "2026-11-13T11:06:40+00:00",
    )
    _, out, _ = revive(capsys, "--dry-run")
    assert happens(out)["D0"] == "started: left earlier" and LOST.format("D2", "are") in out
    assert "Put D2 back in first, then run this again." in out and "was not recorded" not in out
    status, _, error = revive(capsys, "--plan", out.split("sha256 ")[1].split()[0])
    assert status == 0
    assert (
        "RAID6 data: started without D1, D2, with D0 again: writes acknowledged after 2026-11-13 11:06 UTC are lost "
        "without D2"
    ) in error
    known = unclean.pending()
    # all files that were written since D0 left are in doubt
    assert known is not None and known.starts[0].last_write == "2026-11-13T11:06:40+00:00"
