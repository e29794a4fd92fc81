# SPDX-License-Identifier: Apache-2.0
"""Drives are put in beside a pool that serves: each has its verdict, and those that nobody needs are erased."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.inventory.surface import ERASE_MARK
from millrace.system.text import MIB
from tests.vm.box import Box

pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]

# One of NVMe, which can format itself; the others are behind a SCSI controller, and written to.
FOREIGN, OTHER, SMALL, BLANK, SLOW = "FOREIGN01", "OTHER01", "SMALL01", "BLANK01", "SLOW01"
MIBS = {FOREIGN: 96, OTHER: 64, SMALL: 32, BLANK: 700, SLOW: 96}
FULL = (FOREIGN, OTHER, SLOW)
# An overwrite of the slow one writes 96 MiB and reads them.
SLOW_RATE = 3 * MIB
PATTERN = bytes(range(1, 256)) * 257
BOOT = "MILLRACE-BOOT"


def node(serial: str) -> str:
    """A shell line that prints the node of a drive."""
    return f"readlink -f /dev/disk/by-id/*{serial} | head -n 1"


def image(box: Box, serial: str) -> Path:
    return box.machine.files.directory / f"{serial}.raw"


def digest(box: Box, serial: str) -> str:
    with image(box, serial).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_zero(box: Box, serial: str) -> bool:
    with image(box, serial).open("rb") as file:
        return not any(any(chunk) for chunk in iter(lambda: file.read(MIB), b""))


def row(box: Box, serial: str) -> dict[str, Any]:
    (found,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == serial]
    return dict(found)


def erase(box: Box, serial: str, *options: str) -> tuple[int | None, str]:
    """The status and the error of an erase whose serial number is typed again."""
    done = box.millrace(["drive", "erase", serial, f"--serial-again={serial}", *options], seconds=600, check=False)
    print(done.out, done.err)
    return done.status, done.err.strip()


@pytest.fixture(scope="module")
def shelf(box: Box) -> Iterator[Box]:
    """The server with five more drives, examined."""
    machine = box.machine
    machine.qmp("object-add", **{"qom-type": "throttle-group", "id": "slow", "limits": {"bps-total": SLOW_RATE}})
    machine.qmp("device_add", driver="virtio-scsi-pci", id="shelf", bus="spare1")
    for number, (serial, size) in enumerate(MIBS.items()):
        with image(box, serial).open("wb") as file:
            if serial in FULL:
                file.write((PATTERN * (size * MIB // len(PATTERN) + 1))[: size * MIB])
            file.truncate(size * MIB)
        raw = {"driver": "raw", "file": {"driver": "file", "filename": str(image(box, serial))}}
        if serial == SLOW:
            raw = {"driver": "throttle", "throttle-group": "slow", "file": raw}
        machine.qmp("blockdev-add", **{"node-name": f"x{number}", **raw})
        place: dict[str, object] = {"driver": "scsi-hd", "bus": "shelf.0", "scsi-id": number}
        if serial == FOREIGN:
            place = {"driver": "nvme", "bus": "spare0"}
        machine.qmp("device_add", id=f"x{number}", serial=serial, drive=f"x{number}", **place)
        machine.wait_command(f'test -b "$({node(serial)})"', f"drive {serial}", 120)
    box.wait_examined()
    box.say(f"mkfs.ext4 -qF $({node(FOREIGN)})")
    box.say(f"mkfs.ext4 -qF $({node(SLOW)})")
    box.say(f"echo 'size=48MiB, name=millrace-data-01' | sfdisk -q --label gpt $({node(OTHER)}); udevadm settle")
    created = "--create /dev/md/elsewhere --run --force --level=1 --raid-devices=1 --metadata=1.2 --bitmap=none"
    box.say(f"mdadm {created} $({node(OTHER)})1 2>&1; udevadm settle; mdadm --stop /dev/md/elsewhere; udevadm settle")
    box.millrace("inventory --write", seconds=600)
    yield box
    for number in range(len(MIBS)):
        machine.qmp("device_del", id=f"x{number}")
    machine.wait_command("! grep -qs FOREIGN01 /sys/class/nvme/*/serial", "the drives to be gone", 120)
    machine.qmp("device_del", id="shelf")
    machine.wait_command("! test -e /dev/sda", "the shelf to be gone", 120)
    box.millrace("inventory --write", seconds=600)


def test_each_drive_has_its_verdict(shelf: Box) -> None:
    rows = {drive["serial"]: drive for drive in shelf.shown("drive list --json")["drives"]}
    print(
        *(f"{drive['serial']} {drive['verdict']} {drive['what']} {drive['actions']}" for drive in rows.values()),
        sep="\n",
    )
    sizes = {
        drive["serial"]: sum(part["size"] for part in drive["partitions"]) + 2 * MIB for drive in shelf.pool["drives"]
    }
    # of the drives that are missing after other stories, else of all
    missing = [serial for serial in sizes if rows[serial]["verdict"] == "missing"]
    needed = min(sizes[serial] for serial in missing or sizes)
    assert {name: rows[name]["verdict"] for name in (*MIBS, BOOT)} == {
        FOREIGN: "foreign",
        OTHER: "other pool",
        SMALL: "too small",
        BLANK: "blank",
        SLOW: "foreign",
        BOOT: "boot",
    }
    assert "ext4" in rows[FOREIGN]["what"]
    assert rows[OTHER]["what"].startswith("arrays ")
    assert rows[SMALL]["too_small_by"] == needed - MIBS[SMALL] * MIB
    assert "erase" in rows[OTHER]["actions"]
    assert "erase" not in rows[BOOT]["actions"]
    # what is offered is what the verb would do
    planned = shelf.millrace(["drive", "add", BLANK, "--dry-run"], seconds=600, check=False)
    print(planned.out, planned.err)
    assert ("add" in rows[BLANK]["actions"]) is (planned.status == 0)


def test_drives_that_somebody_needs_are_refused_and_not_written(shelf: Box) -> None:
    before = {serial: digest(shelf, serial) for serial in MIBS}
    member = shelf.plan["arrays"][0]["members"][0]
    assert "erase" not in row(shelf, member)["actions"]
    for serial, options, words in (
        (member, ["--foreign"], "belongs to this pool (array data"),
        (BOOT, ["--foreign"], "is the boot drive"),
        (FOREIGN, [], "carries data of another system (ext4 file system"),
        (OTHER, [], "carries another Millrace pool"),
        ("NOTHERE", ["--foreign"], "no drive has the serial number, bay or device name"),
    ):
        status, said = erase(shelf, serial, *options)
        assert (status, len(said.splitlines())) == (1, 1)
        assert words in said
    mistyped = shelf.millrace(f"drive erase {FOREIGN} --foreign --serial-again={OTHER}", check=False)
    assert mistyped.status == 2
    shelf.say(f"mkdir -p /run/foreign; mount -o ro,noload $({node(FOREIGN)}) /run/foreign")
    try:
        status, said = erase(shelf, FOREIGN, "--foreign")
        assert (status, "unmount it first: umount /run/foreign" in said) == (1, True)
    finally:
        shelf.say("umount /run/foreign")
    assert {serial: digest(shelf, serial) for serial in MIBS} == before
    assert row(shelf, member)["verdict"] == "in-sync"


def test_nvme_drive_erases_itself_and_is_blank(shelf: Box) -> None:
    done = shelf.millrace(
        ["drive", "erase", FOREIGN, f"--serial-again={FOREIGN}", "--foreign", "--json"], seconds=600, check=False
    )
    print(done.out, done.err, shelf.say("journalctl -b -u millrace-erase -o cat"))
    assert done.status == 0
    ended = json.loads(done.out.splitlines()[-1])
    # QEMU's drives offer a format and no sanitize
    assert (ended["state"], ended["method"]) == ("done", "format")
    assert "out of reach" in ended["unproved"]
    assert is_zero(shelf, FOREIGN)
    # too small for a member, and empty
    assert (row(shelf, FOREIGN)["verdict"], row(shelf, FOREIGN)["what"]) == ("too small", None)


def test_drive_of_another_pool_is_written_with_zeros(shelf: Box) -> None:
    done = shelf.millrace(
        ["drive", "erase", OTHER, f"--serial-again={OTHER}", "--foreign", "--json"], seconds=600, check=False
    )
    print(done.out, done.err, shelf.say("journalctl -b -u millrace-erase -o cat"))
    assert done.status == 0
    ended = json.loads(done.out.splitlines()[-1])
    assert (ended["state"], ended["method"]) == ("done", "overwrite")
    assert "overprovisioning" in ended["unproved"]
    assert is_zero(shelf, OTHER)
    assert row(shelf, OTHER)["verdict"] == "too small"


def test_killed_overwrite_is_never_blank_and_is_run_again(shelf: Box) -> None:
    verb = f"millrace drive erase {SLOW} --serial-again={SLOW} --foreign --json"
    to_files = "-p StandardOutput=truncate:/run/erase.out -p StandardError=truncate:/run/erase.err"
    shelf.say(f"systemd-run --collect --unit=slow-erase {to_files} {verb}")
    progress = "/run/millrace/erase/progress.json"
    shelf.machine.wait_command(f"grep -q {SLOW} {progress} && grep -q 'writing zeros' {progress}", "zeros", 120)
    during = row(shelf, SLOW)
    print(during, shelf.say(f"cat {progress}"))
    assert (during["verdict"], during["what"].startswith("is being erased")) == ("unknown", True)
    assert "erase" not in during["actions"]
    shelf.say("systemctl kill --kill-whom=main --signal=KILL millrace-erase.service")
    shelf.machine.wait_command("systemctl show -P ActiveState slow-erase | grep -qxE 'failed|inactive'", "its end", 180)
    print(shelf.say("cat /run/erase.out /run/erase.err; journalctl -b -u millrace-erase -o cat"))
    assert "is not erased" in shelf.say("cat /run/erase.err")
    with image(shelf, SLOW).open("rb") as file:
        assert file.read(len(ERASE_MARK)) == ERASE_MARK
    killed = row(shelf, SLOW)
    assert (killed["verdict"], killed["what"]) == ("unknown", "erase was interrupted; run it again")
    assert "erase" in killed["actions"]
    # the drive itself says so, whatever becomes of the record
    shelf.say("mv /var/lib/millrace/erase.json /run/")
    assert row(shelf, SLOW)["what"] == "erase was interrupted; run it again"
    shelf.machine.qmp("qom-set", path="/objects/slow", property="limits", value={"bps-total": 0})
    assert erase(shelf, SLOW)[0] == 0
    assert is_zero(shelf, SLOW)
    assert row(shelf, SLOW)["verdict"] == "too small"
    assert shelf.failed_units() == []


def test_slot_of_a_located_member_blinks_for_a_while_and_no_longer(shelf: Box) -> None:
    member = shelf.plan["arrays"][0]["members"][0]
    device = f"for d in /sys/class/nvme/*; do grep -qs {member} $d/serial && readlink -f $d/device; done | head -n 1"
    address = shelf.say(f"basename $({device})").rpartition(".")[0]
    led = f"$(dirname $(grep -lx {address} /sys/bus/pci/slots/*/address))/attention"
    assert shelf.say(f"cat {led}") != "2"
    shelf.say(f"systemd-run --unit=located millrace drive locate {member} --seconds 20")
    shelf.machine.wait_command(f"grep -qx 2 {led}", "the slot to blink", 120)
    shelf.machine.wait_command("! systemctl is-active --quiet located", "the end of it", 120)
    assert shelf.say(f"cat {led}") != "2"


def test_located_drive_without_an_led_of_its_bay_is_read_for_a_while_and_no_longer(shelf: Box) -> None:
    located = json.loads(shelf.millrace(f"drive locate {BLANK} --seconds 8 --json").out)
    print(located)
    assert located["by"] == "activity LED"
    assert located["reads"] >= 50
    active = "systemctl list-units --no-legend --state=active,activating,deactivating 'millrace-locate@*'"
    shelf.machine.wait_command(f'test -z "$({active})"', "the end of the reads", 60)
    # a verb that is killed leaves nothing behind that goes on
    name = shelf.say(f"basename $({node(BLANK)})")
    shelf.say(f"systemctl start millrace-locate@{name}:3.service")
    shelf.machine.wait_command(f'test -z "$({active})"', "the end of the reads", 60)
    # others may read the drive, too, but not all the time
    read = f"cut -d ' ' -f 1,3 < /sys/block/{name}/stat"
    shelf.machine.wait_command(f'test "$({read})" = "$(sleep 3; {read})"', "three seconds without a read", 60)
    assert shelf.failed_units() == []
