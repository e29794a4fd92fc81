# SPDX-License-Identifier: Apache-2.0
"""Members are read through snapshots, which are removed at the end and after a kill."""

from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.snapshots import snapshots
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.commands import Commands


class Mapper(Commands):
    """The device mapper, loop devices and mounts."""

    TAKEN: ClassVar = (
        "modprobe --all loop dm_snapshot",
        "mount -t tmpfs -o size=25%,mode=0700 millrace-find *",
        "mountpoint --quiet *",
        "umount *",
        "blockdev --getsz /dev/*",
        "losetup --find --show *",
        "losetup --detach /dev/loop*",
        "losetup --list --noheadings --raw --output NAME,BACK-FILE",
        "dmsetup create millrace-find-* --noudevrules --noudevsync --table *",
        "dmsetup info --columns --noheadings -o minor *",
        "dmsetup info --columns --noheadings -o name",
        "dmsetup remove --retry --noudevsync millrace-find-*",
        "mdadm --stop /dev/md*",
    )

    def __init__(self) -> None:
        super().__init__()
        self.loops: dict[str, str] = {}
        self.mapped: dict[str, str] = {"vg-home": "0 1 linear"}
        self.mounted = False

    def attempt(self, argv: list[str], stdin: str | None = None) -> Result:
        return self(argv, stdin)

    def _mount(self, words: list[str], _: str) -> Result:
        self.mounted = True
        return Result(0, "", "")

    def _mountpoint(self, words: list[str], _: str) -> Result:
        return Result(0 if self.mounted else 32, "", "")

    def _umount(self, words: list[str], _: str) -> Result:
        assert not self.loops, "a file in memory is in use"
        self.mounted = False
        return Result(0, "", "")

    def _blockdev(self, words: list[str], _: str) -> Result:
        return Result(0, "8192\n", "")

    def _losetup(self, words: list[str], _: str) -> Result:
        if "--detach" in words:
            assert len(self.mapped) == 1, "a snapshot uses it"
            del self.loops[words[-1]]
        elif "--list" in words:
            return Result(0, "".join(f"{loop} {file}\n" for loop, file in self.loops.items()), "")
        else:
            self.loops[f"/dev/loop{len(self.loops)}"] = words[-1]
            return Result(0, f"/dev/loop{len(self.loops) - 1}\n", "")
        return Result(0, "", "")

    def _dmsetup(self, words: list[str], _: str) -> Result:
        match words[0]:
            case "create":
                self.mapped[words[1]] = words[-1]
            case "remove":
                del self.mapped[words[-1]]
            case _ if "minor" in words:
                return Result(0, f" {list(self.mapped).index(words[-1])}\n", "")
            case _:
                return Result(0, "\n".join(self.mapped), "")
        return Result(0, "", "")


@pytest.fixture
def mapper(root: Path) -> Mapper:
    return Mapper()


def test_changes_of_each_member_go_to_a_file_in_memory(mapper: Mapper) -> None:
    with snapshots(mapper, ["nvme0n1p1", "nvme1n1p1"]) as devices:
        assert devices == {"nvme0n1p1": "dm-1", "nvme1n1p1": "dm-2"}
        assert mapper.mapped["millrace-find-nvme1n1p1"] == "0 8192 snapshot /dev/nvme1n1p1 /dev/loop1 N 8"
        file = Path(mapper.loops["/dev/loop1"])
        assert (file.parent, file.stat().st_size) == (adopt_paths.find_dir(), 256 << 20)
    assert (list(mapper.mapped), mapper.loops, mapper.mounted) == (["vg-home"], {}, False)


def test_what_a_kill_left_is_removed_with_its_arrays(mapper: Mapper, root: Path) -> None:
    adopt_paths.find_dir().mkdir(parents=True)
    mapper.mounted = True
    mapper.loops = {"/dev/loop0": f"{adopt_paths.find_dir()}/nvme0n1p1"}
    mapper.mapped["millrace-find-nvme0n1p1"] = "0 8192 snapshot"
    for device, holder in (("dm-1", "md127"), ("md127", "md126")):
        (root / "sys/block" / device / "holders" / holder).mkdir(parents=True)
    for array in ("md126", "md127"):
        (root / "sys/block" / array / "md").mkdir(parents=True)
    with snapshots(mapper, []) as devices:
        assert devices == {}
        stopped = [call[-1] for call in mapper.calls if call[:2] == ["mdadm", "--stop"]]
        assert stopped == ["/dev/md126", "/dev/md127"]
        assert (list(mapper.mapped), mapper.loops) == (["vg-home"], {})


def test_member_that_is_in_use_leaves_nothing_behind(mapper: Mapper) -> None:
    busy = Result(1, "", "device-mapper: reload ioctl failed: Device or resource busy")
    mapper.broken["dmsetup create millrace-find-nvme1n1p1"] = busy
    with (
        pytest.raises(Failed, match=r"nvme1n1p1 cannot be read beside what uses it: .* busy"),
        snapshots(mapper, ["nvme0n1p1", "nvme1n1p1"]),
    ):
        pass
    assert (list(mapper.mapped), mapper.loops, mapper.mounted) == (["vg-home"], {}, False)
