# SPDX-License-Identifier: Apache-2.0
"""More drives than an array survives are gone for a moment: the pool serves again, with what was acknowledged."""

from collections.abc import Sequence

import pytest

from tests.vm.blocks import BLOCK, BLOCKS
from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, MD

pytestmark = pytest.mark.soak

FILE, LOG = f"{EXPORT}/records", "/run/records"
WRITER = f"""
import os
{BLOCKS}
file = os.open("{FILE}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
log = open("{LOG}", "w")
for number in range(1 << 14):
    os.pwrite(file, block(number), number * {BLOCK})
    os.fsync(file)
    print(number, file=log, flush=True)
"""
READER = f"""
import sys
{BLOCKS}
with open("{FILE}", "rb") as file:
    differ = [number for number in range(int(sys.argv[1]) + 1) if file.read({BLOCK}) != block(number)]
print(len(differ), differ[:20])
"""


def show(box: Box) -> None:
    print(box.say("cat /proc/mdstat; cat /var/lib/millrace/failures.jsonl /run/millrace/stopped.json; true"))
    print(box.say("for d in /dev/disk/by-partlabel/millrace-data-*; do echo $d; mdadm --examine $d | "
                  "grep -E 'Events|Update Time|Role|Array State'; done; true"))  # fmt: skip
    units = ("assemble", "readd", "revive", "failures", "unclean")
    print(box.say(f"journalctl -b -o short-precise {' '.join(f'-u millrace-{one}' for one in units)} | tail -n 60"))


def wait_in_sync(box: Box) -> None:
    box.machine.wait_command(
        f"grep -qx 0 {MD}/degraded && ! grep -E 'resync|recovery|check|repair' /proc/mdstat", "arrays in sync", 900
    )


def write(box: Box) -> None:
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say(f"rm -f {LOG}; systemctl reset-failed records; systemd-run --unit=records python3 /run/writer.py")
    box.machine.wait_command(f"test $(wc -l < {LOG}) -ge 100", "records", 300)


def see_records(box: Box) -> int:
    """How many records that were acknowledged differ; the file is named then."""
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    last = box.say(f"tail -n 1 {LOG}")
    found = box.machine.run(["python3", "-c", READER, last], seconds=600).out.strip()
    named = box.machine.wait_command("millrace pool unclean --json | grep -q '\"complete\"'", "the search", 600)
    assert named.status == 0
    listed = box.millrace("pool unclean").out.splitlines()
    print(f"{last} records: {found}", listed)
    assert "data/records" in listed
    return int(found.split()[0])


def wait_broken(box: Box) -> None:
    """The writer gets an error; the array has lost too many members."""
    box.machine.wait_command("! systemctl is-active -q records", "the end of the writer", 300)


def wait_revived(box: Box) -> None:
    broken = "Cannot continue operation"
    print(box.say(f"dmesg | grep -c '{broken}'; systemctl is-active millrace-serving.target; true"))
    try:
        box.machine.wait_command(
            "journalctl -b -o cat -u millrace-revive | grep -q 'is mounted and served'", "the revival", 600
        )
    finally:
        show(box)
    box.wait_serving()


def members(box: Box) -> list[str]:
    return sorted(box.members_by_serial("data"))


def states(box: Box) -> dict[str, str]:
    (data,) = [array for array in box.shown("pool show --json")["arrays"] if array["name"] == "data"]
    return {member["serial"]: member["state"] for member in data["members"]}


def acknowledge(box: Box) -> None:
    box.millrace("pool acknowledge")
    box.say("journalctl --rotate; journalctl --vacuum-time=1s -q; true")


def put_in(box: Box, serials: Sequence[str]) -> None:
    for serial in serials:
        box.machine.insert(serial)


def test_two_drives_that_are_gone_within_a_second_come_back_and_the_pool_serves(box: Box) -> None:
    wait_in_sync(box)
    one, two = members(box)[:2]
    write(box)
    box.machine.release(one)
    box.machine.release(two)
    wait_broken(box)
    show(box)
    found = {one["key"]: one for one in box.shown("health --json")["findings"] if one["check"] == "arrays"}
    print(found)
    assert "millrace pool revive" in next(iter(found.values()))["todo"]
    put_in(box, [one, two])
    wait_revived(box)
    differ = see_records(box)
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    # what differs is in the file that is named
    assert differ <= 2
    assert box.machine.run(["millrace", "pool", "revive", "--yes"], check=False).err.startswith("millrace")
    acknowledge(box)


def test_wrong_drive_that_is_pulled_while_degraded_is_put_in_again(box: Box) -> None:
    wait_in_sync(box)
    gone, wrong = members(box)[:2]
    box.machine.pull(gone)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    write(box)
    box.machine.release(wrong)
    wait_broken(box)
    box.machine.put_in(wrong)
    wait_revived(box)
    see_records(box)
    assert states(box)[wrong] == "in-sync"
    box.machine.put_in(gone)
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    acknowledge(box)


def test_drives_that_come_after_the_assembly_has_failed_are_started(box: Box) -> None:
    wait_in_sync(box)
    late = members(box)[:2]
    box.say(f"echo kept > {EXPORT}/kept; sync -f {EXPORT}; systemctl stop srv-pool.mount", seconds=300)
    box.say("systemctl stop millrace-assemble; mdadm --stop /dev/md/millrace-data")
    box.machine.pull(*late)
    failed = box.machine.run("systemctl restart millrace-assemble", check=False, seconds=300)
    assert failed.status
    assert late[0] in box.say("journalctl -b -o cat -u millrace-assemble | tail -n 5")
    put_in(box, late)
    try:
        box.wait_serving()
    finally:
        show(box)
    assert box.say(f"cat {EXPORT}/kept") == "kept"
    assert set(states(box).values()) == {"in-sync"}
