# SPDX-License-Identifier: Apache-2.0
"""Formats, caches, wear, slots, switches, firmware and memory as the server reports them, else None."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.inventory import nvme
from millrace.inventory.collect import collect
from millrace.inventory.model import Dimm, Drive, Inventory, LbaFormat, PcieLink
from millrace.inventory.present import present
from millrace.system import paths
from millrace.system.run import Result, Runner
from tests.fakes.files.trees import booted, nothing_found
from tests.unit.inventory import hardware


def drive(inventory: Inventory, name: str) -> Drive:
    return next(drive for drive in inventory.drives if drive.name == name)


def test_root_learns_formats_wear_and_what_discarded_blocks_read_as(tmp_path: Path) -> None:
    name = booted(tmp_path).nvme(0, "S")
    found = drive(collect(tmp_path, hardware.answers), name)
    assert found.lba_formats == [
        LbaFormat(block=512, metadata=0, performance=2, in_use=True),
        LbaFormat(block=4096, metadata=0, performance=0, in_use=False),
    ]
    assert (found.dlfeat, found.temperature, found.wear, found.critical_warning) == (9, 45, 7, 0)
    assert (found.eui64, found.nguid, found.volatile_write_cache) == ("0025385b71b0c1d2", None, True)


@pytest.mark.parametrize(
    "answer",
    [
        hardware.denied,
        nothing_found,
        lambda argv: Result(0, "[1]", ""),
        lambda argv: Result(0, "[" * 3000, ""),
        lambda argv: Result(127, "", ""),
    ],
)
def test_unknown_values_are_none(tmp_path: Path, answer: Runner) -> None:
    name = booted(tmp_path).nvme(0, "S")
    found = drive(collect(tmp_path, answer), name)
    assert found.lba_formats == []
    for field in ("eui64", "nguid", "dlfeat", "volatile_write_cache", "temperature", "wear", "critical_warning"):
        assert getattr(found, field) is None, field
    assert (found.slot, found.bay, found.switch) == (None, None, None)


@pytest.mark.parametrize("shift", [-1, 0, 8, 64, 99_999_999_999])
def test_sector_that_no_drive_can_have_is_no_format(tmp_path: Path, shift: int) -> None:
    name = booted(tmp_path).nvme(0, "S")
    said = {"flbas": 1, "lbafs": [{"ds": shift, "ms": 0, "rp": 0}, {"ds": 12, "ms": -8, "rp": 0}]}

    def run(argv: Sequence[str]) -> Result:
        return Result(0, json.dumps(said), "") if argv[:2] == ["nvme", "id-ns"] else nothing_found(argv)

    formats = drive(collect(tmp_path, run), name).lba_formats
    assert [(found.block, found.in_use) for found in formats] == [(4096, True)]


@pytest.mark.parametrize("said", ["9" * 4400, "²", 1 << 128, -(1 << 128)])
def test_counter_that_no_log_can_have_is_unknown(said: object) -> None:
    assert nvme.integer(said) is None
    assert nvme.integer(str((1 << 128) - 1)) == (1 << 128) - 1


def test_sysfs_answers_who_is_not_root(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    name = tree.nvme(0, "S")
    disk = (tmp_path / "sys/block" / name).resolve()
    tree.write(disk / "eui", "00 25 38 5b 71 b0 c1 d2\n")
    tree.write(disk / "nguid", "e8238fa6-bf53-0001-001b-448b4a9d0f5e\n")
    tree.write(disk / "queue/write_cache", "write through\n")
    tree.write(disk.parent / "hwmon3/temp1_input", "41850\n")
    nvme_drive = drive(collect(tmp_path, hardware.denied), name)
    assert (nvme_drive.eui64, nvme_drive.nguid) == ("0025385b71b0c1d2", "e8238fa6bf530001001b448b4a9d0f5e")
    assert (nvme_drive.volatile_write_cache, nvme_drive.temperature) == (False, 42)


def test_present_asks_no_drive_not_even_for_its_temperature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = booted(tmp_path)
    name = tree.nvme(0, "S")
    tree.write((tmp_path / "sys/block" / name).resolve().parent / "hwmon3/temp1_input", "41850\n")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    # sysfs would have it: the kernel sends a command to the drive
    assert {one.serial: one.temperature for one in present()}["S"] is None


@pytest.mark.parametrize("said", [{"critical_warning": {"value": 2}, "temperature": 350}, {"Critical_Warning": 2}])
def test_other_releases_of_the_tool_are_understood(tmp_path: Path, said: dict[str, object]) -> None:
    name = booted(tmp_path).nvme(0, "S")

    def run(argv: Sequence[str]) -> Result:
        return Result(0, json.dumps(said), "") if argv[:2] == ["nvme", "smart-log"] else nothing_found(argv)

    assert drive(collect(tmp_path, run), name).critical_warning == 2


def test_a_drive_that_answers_probes_with_errors_still_has_a_place(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    name = tree.nvme(0, "SICK")
    hardware.pci_slot(tree, "7", "0000:01:00")
    found = drive(collect(tmp_path, lambda argv: Result(5, "", "Input/output error")), name)
    assert (found.state, found.slot, found.serial) == ("unknown", "7", "SICK")
    assert found.wear is None


def test_the_bay_of_an_enclosure(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.scsi("sda", "S3Z8NB", "ata3", removable=False)
    bay = tmp_path / "sys/class/enclosure/0:0:8:0/Slot 05"
    tree.write(bay / "slot", "5\n")
    (bay / "device").symlink_to("../../../../block/sda/device")
    assert drive(collect(tmp_path, nothing_found), "sda").bay == "Slot 05"


def test_drives_behind_a_switch_share_its_link(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    names = [hardware.behind_switch(tree, number, f"S{number}") for number in range(2)]
    tree.nvme(2, "DIRECT")
    inventory = collect(tmp_path, nothing_found)
    assert {drive(inventory, name).switch for name in names} == {"0000:41:00.0"}
    assert drive(inventory, "nvme2n1").switch is None
    [switch] = inventory.switches
    assert switch.address == "0000:41:00.0"
    assert switch.link == PcieLink(speed=16.0, width=8, max_speed=16.0, max_width=16)
    link = drive(inventory, names[0]).link
    assert link is not None
    assert (link.max_speed, link.slot_speed, link.slot_width) == (32.0, 16.0, 4)


def test_a_card_with_two_ports_and_its_firmware(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    function = tree.nic("ens1f0np0", speed="200000", carrier="1")
    second = function.parent / "0000:81:00.1"
    tree._pci(second, 1)
    tree.write(second / "net/ens1f1np1/speed", "200000\n")
    (second / "net/ens1f1np1/device").symlink_to("../..")
    (tmp_path / "sys/class/net/ens1f1np1").symlink_to(
        "../../devices/pci0000:80/0000:80:01.0/0000:81:00.1/net/ens1f1np1"
    )
    ports = collect(tmp_path, hardware.answers).nics
    assert [(port.pci_address, port.card_ports) for port in ports] == [("0000:81:00.0", 2), ("0000:81:00.1", 2)]
    assert ports[0].firmware == "28.41.1000 (MT_0000000838)"
    assert collect(tmp_path, hardware.denied).nics[0].firmware is None


def test_processors_caches_and_heat(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.cpus(("0-1", ["0-1", "0-1"]), ("2-3", ["2", "3"]))
    tree.write("sys/devices/system/cpu/smt/active", "1\n")
    tree.write("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "3100000\n")
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2"), (3, "3")):
        cache = f"sys/devices/system/cpu/cpu{cpu}/cache/index3"
        for name, text in (("level", "3"), ("size", "32768K"), ("shared_cpu_list", shared)):
            tree.write(f"{cache}/{name}", text + "\n")
        tree.write(f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count", "2\n")
    inventory = collect(tmp_path, nothing_found)
    assert [(node.socket, node.l3) for node in inventory.nodes] == [(0, 32 << 20), (1, 64 << 20)]
    assert (inventory.smt, inventory.cpu_mhz, inventory.cpu_throttled) == (True, 3100, 8)


def test_memory_modules_and_their_error_correction(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    hardware.dimm(tree, 0, 16384, 4800)
    hardware.dimm(tree, 1, 65536, 4800)
    hardware.dimm(tree, 2, 0, 0)
    hardware.memory_array(tree, 6)
    inventory = collect(tmp_path, nothing_found)
    assert inventory.dimms == [Dimm(size=16 << 30, speed=4800), Dimm(size=64 << 30, speed=4800)]
    assert inventory.ecc is True


@pytest.mark.parametrize(("mode", "ecc"), [("S4ECD4ED", True), ("None", False), ("Unknown", None)])
def test_the_kernel_sees_the_error_correction_of_each_module(tmp_path: Path, mode: str, ecc: bool | None) -> None:
    booted(tmp_path).write("sys/devices/system/edac/mc/mc0/dimm0/dimm_edac_mode", mode + "\n")
    assert collect(tmp_path, nothing_found).ecc is ecc


def test_what_the_kernel_can_do(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    assert collect(tmp_path, nothing_found).kernel_features == {}
    modules = "usr/lib/modules/7.2.12+deb14-amd64"
    tree.write(
        f"{modules}/modules.dep", "kernel/drivers/md/raid456.ko.xz: kernel/lib/xor.ko.xz\nkernel/fs/xfs/xfs.ko:\n"
    )
    tree.write(f"{modules}/modules.builtin", "kernel/drivers/md/raid1.ko\n")
    tree.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    inventory = collect(tmp_path, nothing_found)
    present = {name for name, exists in inventory.kernel_features.items() if exists}
    assert present == {"raid456", "xfs", "raid1"}
    assert inventory.kernel_features["nfsd"] is False
    assert inventory.lockdown == "integrity"


def test_build_of_each_module_of_nfs_smb_and_parity_raid_is_known(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    assert collect(tmp_path, nothing_found).file_modules == []
    tree.write(
        "usr/lib/modules/7.2.12+deb14-amd64/modules.dep",
        "updates/millrace/fs/nfsd/nfsd.ko.xz: kernel/fs/nfs_common/grace.ko.xz\n"
        "kernel/fs/nfs_common/grace.ko.xz:\nkernel/fs/smb/client/cifs.ko.xz:\n"
        "updates/millrace/fs/nfs_common/nfs_localio.ko.xz:\nkernel/fs/xfs/xfs.ko.xz:\n"
        "updates/millrace/drivers/md/raid456.ko.xz: kernel/drivers/md/md-mod.ko.xz\nkernel/drivers/md/raid1.ko.xz:\n",
    )
    builds = {module.name: module.build for module in collect(tmp_path, nothing_found).file_modules}
    rebuilt = dict.fromkeys(("nfs_localio", "nfsd", "raid456"), "millrace")
    assert builds == rebuilt | {"cifs": "debian", "grace": "debian"}
