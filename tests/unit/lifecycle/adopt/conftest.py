# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.storage.record.model import MemberRecord
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.drives import superblocks


@dataclass
class Held:
    """The superblock of a member: of which array, by name and UUID, and in which state."""

    array: str
    uuid: str
    level: str
    slots: int
    slot: int | None
    events: int = 10
    states: str = ""
    clean: bool = True


class Drives(Commands):
    """Drives with members of arrays on them, in a server without a pool."""

    TAKEN: ClassVar = ("mdadm --examine [--export] /dev/*",)

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Held] = {}

    def put(self, name: str, held: Held) -> None:
        """Put a drive in."""
        self.held[name] = held

    def array(self, name: str, uuid: str, level: str, drives: list[str], slots: int = 0) -> None:
        """Put in drives that are all members of one array."""
        for slot, drive in enumerate(drives):
            self.put(drive, Held(name, uuid, level, slots or len(drives), slot))

    def attempt(self, argv: list[str], stdin: str | None = None) -> Result:
        return self(argv, stdin)

    def md_superblocks(self) -> dict[str, str]:
        return {name: held.uuid for name, held in self.held.items()}

    def pool_partitions(self) -> dict[str, str]:
        """None holds a file system: members of arrays do not."""
        return dict.fromkeys(self.held, "linux_raid_member")

    def partition_size(self, name: str) -> int:
        raise NotImplementedError

    def identity(self, name: str) -> MemberRecord:
        return MemberRecord(serial=name.upper(), wwid=f"eui.{name}", partuuid=name, label="millrace-data-00")

    def _mdadm(self, words: list[str], _: str) -> Result:
        held = self.held[words[-1].removeprefix("/dev/")]
        if "--export" in words:
            shown = {
                "MD_LEVEL": held.level,
                "MD_DEVICES": held.slots,
                "MD_NAME": f"millrace:millrace-{held.array}",
                "MD_UUID": held.uuid,
            }
            return Result(0, "".join(f"{key}={value}\n" for key, value in shown.items()), "")
        content = {
            "UUID": held.uuid,
            "level": held.level,
            "clean": "1" if held.clean else "0",
            "role": "spare" if held.slot is None else str(held.slot),
            "events": str(held.events),
            "states": held.states or "A" * held.slots,
        }
        shape = "" if held.level == "raid1" else "     Chunk Size : 128K\n"
        shape += "" if held.level == "raid0" else "Internal Bitmap : 8 sectors from superblock\n"
        return Result(0, superblocks.examined(words[-1], content) + shape, "")


@pytest.fixture
def drives() -> Drives:
    return Drives()


@pytest.fixture
def root(root_user: Path) -> Path:
    """The root directory of a server without a pool."""
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    return root_user
