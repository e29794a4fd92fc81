# SPDX-License-Identifier: Apache-2.0
"""Sectors that the kernel cannot read, and reads for ever: they are listed as bad blocks."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.storage.scrub import unreadable
from millrace.storage.scrub.unreadable import NEIGHBOURS, Unreadable, main, parsed, record

# As kernel 7.2.12 logged it.
LOST = "md/raid:md127: read error not correctable (sector 60416 on nvme3n1p2)."
FOUND = Unreadable("md127", "nvme3n1p2", 60416)
Reads = Callable[[str, int], bool]


@pytest.fixture
def listed(root: Path) -> Path:
    """The list of a member of the array data."""
    path = root / "sys/class/block/md127/md/dev-nvme3n1p2/bad_blocks"
    path.parent.mkdir(parents=True)
    path.touch()
    (root / "dev/md").mkdir(parents=True)
    (root / "dev/md/millrace-data").symlink_to("../md127")
    return path


def bad(*sectors: range) -> Reads:
    """A drive that cannot read these sectors."""
    return lambda member, sector: member != "nvme3n1p2" or not any(sector in one for one in sectors)


def log(*lines: str) -> int:
    """The kernel's log with these messages, one for each read, and its end."""
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for number, line in enumerate(lines):
        kernel.send(f"4,{number},5033164,-;{line}\n SUBSYSTEM=block\n".encode())
    kernel.close()
    return ours.detach()


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (LOST, FOUND),
        ("md/raid:md0: read error NOT corrected!! (sector 8 on sda1).", Unreadable("md0", "sda1", 8)),
        ("md/raid:md127: read error corrected (8 sectors at 60416 on nvme3n1p2)", None),
        ("critical medium error, dev nvme3n1, sector 259072 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0", None),
        ("", None),
    ],
)
def test_read_errors_without_a_remedy_are_told_from_others(message: str, found: Unreadable | None) -> None:
    assert parsed(message) == found


def test_stripe_that_the_drive_cannot_read_is_listed(listed: Path) -> None:
    assert record(FOUND, bad(range(60416, 60424))) == range(60416, 60424)
    assert listed.read_text() == "60416 8"


def test_stripe_that_can_be_read_again_is_not_listed(listed: Path) -> None:
    assert record(FOUND, bad()) is None
    assert listed.read_text() == ""


def test_stripe_that_the_kernel_has_listed_is_left_alone(listed: Path) -> None:
    listed.write_text("16 8\n60400 64\n")
    assert record(FOUND, bad(range(60400, 60464))) is None
    assert listed.read_text() == "16 8\n60400 64\n"


def test_neighbours_are_listed_up_to_the_first_that_can_be_read(listed: Path) -> None:
    damage = bad(range(60400, 60448), range(60456, 60464))
    assert record(FOUND, damage) == range(60400, 60448)
    assert listed.read_text() == "60400 48"


def test_neighbours_end_at_the_beginning_of_the_member_and_at_a_limit(listed: Path) -> None:
    damage = bad(range(0, 1 << 20))
    assert record(Unreadable("md127", "nvme3n1p2", 16), damage) == range(0, 16 + 8 * (NEIGHBOURS + 1))


def test_sector_within_a_stripe_is_listed_with_its_stripe(listed: Path) -> None:
    assert record(Unreadable("md127", "nvme3n1p2", 60419), bad(range(60416, 60424))) == range(60416, 60424)


def test_messages_are_followed_and_only_the_pool_is_written(
    listed: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = root / "sys/class/block/md9/md/dev-nvme3n1p2/bad_blocks"
    other.parent.mkdir(parents=True)
    other.touch()
    main(log("md: data-check done", LOST.replace("md127", "md9"), LOST, LOST), bad(range(60416, 60424)))
    assert (listed.read_text(), other.read_text()) == ("60416 8", "")
    said = capsys.readouterr().out
    assert said == "md127: 8 sectors of nvme3n1p2 from 60416 cannot be read and are listed as bad blocks\n"


def test_member_that_has_left_stops_nothing(listed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(log(LOST.replace("nvme3n1p2", "nvme4n1p2"), LOST), bad(range(60416, 60424)))
    assert "nvme4n1p2 cannot read sector 60416, which cannot be listed: " in capsys.readouterr().out
    assert listed.read_text() == "60416 8"


def test_messages_that_were_overwritten_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [BrokenPipeError(), b"4,7,1,-;one\n", b""]

    def read(log: int, size: int) -> bytes:
        if isinstance(one := kept.pop(0), BrokenPipeError):
            raise one
        return one

    monkeypatch.setattr(os, "read", read)
    assert list(unreadable.messages(0)) == ["one"]


def test_drive_is_read_past_the_cache(root: Path) -> None:
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev/nvme3n1p2").write_bytes(bytes(8192))
    assert unreadable.reads_from_drive("nvme3n1p2", 8)
    assert not unreadable.reads_from_drive("nvme3n1p2", 16)
    with pytest.raises(FileNotFoundError):
        unreadable.reads_from_drive("nvme9n1p2", 0)
