# SPDX-License-Identifier: Apache-2.0
"""Drives are replaced by hand and the power goes while one is missing: the server serves, and says what is in doubt."""

import pytest

from tests.vm import seen
from tests.vm.blocks import BLOCK, BLOCKS, writer
from tests.vm.box import Box
from tests.vm.life.words import EXPORT

pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]

ARRAY = "/dev/md/millrace-data"
DEGRADED = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md/degraded"
WRITER = writer(f"{EXPORT}/blocks", "/run/blocks", 1 << 12)
READER = f"""
import sys
{BLOCKS}
with open("{EXPORT}/blocks", "rb") as file:
    for number in range(int(sys.argv[1]) + 1):
        assert file.read({BLOCK}) == block(number), number
print("intact")
"""


def wait_in_sync(box: Box) -> None:
    box.machine.wait_command(f"grep -qx 0 {DEGRADED}", "every member in sync", 900)


def states(box: Box) -> dict[str, str]:
    """How each member of the data array is, by serial."""
    (data,) = [array for array in box.shown("pool show --json")["arrays"] if array["name"] == "data"]
    return {member["serial"]: member["state"] for member in data["members"]}


@pytest.fixture(scope="module")
def replaced(box: Box) -> str:
    """The serial of a blank drive that an administrator put in for one that died, with nothing but mdadm.

    It is a member as a whole: what pool.json knew of the old one, the UUID of its partition, is nowhere any more.
    """
    # parity is not right everywhere until then
    box.machine.wait_command("! grep -E '(resync|recovery|check) =' /proc/mdstat", "arrays in sync", 900)
    # what the story before marked as faulty is good, and catches up
    box.say(f"mdadm {ARRAY} --remove faulty; true")
    planned = set(box.plan["arrays"][0]["members"])
    lost = planned - set(box.say("cat /sys/class/nvme/*/serial").split())
    if not lost:
        lost = {min(planned)}
        box.machine.pull(*lost)
        box.machine.wait_command(f"grep -qx 1 {DEGRADED}", "the lost member", 120)
        box.say(f"mdadm {ARRAY} --remove detached; true")
    box.say("millrace assemble", seconds=600)
    (old,) = lost
    box.machine.erase(old)
    box.machine.put_in(old)
    # not the paths of a multipath drive (nvme9c9n1), which have no device node
    candidates = f"for d in /sys/block/nvme*n1; do grep -qs {old} $d/device/serial && basename $d; done"
    name = box.say(f"({candidates}) | grep -xE 'nvme[0-9]+n1'")
    # a drive that was put in is examined, and open for nobody else meanwhile
    box.machine.wait_command(f"mdadm {ARRAY} --add /dev/{name}", "mdadm to add the drive", 120)
    wait_in_sync(box)
    return old


def test_manual_replacement_is_recorded_automatically(box: Box, replaced: str) -> None:
    box.machine.wait_command("""grep -q '"partuuid": ""' /var/lib/millrace/pool.json""", "the new member's record", 300)
    assert box.pool["generation"] > 1
    (data,) = [record for record in box.pool["arrays"] if record["array"]["name"] == "data"]
    assert [one["serial"] for one in data["members"] if not one["partuuid"]] == [replaced]
    assert states(box)[replaced] == "in-sync"
    assert set(states(box).values()) == {"in-sync"}


def test_degraded_array_written_during_a_power_cut_serves_and_warns(box: Box, replaced: str) -> None:
    missing = next(serial for serial in box.plan["arrays"][0]["members"] if serial != replaced)
    box.machine.pull(missing)
    box.machine.wait_command(f"grep -qx 1 {DEGRADED}", "the lost member", 120)
    (row,) = [drive for drive in box.shown("drive list --json")["drives"] if drive["serial"] == missing]
    assert (row["verdict"], row["role"], row["name"]) == ("missing", "data", None)
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say("systemd-run --unit=blocks python3 /run/writer.py")
    box.machine.wait_command("test $(wc -l < /run/blocks) -ge 40", "forty blocks synced", 300)
    assert box.array_sysfs("data", "md/array_state") in {"active", "write-pending"}
    synced = box.say("tail -n 1 /run/blocks")
    box.machine.power_cut()
    box.machine.empty = {missing}
    box.machine.start()
    box.wait_serving()
    assert box.machine.run(["python3", "-c", READER, synced]).out.strip() == "intact"
    said = box.say("journalctl -b -u millrace-assemble -o cat")
    assert f"RAID6 data: started without {missing}, unclean while degraded" in said
    assert "RAID1 log: started, 2 members" in said
    assert states(box)[replaced] == "in-sync"
    box.wait_booted()
    (finding,) = [finding for finding in box.shown("health --json")["findings"] if finding["check"] == "unclean"]
    assert finding["level"] == "WARN"
    assert f"without {missing}" in finding["sentence"]
    # P against Q tells the torn rows, which may be none; what was synced is intact in any case
    searched = "grep -q '\"count\"' /var/lib/millrace/unclean.json && grep -q '\"done\"' /var/lib/millrace/unclean.json"
    box.machine.wait_command(searched, "the end of the search", 900)
    unclean = box.shown("pool unclean --json")
    print(unclean)
    assert (unclean["starts"][0]["check"], unclean["suspects"]["complete"]) == ("done", True)
    assert unclean["suspects"]["by_parity"] == unclean["suspects"]["count"]
    box.millrace("pool acknowledge")
    assert [finding for finding in box.shown("health --json")["findings"] if finding["check"] == "unclean"] == []
    assert box.say(f"cat {DEGRADED.replace('degraded', 'sync_action')}") == "idle"


def slots_finding(box: Box) -> dict[str, str]:
    (found,) = [one for one in box.shown("health --json")["findings"] if one["check"] == "slots"]
    return dict(found)


def test_drive_that_is_put_into_a_slot_without_addresses_takes_none_from_others(box: Box, replaced: str) -> None:
    """The virtual firmware leaves none for a bay of the first NUMA node that is empty at the start."""
    (missing,) = box.machine.empty
    finding = slots_finding(box)
    assert finding["level"] == "WARN"
    number = [drive.serial for drive in box.machine.server.drives].index(missing) + 1
    assert f"no addresses for a new drive: slot {number}. Hot plug is off there" in finding["sentence"]
    assert "only while the server is off" in finding["todo"]
    drives = set(box.say("cat /sys/class/nvme/*/serial").split())
    box.machine.insert(missing)
    # what the kernel would do it does within seconds: it waits 5 s after the button of a slot
    box.say(f"sleep 20; dd if={ARRAY} of=/dev/null bs=1M count=64 iflag=direct", seconds=300)
    assert set(box.say("cat /sys/class/nvme/*/serial").split()) == drives
    assert box.say("dmesg | grep -c 'not claimed'; true") == "0"
    box.say(f"sync; grep -qx 1 {DEGRADED}")


def test_returned_drive_resyncs_at_the_next_boot_and_the_replacement_stays(box: Box, replaced: str) -> None:
    box.machine.reboot()
    box.wait_serving()
    said = box.say("journalctl -b -u millrace-assemble -o cat")
    assert "returned and is resyncing" in said
    assert "unclean" not in said
    wait_in_sync(box)
    box.wait_booted()
    assert box.failed_units() == []
    assert replaced in box.members_by_serial("data")
    seen.pool_is_as_the_kernel_has_it(box)
