# SPDX-License-Identifier: Apache-2.0
"""Seven drives that are not blank, each in another way: nothing is planned and not a byte is written."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.inventory import images
from tests.vm.box import Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.machine import Machine
from vm.server import Server

MIB = 1 << 20

# what is on it: (what makes it, words that the refusal must say)
KINDS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "gpt": (images.gpt, "GPT"),
    "ext4": (images.ext4, "ext4"),
    "xfs": (images.xfs, "XFS"),
    "md-1.2": (images.md_1_2, "1.2"),
    "md-0.90": (images.md_0_90, "0.90"),
    "lvm": (images.lvm, "LVM"),
    "zfs": (images.zfs_at_end, "ZFS"),
    "luks": (images.luks, "LUKS"),
}


def occupy(path: Path, size: int, make: Callable[[Path], Path]) -> None:
    """Write what `make` makes to a drive of `size` bytes: its first half at the start, its last at the end."""
    sample = make(path.with_suffix(".sample"))
    data = sample.read_bytes()
    sample.unlink()
    half = len(data) // 2
    with path.open("wb") as drive:
        drive.truncate(size)
        for start, part in ((0, data[:half]), (size - half, data[half:])):
            for offset in range(0, half, MIB):
                chunk = part[offset : offset + MIB]
                if chunk.strip(b"\0"):
                    drive.seek(start + offset)
                    drive.write(chunk)


def checksums(machine: Machine, server: Server) -> dict[str, str]:
    found = {}
    for drive in server.drives:
        with machine.files.drive(drive.serial).open("rb") as file:
            found[drive.serial] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


@pytest.fixture(scope="module")
def server() -> Server:
    # 512-byte sectors: a GPT is looked for in the second sector
    plain = server_named("1u12")
    return dataclasses.replace(plain, drives=[dataclasses.replace(drive, block=512) for drive in plain.drives])


@pytest.fixture(scope="module")
def occupied(server: Server) -> dict[str, str]:
    """Which serial has which kind of content."""
    return {drive.serial: kind for drive, kind in zip(server.drives, KINDS, strict=False)}


@pytest.fixture(scope="module")
def machine(
    server: Server,
    occupied: dict[str, str],
    image: Path,
    accelerator: Accel,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Machine]:
    given = credentials(millrace__provision=b"auto")
    with appliance(server, image, tmp_path_factory.mktemp("occupied"), accelerator, credentials=given) as machine:
        for drive in server.drives:
            if drive.serial in occupied:
                occupy(machine.files.drive(drive.serial), drive.size, KINDS[occupied[drive.serial]][0])
        yield machine


@pytest.fixture(scope="module")
def box(machine: Machine) -> Box:
    machine.start()
    box = Box(machine)
    box.wait_booted()
    return box


@pytest.fixture(scope="module")
def before(machine: Machine, server: Server) -> dict[str, str]:
    for drive in server.drives:
        path = machine.files.drive(drive.serial)
        if not path.exists():
            with path.open("wb") as file:
                file.truncate(drive.size)
    return checksums(machine, server)


def test_every_occupied_drive_is_named_with_what_is_on_it(
    before: dict[str, str], box: Box, occupied: dict[str, str]
) -> None:
    proposal = box.read_json("cat /run/millrace/plan.json")["proposal"]
    assert proposal["verdict"] == "refused"
    said = {obstacle["serial"]: obstacle["what"] for obstacle in proposal["obstacles"]}
    for serial, kind in occupied.items():
        assert KINDS[kind][1] in said[serial], f"{kind}: {said[serial]}"
    assert set(said) == set(occupied)


def test_console_and_journal_say_so(box: Box, occupied: dict[str, str]) -> None:
    journal = box.say("journalctl -b -u millrace-plan --no-pager")
    for serial in occupied:
        assert serial in journal
        assert serial in box.machine.console


def test_provisioning_refuses(box: Box) -> None:
    refused = box.machine.run("millrace provision", check=False)
    assert refused.status == 1
    assert len(refused.err.strip().splitlines()) == 1
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1


def test_the_box_is_up_without_a_pool(box: Box) -> None:
    assert box.failed_units() == []
    assert box.say("systemctl is-active cockpit.socket") == "active"
    for service in ("nfs-server", "smbd"):
        assert box.machine.run(f"systemctl is-active {service}", check=False).out.strip() == "inactive"


def test_not_one_byte_was_written(box: Box, machine: Machine, server: Server, before: dict[str, str]) -> None:
    machine.shutdown()
    assert checksums(machine, server) == before
