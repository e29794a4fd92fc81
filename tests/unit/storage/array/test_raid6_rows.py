# SPDX-License-Identifier: Apache-2.0
"""The members of a RAID6 are read and written behind md while writes wait; they go on again whatever happens."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.storage.array.raid6_rows import opened, quiesced, raid6, release_left
from millrace.storage.array.syndrome import BLOCK, syndrome
from millrace.system import sysfs
from millrace.system.errors import Failed, Refused
from tests.fakes.files.raid6 import CHUNK, OFFSET, SECTOR, Raid6


@pytest.fixture
def md(root: Path) -> Raid6:
    return Raid6(root)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is written to the attributes of md."""
    seen, write = list[tuple[str, str]](), sysfs.write

    def noted(path: Path, value: str) -> None:
        seen.append((path.name, value))
        write(path, value)

    monkeypatch.setattr(sysfs, "write", noted)
    return seen


def test_every_row_of_an_array_matches_as_it_is_read(md: Raid6) -> None:
    array = raid6("md9")
    assert [one.name for one in array.members] == [f"nvme{slot}n1p2" for slot in range(5)]
    parts = list(array.parts(3, 12 * CHUNK))
    assert parts[:2] == [(0, CHUNK), (CHUNK, 2 * CHUNK)] and len(parts) == 12
    with opened(array) as members:
        for begin, end in parts:
            assert list(syndrome(members.read(begin, end), array.order(begin)).blocks()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"level": "raid5"}, "only RAID6 has two parities"),
        ({"level": "raid1"}, "only RAID6 has two parities"),
        ({"layout": "0"}, "another layout"),
        ({"layout": "10"}, "another layout"),
        ({"metadata_version": "0.90"}, "another layout"),
        ({"reshape_position": "4096"}, "another layout"),
        ({"consistency_policy": "journal"}, "has a journal"),
        ({"degraded": "1"}, "degraded"),
        ({"dev-nvme2n1p2/state": "faulty"}, "degraded"),
        ({"dev-nvme2n1p2/state": "in_sync,want_replacement"}, "degraded"),
        ({"dev-nvme2n1p2/slot": "none"}, "degraded"),
        ({"dev-nvme2n1p2/slot": "1"}, "degraded"),
        ({"raid_disks": "6"}, "degraded"),
        ({"chunk_size": "2048"}, "another chunk size"),
        ({"component_size": "0"}, "another chunk size"),
    ],
)
def test_array_that_is_not_known_to_the_last_is_not_solved(md: Raid6, change: dict[str, str], reason: str) -> None:
    md.attributes(**change)
    with pytest.raises(Refused, match=reason):
        raid6("md9")


def test_array_that_is_not_there_is_refused(root: Path) -> None:
    with pytest.raises(Refused, match="only RAID6"):
        raid6("none")


def test_writes_to_the_rows_wait_and_go_on(md: Raid6, written: list[tuple[str, str]]) -> None:
    with quiesced(raid6("md9"), CHUNK + 8, 2 * CHUNK + 8):
        # rows 1 and 2 of three data chunks each
        assert [(md.at / name).read_text() for name in ("suspend_lo", "suspend_hi")] == ["48", "144"]
    assert written == [
        ("suspend_lo", "48"),
        ("suspend_hi", "144"),
        ("suspend_hi", "144"),
        ("suspend_hi", "0"),
        ("suspend_lo", "0"),
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Failed, OSError])
def test_writes_go_on_after_an_error(md: Raid6, error: type[BaseException]) -> None:
    with pytest.raises(error), quiesced(raid6("md9"), 0, 8):
        raise error
    assert [(md.at / name).read_text() for name in ("suspend_lo", "suspend_hi")] == ["0", "0"]


def test_writes_go_on_where_md_refuses_the_end_of_the_range(md: Raid6, monkeypatch: pytest.MonkeyPatch) -> None:
    write = sysfs.write

    def refused(path: Path, value: str) -> None:
        if path.name == "suspend_hi" and value != "0":
            raise OSError(4, "Interrupted system call")
        write(path, value)

    monkeypatch.setattr(sysfs, "write", refused)
    with pytest.raises(OSError, match="Interrupted"), quiesced(raid6("md9"), CHUNK, 2 * CHUNK):
        pass
    assert (md.at / "suspend_lo").read_text() == "0"


def test_what_a_killed_run_left_is_released_and_a_reshape_is_left_alone(md: Raid6) -> None:
    md.attributes(suspend_lo="48", suspend_hi="96", reshape_position="96")
    release_left("md9")
    assert (md.at / "suspend_hi").read_text() == "96\n"
    md.attributes(reshape_position="none")
    release_left("md9")
    assert [(md.at / name).read_text() for name in ("suspend_lo", "suspend_hi")] == ["0", "0"]
    release_left("md0")


def test_one_block_of_one_member_is_written(md: Raid6) -> None:
    before, array = md.images(), raid6("md9")
    with opened(array) as members:
        members.write(3, 2 * CHUNK + 8, b"\x5a" * BLOCK)
    after = md.images()
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, True, False, True]
    at = (OFFSET + 2 * CHUNK + 8) * SECTOR
    assert after[3] == before[3][:at] + b"\x5a" * BLOCK + before[3][at + BLOCK :]


def test_drive_that_returns_something_else_than_was_written_is_an_error(
    md: Raid6, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwritev", lambda drive, data, at: sum(map(len, data)))
    with opened(raid6("md9")) as members, pytest.raises(Failed, match="nvme1n1p2 returns something else"):
        members.write(1, 0, b"\x5a" * BLOCK)


def test_drive_that_cannot_be_read_or_is_shorter_is_an_error(md: Raid6, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(raid6("md9")) as members:
        os.truncate(md.member(2), (OFFSET + 8) * SECTOR)
        with pytest.raises(Failed, match="nvme2n1p2 ended"):
            members.read(0, CHUNK)

        def fails(drive: int, data: Sequence[object], at: int) -> int:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "preadv", fails)
        with pytest.raises(Failed, match=r"nvme0n1p2 cannot be read at sector 256 \(Input/output error\)"):
            members.read(0, 8)
    md.member(4).unlink()
    with pytest.raises(Failed, match="nvme4n1p2 cannot be opened"), opened(raid6("md9")):
        pass
