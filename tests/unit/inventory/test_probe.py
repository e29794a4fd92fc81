# SPDX-License-Identifier: Apache-2.0
"""A drive is blank only if every probe succeeded and found nothing; else its content is named."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from millrace.inventory.collect import collect
from millrace.inventory.model import Drive, DriveState
from millrace.inventory.surface import surface
from millrace.system.run import Result, Runner, attempt
from tests.fakes.files.trees import booted, nothing_found
from tests.unit.inventory import images

# What util-linux 2.42 and mdadm 4.6 said about the images of images.py.
RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def replay(kind: str) -> Runner:
    def run(argv: Sequence[str]) -> Result:
        nothing = nothing_found(argv)
        if argv[0] not in RECORDED[kind]:
            return nothing
        said = RECORDED[kind][argv[0]]
        return Result(said["status"], *(said[key].replace("{device}", argv[-1]) for key in ("out", "err")))

    return run


def replaced(tool: str, result: Result) -> Runner:
    def run(argv: Sequence[str]) -> Result:
        nothing = nothing_found(argv)
        return result if argv[0] == tool else nothing

    return run


def drive_with(root: Path, content: Callable[[Path], Path], run: Runner) -> Drive:
    tree = booted(root)
    content(root / "dev" / tree.nvme(0, "SN0"))
    return collect(root, run).drives[0]


def findings(drive: Drive) -> str:
    return "; ".join(item.finding for item in drive.evidence)


def test_a_drive_of_zeros_is_blank(tmp_path: Path) -> None:
    assert drive_with(tmp_path, images.blank, replay("blank")).state is DriveState.BLANK


@pytest.mark.parametrize("kind", images.FOREIGN)
def test_each_kind_of_content_is_named(tmp_path: Path, kind: str) -> None:
    content, words = images.FOREIGN[kind]
    drive = drive_with(tmp_path, content, replay(kind))
    assert drive.state is DriveState.FOREIGN
    assert words in findings(drive)


@pytest.mark.parametrize("kind", images.FOREIGN)
def test_each_kind_is_named_from_its_bytes_alone(tmp_path: Path, kind: str) -> None:
    """Tools that find nothing do not make a drive blank: forky's blkid does not know half a ZFS label."""
    content, words = images.FOREIGN[kind]
    drive = drive_with(tmp_path, content, nothing_found)
    assert drive.state is DriveState.FOREIGN
    assert words.split()[0] in findings(drive)


@pytest.mark.skipif(not (shutil.which("blkid") and shutil.which("wipefs")), reason="needs util-linux")
@pytest.mark.parametrize("kind", images.FOREIGN)
def test_the_tools_of_this_machine_agree(tmp_path: Path, kind: str) -> None:
    content, words = images.FOREIGN[kind]

    def run(argv: Sequence[str]) -> Result:
        return nothing_found(argv) if argv[0] == "mdadm" else attempt(argv)

    drive = drive_with(tmp_path, content, run)
    assert drive.state is DriveState.FOREIGN
    assert words.split()[0] in findings(drive)


@pytest.mark.parametrize("tool", ["blkid", "wipefs", "mdadm"])
@pytest.mark.parametrize(
    "answer",
    [
        Result(127, "", "it is not installed"),
        Result(124, "", "it did not finish in 60 s"),
        Result(4, "", "usage"),
        Result(-9, "", ""),
        Result(1, "", "mdadm: cannot open /dev/nvme0n1: Device or resource busy"),
    ],
    ids=["missing", "hung", "usage", "killed", "busy"],
)
def test_a_probe_that_failed_makes_the_drive_unknown(tmp_path: Path, tool: str, answer: Result) -> None:
    drive = drive_with(tmp_path, images.blank, replaced(tool, answer))
    assert drive.state is DriveState.UNKNOWN
    assert drive.evidence[0].probe == tool


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("blkid", Result(2, "", "blkid: error: /dev/nvme0n1: Input/output error")),
        ("wipefs", Result(0, "", "")),
        ("wipefs", Result(0, '{"signatures": [{"type": "xfs"}]}', "")),
        ("wipefs", Result(0, '{"signatures": []}', "wipefs: error: /dev/nvme0n1: read failed")),
        ("wipefs", Result(0, "[" * 3000, "")),
        ("mdadm", Result(1, "", "")),
    ],
)
def test_an_answer_that_is_not_understood_proves_nothing(tmp_path: Path, tool: str, answer: Result) -> None:
    assert drive_with(tmp_path, images.blank, replaced(tool, answer)).state is DriveState.UNKNOWN


def test_contradicting_signatures_are_not_blank(tmp_path: Path) -> None:
    ambivalent = Result(8, "", "blkid: /dev/nvme0n1: ambivalent result (probably more filesystems on the device)")
    drive = drive_with(tmp_path, images.blank, replaced("blkid", ambivalent))
    assert drive.state is DriveState.FOREIGN
    assert "contradicting" in findings(drive)


def test_unknown_outranks_what_was_found(tmp_path: Path) -> None:
    drive = drive_with(tmp_path, images.ext4, replaced("mdadm", Result(124, "", "mdadm did not finish in 60 s")))
    assert drive.state is DriveState.UNKNOWN
    assert "mdadm did not finish in 60 s" in findings(drive)
    assert "ext" in findings(drive)


@pytest.mark.parametrize("offset", [700_000, images.SIZE - 1, images.SIZE - 8 * images.MIB])
def test_single_unknown_byte_is_reported_with_its_offset(tmp_path: Path, offset: int) -> None:
    drive = drive_with(tmp_path, lambda path: images.make(path, (offset, b"\x01")), nothing_found)
    assert drive.state is DriveState.FOREIGN
    assert findings(drive) == f"data at byte {offset}"


def test_a_drive_that_ends_early_is_unknown(tmp_path: Path) -> None:
    drive = drive_with(tmp_path, lambda path: images.make(path, size=images.SIZE - 512), nothing_found)
    assert drive.state is DriveState.UNKNOWN
    assert "ends at byte" in findings(drive)


def test_a_drive_without_capacity_is_unknown(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "S", size=0)
    assert collect(tmp_path, nothing_found).drives[0].state is DriveState.UNKNOWN


def test_a_drive_that_cannot_be_opened_or_read_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert surface(tmp_path / "missing", 512)[0].state is DriveState.UNKNOWN

    def broken(descriptor: int, length: int, offset: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    finding = surface(images.blank(tmp_path / "drive"), images.SIZE)[0]
    assert (finding.state, finding.evidence.finding) == (DriveState.UNKNOWN, "cannot be read: Input/output error")


def test_partitions_and_what_is_in_them_are_named(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "S")
    tree.partition("nvme0n1", 1, "family")

    def run(argv: Sequence[str]) -> Result:
        if argv[0] == "blkid" and argv[-1].endswith("p1"):
            return replay("bare XFS")(argv)
        return nothing_found(argv)

    drive = collect(tmp_path, run).drives[0]
    assert drive.state is DriveState.FOREIGN
    assert "1 partition;" in findings(drive)
    assert "partition 1 'family': XFS file system (label scratch" in findings(drive)


def test_a_drive_that_the_kernel_uses_is_not_blank(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "S")
    tree.over("dm-7", "nvme0n1")
    drive = collect(tmp_path, nothing_found).drives[0]
    assert drive.state is DriveState.FOREIGN
    assert "nvme0n1 is in use by dm-7" in findings(drive)


def test_a_pool_member_is_ours_and_a_drive_with_more_on_it_is_foreign(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "MEMBER")
    tree.partition("nvme0n1", 1, "millrace-log-01")
    tree.nvme(1, "MIXED")
    tree.partition("nvme1n1", 1, "millrace-data-03")
    tree.partition("nvme1n1", 2, "photos")
    tree.nvme(2, "OLDBOOT")
    tree.partition("nvme2n1", 1, "millrace-root")
    ours, mixed, boot, _ = collect(tmp_path, nothing_found).drives
    assert (ours.state, findings(ours)) == (DriveState.OURS, "Millrace partition millrace-log-01")
    assert mixed.state is boot.state is DriveState.FOREIGN


def test_a_pool_member_names_its_array_as_udev_has_read_it(tmp_path: Path) -> None:
    """No tool is run on a member: it may be in use, and one that hangs must not hold up the others."""
    tree = booted(tmp_path)
    tree.nvme(0, "MEMBER")
    name = tree.partition("nvme0n1", 1, "millrace-data-01")
    number = (tmp_path / "sys/block/nvme0n1" / name / "dev").read_text().strip()
    uuid = "5d1b2f3c-7a66-4c0e-9a53-0b6f1c2d3e4f"
    label = "E:ID_FS_LABEL=millrace:millrace-data"
    tree.write(
        tmp_path / f"run/udev/data/b{number}", f"S:x\nE:ID_FS_TYPE=linux_raid_member\nE:ID_FS_UUID={uuid}\n{label}\n"
    )
    ours = collect(tmp_path, nothing_found).drives[0]
    assert ours.state is DriveState.OURS
    assert ours.evidence[-1].finding == f"md superblock, array millrace:millrace-data, UUID {uuid}"


def test_mdadm_names_the_array_of_a_whole_drive_by_its_uuid(tmp_path: Path) -> None:
    drive = drive_with(tmp_path, images.md_1_2, replay("md 1.2"))
    assert "array oldhost:backup, UUID 5d1b2f3c:7a664c0e:9a530b6f:1c2d3e4f" in findings(drive)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    node = images.gpt(tmp_path / "dev" / tree.nvme(0, "S"))
    before = (node.read_bytes(), node.stat().st_mtime_ns)
    collect(tmp_path, replay("GPT"))
    assert (node.read_bytes(), node.stat().st_mtime_ns) == before
