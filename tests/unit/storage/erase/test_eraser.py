# SPDX-License-Identifier: Apache-2.0
"""A drive erases itself where it can and proves it; what it does not, is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from millrace.inventory.model import DriveState
from millrace.inventory.surface import ERASE_MARK
from millrace.storage.array.machine import System
from millrace.storage.erase.eraser import Erased, Eraser, proved_blank
from millrace.storage.record import erasure
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from millrace.system.text import MIB
from tests.fakes.drives.erasable import ABLE, NONE, Abilities, ErasableDrive
from tests.fakes.files.trees import booted
from tests.unit.storage.drive.servers import drive as drive_called
from tests.unit.storage.drive.servers import examined

SIZE = 24 * MIB
NVME = "nvme0n1"


class Erasing:
    """A drive full of data, and what was reported of its erasure."""

    def __init__(self, root: Path, abilities: Abilities, transport: str = "nvme") -> None:
        booted(root).nvme(0, "S", size=SIZE)
        self.device = root / "dev" / NVME
        self.device.write_bytes(b"\xa5" * SIZE)
        self.tools = ErasableDrive(self.device, abilities)
        self.lines: list[str] = []
        self.at_begin: list[bool] = []
        self.drive = drive_called("S", name=NVME, size=SIZE, transport=transport)

    def erase(self, attached: str | None = "7", **clock: Any) -> Erased:
        return Eraser(cast(System, self.tools), self.drive, self.lines.append, **clock).erase(attached, self.begin)

    def begin(self) -> None:
        self.at_begin.append(self.device.read_bytes() == b"\xa5" * SIZE)

    def is_zero(self) -> bool:
        return not any(self.device.read_bytes())


@pytest.fixture
def erasing(root_user: Path) -> Callable[..., Erasing]:
    return lambda *given, **more: Erasing(root_user, *given, **more)


def test_drive_that_still_sanitizes_after_a_kill_says_so_and_is_erased_afterwards(
    erasing: Callable[..., Erasing],
) -> None:
    made = erasing(Abilities(busy=1))
    made.tools.status = 2
    with pytest.raises(Refused, match=r"drive S still erases itself \(50 % done\); when that has ended, run it again"):
        made.erase()
    # nothing was recorded, and nothing written
    assert made.at_begin == [] and not made.is_zero()
    assert made.erase().method == "sanitize-block"


def test_drive_without_sanitize_has_no_log_of_it(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities(controller=NONE))
    made.erase()
    assert made.tools.called("nvme sanitize-log") == []


def test_first_method_that_is_offered_erases(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities())
    done = made.erase()
    assert (done.method, "reported" in done.unproved, made.is_zero(), made.lines) == ("sanitize-block", True, True, [])
    # the record is written before the first byte
    assert made.at_begin == [True]
    assert made.tools.waited > 0
    progress = erasure.progress("S")
    assert progress is not None and (progress.done, progress.total) == (SIZE // 2, SIZE)


def test_what_fails_or_lies_is_reported_and_the_next_is_tried(erasing: Callable[..., Erasing]) -> None:
    abilities = Abilities(fails=frozenset(["sanitize-block"]), lies=frozenset(["sanitize-crypto"]))
    made = erasing(abilities)
    assert (made.erase().method, made.is_zero()) == ("format", True)
    assert made.lines == [
        "sanitize-block: NVMe status: INVALID_FIELD: a reserved coded value (0x2002)",
        "sanitize-crypto: the drive reported success and still returns old data",
    ]


def test_drive_whose_key_is_lost_has_blank_ends(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities({**ABLE, "sanicap": 0}, fails=frozenset(["format"])))
    assert made.erase().method == "format-crypto"
    data = made.device.read_bytes()
    assert not any(data[: 8 * MIB] + data[-8 * MIB :])
    assert any(data)


@pytest.mark.parametrize("transport", ["nvme", "sata"])
def test_drive_that_offers_nothing_is_overwritten(erasing: Callable[..., Erasing], transport: str) -> None:
    made = erasing(Abilities(NONE if transport == "nvme" else ABLE), transport=transport)
    done = made.erase(clock=iter(range(1000)).__next__)
    assert (done.method, "overprovisioning" in done.unproved, made.is_zero()) == ("overwrite", True, True)
    progress = erasure.progress("S")
    assert progress is not None
    assert (progress.what, progress.done, progress.total) == ("reading back", 2 * SIZE, 2 * SIZE)
    assert progress.bytes_per_second is not None and progress.bytes_per_second > 0


def test_drive_that_lies_every_time_is_overwritten(erasing: Callable[..., Erasing]) -> None:
    every = frozenset(["sanitize-block", "sanitize-crypto", "format", "format-crypto"])
    made = erasing(Abilities(lies=every))
    assert (made.erase().method, made.is_zero(), len(made.lines)) == ("overwrite", True, 4)


def test_sanitize_that_fails_or_cannot_be_followed_is_not_believed(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities())
    made.tools.broken = {"nvme sanitize-log": Result(0, "no JSON", "")}
    assert made.erase().method == "format"
    assert made.lines[0] == "sanitize-block: the drive reports the status None of its sanitize"


def test_another_drive_under_the_same_name_is_not_written(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities())
    for attached in ("6", None):
        with pytest.raises(Refused, match="removed or replaced meanwhile; nothing was written"):
            made.erase(attached)
    assert made.device.read_bytes() == b"\xa5" * SIZE
    assert made.at_begin == []


def test_tools_that_reread_the_drive_may_fail(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities(NONE))
    made.tools.broken = {"blockdev": Result(1, "", "blockdev: Device or resource busy\n")}
    assert made.erase().method == "overwrite"
    assert made.lines == ["blockdev: blockdev: Device or resource busy"]


def test_drive_carries_the_mark_while_it_erases_itself(erasing: Callable[..., Erasing]) -> None:
    made = erasing(Abilities(lies=frozenset(["format"])))
    made.tools.abilities.controller["sanicap"] = 0
    seen: list[bytes] = []
    made.tools.before = {"nvme format": lambda: seen.append(made.device.read_bytes()[: len(ERASE_MARK)])}
    made.erase()
    assert seen[0] == ERASE_MARK


def test_only_a_drive_that_the_inventory_calls_blank_is_erased(root_user: Path) -> None:
    proved_blank(examined("S", DriveState.BLANK))
    with pytest.raises(Failed, match="not blank \\(blkid: XFS file system\\); replace it"):
        proved_blank(examined("S", DriveState.FOREIGN, "XFS file system"))
    assert root_user == paths.ROOT
