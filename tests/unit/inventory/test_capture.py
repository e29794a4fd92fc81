# SPDX-License-Identifier: Apache-2.0
"""A capture has the inventory of its server and does not identify the owner."""

import json
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.program import run
from millrace.inventory.anonymise import Anonymiser
from millrace.inventory.capture import capture
from millrace.inventory.model import DriveState, Inventory
from millrace.inventory.replay import Replay, inventory_of
from millrace.inventory.verbs import inventory as verb
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result, attempt, must
from tests.fakes.files.trees import Tree, booted, nothing_found
from tests.unit.inventory import hardware, images

pytestmark = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")
IDENTITY = {"serial", "wwid", "eui64", "nguid", "evidence"}
MAC = "0015b3a1c2d4"
MODULES_DEP = """kernel/fs/xfs/xfs.ko.xz:
updates/millrace/fs/nfsd/nfsd.ko.xz: kernel/x/secret.ko.xz
kernel/x/secret.ko.xz:
"""


def answers(argv: Sequence[str]) -> Result:
    """Tools as root; one drive belonged to a host with a name."""
    healthy = hardware.answers(argv)
    if argv[0] == "mdadm" and argv[-1].endswith("nvme1n1"):
        return Result(0, "          Version : 1.2\n             Name : goldfish:7  (local to host goldfish)\n", "")
    if argv[0] == "blkid" and argv[-1].endswith("nvme1n1"):
        return Result(0, "LABEL=Payroll\nUUID=0e7b47c2-9f3f-4e0e-8f3a-0c9a4c3c8a55\nTYPE=xfs\n", "")
    if argv[0] == "wipefs" and argv[-1].endswith("nvme10n1"):
        return Result(1, "", "wipefs: S64HNE0T500010 at 10.20.30.40 (fe80::215:b3ff:fea1:c2d4) on goldfish is broken")
    return healthy


def server(root: Path) -> Tree:
    """Four NVMe drives, one of them foreign, a SATA disk, two ports."""
    tree = booted(root)
    tree.write("etc/machine-id", "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b\n")
    tree.write("proc/sys/kernel/hostname", "goldfish\n")
    tree.cpus(("0-1", ["0", "1"]), ("2-3", ["2", "3"]))
    for number in (0, 1, 10):
        tree.nvme(number, f"S64HNE0T5000{number:02}", wwid=f"eui.36344830545000{number:02}0025384300000001")
    images.xfs(root / "dev/nvme1n1")
    hardware.behind_switch(tree, 3, "PHLJ912300AB1P0F")
    tree.scsi("sda", "S3Z8NB0K123456X", "ata3", removable=False)
    (tree.nic(f"enx{MAC}", speed="100000", carrier="1", address="00:15:b3:a1:c2:d4") / "infiniband/mlx5_0").mkdir(
        parents=True
    )
    (root / "sys/class/infiniband").mkdir()
    (root / "sys/class/infiniband/mlx5_0").symlink_to(
        "../../devices/pci0000:80/0000:80:01.0/0000:81:00.0/infiniband/mlx5_0"
    )
    hardware.pci_slot(tree, "12", "0000:02:00")
    hardware.dimm(tree, 0, 65536, 5600)
    tree.write("sys/devices/virtual/dmi/id/product_serial", "CZ3042XYZ9\n")
    tree.write("usr/lib/modules/7.2.12+deb14-amd64/modules.dep", MODULES_DEP)
    tree.mount("0:55", "/home/alice", "nfs4", "filer.corp.example:/home")
    tree.mount(tree.number_of(tree.partition("sda", 1, "Alice backup")), "/media/alice", "ext4", "/dev/sda1")
    return tree


def seen(inventory: Inventory, keep: bool = False) -> dict[str, object]:
    """An inventory without what a capture hides."""
    document = json.loads(inventory.model_dump_json())
    for drive in document["drives"]:
        for key in IDENTITY if not keep else {"evidence"}:
            del drive[key]
    for nic in document["nics"]:
        nic["name"] = "enx" if nic["name"].startswith("enx") else nic["name"]
    assert isinstance(document, dict)
    return document


def unpacked(file: Path, directory: Path) -> Path:
    """What a person does who wants to look inside."""
    must(attempt, ["zstd", "-q", "-d", str(file), "-o", str(directory) + ".tar"])
    with tarfile.open(str(directory) + ".tar") as archive:
        for member in archive:
            target = directory / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
            elif member.isdir():
                target.mkdir(exist_ok=True)
            else:
                content = archive.extractfile(member)
                assert content is not None
                target.write_bytes(content.read())
    return directory


@pytest.fixture
def captured(tmp_path: Path) -> tuple[Inventory, Path]:
    root = tmp_path / "server"
    server(root)
    file = tmp_path / "server.tar.zst"
    return capture(file, sysroot=root, run=answers), file


def test_capture_has_the_inventory_of_the_server(captured: tuple[Inventory, Path]) -> None:
    real, file = captured
    assert len(real.drives) == 6
    assert {drive.state for drive in real.drives} == {
        DriveState.BLANK, DriveState.FOREIGN, DriveState.UNKNOWN, DriveState.BOOT,
    }  # fmt: skip
    assert seen(inventory_of(file)) == seen(real)


def test_the_directory_it_unpacks_to_is_as_good(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    real, file = captured
    assert seen(inventory_of(unpacked(file, tmp_path / "unpacked"))) == seen(real)


def test_drives_keep_their_own_pseudonym_of_the_same_shape(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    real, file = captured
    copy = inventory_of(file)
    for drive, pseudonym in zip(real.drives, copy.drives, strict=True):
        assert len(pseudonym.serial) == len(drive.serial)
        assert len(pseudonym.wwid) == len(drive.wwid)
        assert not drive.serial or pseudonym.serial != drive.serial
    assert len({drive.serial for drive in copy.drives}) == len({drive.serial for drive in real.drives})
    again = tmp_path / "again.tar.zst"
    capture(again, sysroot=tmp_path / "server", run=answers)
    assert [drive.serial for drive in inventory_of(again).drives] == [drive.serial for drive in copy.drives]


def test_nothing_in_it_says_whose_server_it_is(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    everything = b"".join(
        str(path.relative_to(directory)).encode() + (b"" if path.is_symlink() or path.is_dir() else path.read_bytes())
        for path in directory.rglob("*")
    ).lower()
    for secret in (
        "goldfish", "payroll", "alice", "corp.example", MAC, "00:15:b3", "10.20.30.40", "fe80::", "cz3042xyz9",
        "s64hne0t5000", "phlj9123", "s3z8nb", "0025384300", "25385b71", "0e7b47c2", "secret42", "8d1f4c7a", "secret.ko",
    ):  # fmt: skip
        assert secret.encode() not in everything, secret


def test_serial_numbers_stay_where_the_owner_says_so(tmp_path: Path) -> None:
    root, file = tmp_path / "server", tmp_path / "server.tar.zst"
    server(root)
    real = capture(file, keep_serials=True, sysroot=root, run=answers)
    assert seen(inventory_of(file), keep=True) == seen(real, keep=True)


def test_equal_serial_numbers_stay_equal_and_different_ones_different(tmp_path: Path) -> None:
    root, file = tmp_path / "server", tmp_path / "server.tar.zst"
    tree = booted(root)
    for number, serial in enumerate(["TWIN", "TWIN", "A", "B", "C", "D"]):
        tree.nvme(number, serial, wwid=f"eui.{number}")
    capture(file, sysroot=root, run=nothing_found)
    assert [drive.state for drive in inventory_of(file).drives[:6]] == [*["unknown"] * 2, *["blank"] * 4]


def test_a_drive_whose_answers_are_missing_is_unknown(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    replay = Replay(directory)
    replay._answers.clear()
    assert {drive.state for drive in replay.collect().drives} == {DriveState.UNKNOWN, DriveState.BOOT}


@pytest.mark.parametrize("size", [0, 1, 200, -1])
def test_a_truncated_capture_is_named(captured: tuple[Inventory, Path], size: int) -> None:
    file = captured[1]
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(BadInput, match=r"server\.tar\.zst: .* (is|probably) incomplete"):
        inventory_of(file)


def test_a_file_that_was_lost_or_changed_is_named(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    (directory / "proc/meminfo").write_text("MemTotal: 1 kB\n")
    with pytest.raises(BadInput, match=r"unpacked: proc/meminfo is not as it was captured"):
        inventory_of(directory)
    (directory / "proc/meminfo").unlink()
    with pytest.raises(BadInput, match=r"unpacked: proc/meminfo is missing: the capture is incomplete"):
        inventory_of(directory)
    (directory / "capture.json").unlink()
    with pytest.raises(BadInput, match=r"unpacked/capture\.json is missing"):
        inventory_of(directory)


def test_a_capture_of_a_newer_release_is_refused_by_its_key(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    manifest = json.loads((directory / "capture.json").read_text())
    (directory / "capture.json").write_text(json.dumps({**manifest, "schema_version": 2, "news": 1}))
    with pytest.raises(BadInput, match=r"capture\.json: schema_version: "):
        inventory_of(directory)


def test_no_file_is_overwritten(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    with pytest.raises(Refused, match="already exists"):
        capture(captured[1], sysroot=tmp_path / "server", run=answers)


def test_a_place_that_cannot_be_written_is_one_sentence_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def look(*_: object) -> None:
        raise AssertionError("the server is looked at before it is known where the capture goes")

    monkeypatch.setattr("millrace.inventory.capture.collect", look)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    for file, sentence in (
        (tmp_path / "none/x.tar.zst", f"cannot be made: {tmp_path}/none does not exist; create it first"),
        (tmp_path / "file/x.tar.zst", "cannot be written: Not a directory"),
        (tmp_path / "dangling", "already exists"),
        (tmp_path, "already exists"),
        (Path("/proc/x.tar.zst"), "cannot be "),
    ):
        assert run(["inventory", "--capture", str(file)]) == 1
        said = capsys.readouterr().err
        assert sentence in said and len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]


def test_a_disk_that_is_full_leaves_nothing(
    captured: tuple[Inventory, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise Failed("zstd: No space left on device")

    monkeypatch.setattr("millrace.system.archive.must", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Failed, match="No space left"):
        capture(tmp_path / "new.tar.zst", sysroot=tmp_path / "server", run=answers)
    assert sorted(tmp_path.iterdir()) == before


def test_the_command_line_reads_a_capture(captured: tuple[Inventory, Path]) -> None:
    done = CliRunner().invoke(verb, ["--sysroot", str(captured[1]), "--json"])
    assert seen(Inventory.model_validate_json(done.output)) == seen(captured[0])


@pytest.mark.parametrize("more", [["--write"], ["--capture", "x"], ["--wait"]])
def test_a_capture_never_becomes_what_this_server_is(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inventory", "--sysroot", "here", *more]) == 2
    assert "another server" in capsys.readouterr().err


def test_a_capture_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["inventory", "--sysroot", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"millrace: {tmp_path / 'none'} is missing\n"


@pytest.mark.parametrize(
    "kept", ["0000:81:00.0", "nvme10n1", "firmware 7.2.12", "32.0 GT/s PCIe", "0-3,8", "/dev/nvme0n1", "16:20:01"]
)
def test_public_values_stay_readable(kept: str) -> None:
    assert Anonymiser(b"key").text(kept) == kept
