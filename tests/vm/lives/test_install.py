# SPDX-License-Identifier: Apache-2.0
"""A USB drive that cannot be written installs this version on a boot drive, which then starts without it."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import Appliance, appliance
from vm.disks import VARIABLES
from vm.qemu import Files

# two boots, and 3 GB that are copied and read back
pytestmark = pytest.mark.soak

SERVER = server_named("5equal")
TARGET = "MILLRACE-BOOT"
ENTRY = "Install on a boot drive"
# The screen of the first virtual console, without what follows the text of each line.
SCREEN = "fold -w $(stty -F /dev/tty1 size | cut -d' ' -f2) < /dev/vcs1 | sed 's/ *$//'"
UNITS = "systemctl list-units --type=service --state=active --plain --no-legend | cut -d' ' -f1"
PARTITIONS = "udevadm settle; sed -n 's/^PARTNAME=//p' /sys/class/block/vda?/uevent; true"


def typed(word: str) -> list[str]:
    """A word as keys, and Enter."""
    shifted = {"-": "minus"}
    return [*(shifted.get(one, f"shift-{one.lower()}" if one.isupper() else one) for one in word), "ret"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server whose boot drive is blank."""
    directory = tmp_path_factory.mktemp("install")
    files = Files(directory, directory)
    shutil.copyfile(VARIABLES, files.variables)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", files.boot_disk, "16G"], check=True)
    return directory


@pytest.fixture(scope="module")
def stick(image: Path, accelerator: Accel, directory: Path) -> Iterator[Appliance]:
    """The server as it was started from the USB drive, with the entry of the boot menu that was chosen by hand."""
    with appliance(SERVER, image, directory, accelerator, medium=image) as machine:
        machine.start()
        # any key that is held while systemd-boot starts opens its menu
        for _ in range(240):
            machine.press("spc")
            if ENTRY in machine.console:
                break
        # A loader that is drawing its menu loses keys; a digit selects an entry, also once more.
        for key in (*["2"] * 5, "ret"):
            time.sleep(5 * accelerator.scale)
            machine.press(key)
        machine.wait_agent()
        yield machine


def screen(machine: Appliance) -> str:
    return machine.run(SCREEN).out


def test_installer_starts_without_network_and_leaves_every_drive(stick: Appliance) -> None:
    box = Box(stick)
    stick.wait_for(lambda: "Serial number of the drive to install on" in screen(stick), "the question", 600)
    assert "root=tmpfs" in box.say("cat /proc/cmdline").split()
    assert box.say("findmnt -no FSTYPE /") == "tmpfs"
    assert "sda  QEMU QEMU HARDDISK" in screen(stick) and TARGET in screen(stick)
    assert box.failed_units() == []
    running = set(box.say(UNITS).split())
    assert not {"systemd-networkd.service", "ssh.service", "cockpit.service", "millrace-plan.service"} & running
    assert box.say("ss -Hltun | grep -vF 127.0.0.5; true") == ""
    assert box.say(PARTITIONS) == ""


def test_drive_is_installed_from_the_console(stick: Appliance) -> None:
    stick.press(*typed(TARGET))
    stick.wait_for(lambda: "again to write it" in screen(stick), "the second question", 120)
    stick.press(*typed(TARGET))
    stick.wait_for(lambda: "press Enter to restart" in screen(stick), "the end of the installation", 1200)
    assert f"is on drive {TARGET}; it was read back and verified" in screen(stick).replace("\n", " ")
    stick.press("ret")
    # -no-reboot: the machine is off where it would start again
    stick.wait_off(300)


def test_installed_drive_starts_without_the_medium(
    stick: Appliance, image: Path, accelerator: Accel, directory: Path
) -> None:
    with appliance(SERVER, image, directory, accelerator) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        assert box.failed_units() == []
        assert "root=tmpfs" not in box.say("cat /proc/cmdline").split()
        assert box.say("findmnt -no FSTYPE /") == "ext4"
        labels = box.say(PARTITIONS).split()
        assert labels[0] == "esp" and labels[1] == labels[2] and labels[1].startswith("millrace_")
        assert "millrace approve" in box.millrace("plan").out
        assert box.say("ls $(bootctl --print-boot-path)/EFI/Linux").count(".efi") == 1
        assert "this system runs from it" in box.millrace("install list").out
