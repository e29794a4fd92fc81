# SPDX-License-Identifier: Apache-2.0
"""A drive dies, another one wears out: each is replaced with one command while files are written."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.vm.blocks import BLOCK, BLOCKS
from tests.vm.box import Box
from tests.vm.drives.conftest import MD, SMALL, new_drive

# by hand: a server of its own, for which CI has no minutes
pytestmark = pytest.mark.soak

LOG = MD.replace("millrace-data", "millrace-log")
NEW = [f"MRN0000000000{number}" for number in range(4)]
POLICY = "/etc/millrace/policy.toml"
UNIT = "millrace-drive.service"
FILE = "/srv/pool/written"
WRITER = f"""
import os
{BLOCKS}
file = os.open("{FILE}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
log = open("/run/written", "w")
number = 0
while not os.path.exists("/run/enough"):
    os.pwrite(file, block(number % 1024), number % 1024 * {BLOCK})
    os.fsync(file)
    print(number, file=log, flush=True)
    number += 1
"""
READER = f"""
import sys
{BLOCKS}
with open("{FILE}", "rb") as file:
    for number in range(min(int(sys.argv[1]), 1023) + 1):
        assert file.read({BLOCK}) == block(number), number
print("intact")
"""


def lines(text: str) -> list[dict[str, Any]]:
    """JSON lines; what else was printed was for the terminal."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def row(box: Box, serial: str) -> dict[str, Any]:
    (found,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == serial]
    return dict(found)


@contextmanager
def written(box: Box) -> Iterator[None]:
    """Blocks are written and synced all the time, and read back from the drives at the end."""
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say("rm -f /run/enough; systemd-run --unit=written python3 /run/writer.py")
    box.machine.wait_command("test $(wc -l < /run/written) -ge 10", "ten blocks synced", 300)
    yield
    box.say("touch /run/enough")
    box.machine.wait_command("! systemctl is-active written.service", "the end of the writer", 120)
    box.say("sync; echo 3 > /proc/sys/vm/drop_caches")
    read_back(box, box.say("tail -n 1 /run/written"))


def read_back(box: Box, last: str) -> None:
    assert box.machine.run(["python3", "-c", READER, last], seconds=600).out.strip() == "intact"


def show(box: Box) -> None:
    """What a failure is judged by."""
    print(box.say("cat /proc/mdstat; journalctl -b -u millrace-drive -o cat --no-pager; ls -l /var/lib/millrace"))


@pytest.fixture(scope="module")
def dead(box: Box) -> str:
    """A drive of the data and of the log that was pulled; the log's hot spare has taken its place."""
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the first synchronisation", 900)
    dead = box.recorded("log")[0]
    assert dead in box.recorded("data")
    box.machine.pull(dead)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    found = row(box, dead)
    assert (found["verdict"], found["name"]) == ("missing", None)
    return dead


def test_hot_spare_takes_over_and_is_reported(box: Box, dead: str) -> None:
    """Of the log: the data have none."""
    box.machine.wait_command(
        f"grep -qx 0 {LOG}/degraded && grep -qx idle {LOG}/sync_action", "the log to be whole", 300
    )
    assert len(box.members_by_serial("log")) == 2 and dead not in box.members_by_serial("log")
    # the record follows: the hot spare is a member, and the dead one's place is that of the hot spare
    box.machine.wait_for(lambda: box.recorded("log", "spares") == [dead], "the record of the members", 120)
    assert set(box.recorded("log")) == box.members_by_serial("log")
    (finding,) = [
        finding for finding in box.shown("health --json")["findings"] if finding["key"] == "arrays/spares/log"
    ]
    print(finding)
    assert finding["level"] == "WARN"
    assert "is healthy with 0 of 1 hot spares" in finding["sentence"] and dead in finding["sentence"]
    assert finding["todo"].endswith(f"millrace drive replace {dead}")


def test_drive_with_a_foreign_file_system_is_refused_and_kept(box: Box, dead: str) -> None:
    box.machine.replace(dead, new_drive(NEW[0]))
    box.wait_examined()
    device = f"/dev/{row(box, NEW[0])['name']}"
    box.say(f"mkfs.ext4 -q {device}", seconds=300)
    before = box.say(f"dd if={device} bs=1M count=8 status=none | sha256sum")
    refused = box.machine.run(["millrace", "drive", "replace", dead, "--yes"], seconds=600, check=False)
    print(refused.err)
    assert refused.status == 1
    assert NEW[0] in refused.err and "is not blank" in refused.err and "ext4" in refused.err
    assert SMALL.serial in refused.err and "is too small by" in refused.err
    assert box.say(f"dd if={device} bs=1M count=8 status=none | sha256sum") == before
    # what its owner does with it elsewhere
    box.say(f"blkdiscard -f {device}")


def test_dead_drive_is_replaced_while_files_are_written(box: Box, dead: str) -> None:
    generation = box.pool["generation"]
    with written(box):
        done = box.machine.run(["millrace", "drive", "replace", dead, "--yes", "--json"], seconds=1200, check=False)
        print(done.out[:1500], done.out[-1500:], done.err)
        show(box)
        assert done.status == 0
    proposal, *progress, end = lines(done.out)
    plan = proposal["plan"]
    assert (plan["old"]["serial"], plan["new"]["serial"]) == (dead, NEW[0])
    assert {partition["array"] for partition in plan["partitions"]} == {"log", "data"}
    steps = [line["step"] for line in progress]
    assert "rebuild data" in steps and steps[-1] is None
    assert (end["error"], bool(end["ended"])) == (None, True)
    assert box.say(f"cat {MD}/degraded") == "0"
    assert NEW[0] in box.recorded("data") and dead not in box.recorded("data")
    assert box.pool["generation"] > generation
    partitions = {drive["serial"]: len(drive["partitions"]) for drive in box.pool["drives"]}
    assert partitions[NEW[0]] == 2 and dead not in partitions
    drive = row(box, NEW[0])
    assert (drive["verdict"], drive["role"], drive["arrays"]) == ("in-sync", "data", ["data", "log"])
    assert box.say("ls /var/lib/millrace/drive-change.json 2>&1; true").endswith("No such file or directory")


def test_member_that_takes_seconds_for_its_requests_loses_nothing(box: Box, dead: str) -> None:
    device = f"/dev/{row(box, NEW[0])['name']}"
    read = f"for i in 1 2 3 4 5 6; do dd if={device} bs=4k count=6 iflag=direct status=none | wc -c; done"
    box.say("head -c 256K /dev/urandom > /run/slow")
    box.machine.throttle(NEW[0], 1)
    try:
        began = time.monotonic()
        assert box.say(read, seconds=300).split() == ["24576"] * 6
        print(f"36 requests took {time.monotonic() - began:.0f} s")
        assert time.monotonic() - began > 20
        began = time.monotonic()
        box.say("dd if=/run/slow of=/srv/pool/slow bs=64k conv=fsync status=none", seconds=600)
        print(f"256 KiB took {time.monotonic() - began:.0f} s")
    finally:
        box.machine.throttle(NEW[0], 0)
    box.say("echo 3 > /proc/sys/vm/drop_caches; cmp /run/slow /srv/pool/slow", seconds=300)
    assert box.say(f"cat {MD}/degraded {LOG}/degraded").split() == ["0", "0"]
    assert "I/O error" not in box.say("journalctl -k -b -o cat | tail -n 40")


def test_readable_drive_is_copied_and_a_kill_and_a_power_cut_do_not_stop_it(box: Box, dead: str) -> None:
    old = box.recorded("data")[1]
    box.machine.pull(SMALL.serial)
    box.machine.replace(SMALL.serial, new_drive(NEW[1]))
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "an idle array", 300)
    # minutes, until the power goes: tuning after an event of md would set the planned limits
    box.say("systemctl mask --runtime --now millrace-event@arrays.timer")
    box.say(f"echo 1000 > {MD}/sync_speed_min; echo 3000 > {MD}/sync_speed_max")
    box.say(f"systemd-run --unit=replacing millrace drive replace {old} --yes", seconds=60)
    box.machine.wait_command(f"grep -qx recover {MD}/sync_action", "the copy", 600)
    show(box)
    box.say("systemctl kill --signal=KILL millrace-drive.service")
    box.machine.wait_command(
        f"test $(systemctl show -P NRestarts {UNIT}) = 1 && systemctl is-active {UNIT}",
        "the unit to go on",
        120,
    )
    assert box.say(f"cat {MD}/sync_action {MD}/degraded").split() == ["recover", "0"]
    print(box.millrace("drive progress").out)
    box.machine.power_cut()
    box.machine.start()
    box.wait_serving()
    # the drive that was replaced before is not waited for
    said = box.say("journalctl -b -u millrace-assemble -o cat")
    print(said)
    assert "RAID5 data: started, 5 members" in said
    assert "RAID1 log: started, 2 members" in said
    assert "without" not in said
    read_back(box, "1023" if box.say(f"stat -c %s {FILE}") == str(1024 * BLOCK) else "0")
    gone = "! test -e /var/lib/millrace/drive-change.json"
    box.machine.wait_command(gone, "the end of the change", 900)
    show(box)
    print(box.millrace("drive progress").out)
    assert NEW[1] in box.recorded("data") and old not in box.recorded("data")
    assert NEW[1] in box.members_by_serial("data") and old not in box.members_by_serial("data")
    assert box.say(f"cat {MD}/degraded") == "0"
    assert "going on with an interrupted change" in box.say("journalctl -b -u millrace-drive -o cat")
    box.wait_booted()
    assert box.failed_units() == []
    findings = [finding for finding in box.shown("health --json")["findings"] if finding["check"] == "arrays"]
    assert {finding["level"] for finding in findings} == {"OK"}, findings


def test_hot_spare_is_added_and_taken_out(box: Box, dead: str) -> None:
    """In the bay of the drive that was copied."""
    (old,) = [drive.serial for drive in box.machine.server.drives if drive.serial not in {*box.recorded("data"), *NEW}]
    refused = box.machine.run(["millrace", "drive", "remove", NEW[0], "--yes"], seconds=300, check=False)
    assert refused.status == 1 and f"millrace drive replace {NEW[0]}" in refused.err
    box.machine.pull(old)
    box.machine.replace(old, new_drive(NEW[2]))
    print(box.machine.run(["millrace", "drive", "add", NEW[2], "--yes"], seconds=600).out)
    drive = row(box, NEW[2])
    assert (drive["verdict"], drive["role"], drive["arrays"]) == ("spare", "spare", ["data"])
    assert box.recorded("data", "spares") == [NEW[2]]
    print(box.machine.run(["millrace", "drive", "remove", NEW[2], "--yes"], seconds=600).out)
    assert NEW[2] not in box.members_by_serial("data")
    show(box)


def test_drive_that_was_taken_out_is_left_alone_when_it_is_back(box: Box, dead: str) -> None:
    box.machine.pull(NEW[2])
    box.machine.put_in(NEW[2])
    alone = f"journalctl -b -o cat -u millrace-readd | grep {NEW[2]} | grep -q 'is left alone'"
    box.machine.wait_command(alone, "the drive to be found", 300)
    found = row(box, NEW[2])
    print(found, box.say("journalctl -b -o cat -u millrace-readd -u 'millrace-replace@*'"))
    assert (found["verdict"], "taken out" in found["what"]) == ("returned", True)
    assert NEW[2] not in box.members_by_serial("data")


def test_blank_drive_in_the_bay_of_a_dead_one_takes_its_place_where_the_policy_allows_it(box: Box, dead: str) -> None:
    box.machine.run(f"mkdir -p /etc/millrace; cat > {POLICY}", stdin='[drives]\nreplace = "same-bay"\n')
    old = box.recorded("data")[2]
    box.machine.pull(old)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    box.machine.replace(old, new_drive(NEW[3]))
    done = f"grep -q {NEW[3]} /var/lib/millrace/drive-changed.json"
    try:
        box.machine.wait_command(done, "the end of the change", 900)
    finally:
        show(box)
        print(box.say(f"journalctl -b -o cat -u 'millrace-replace@*'; rm {POLICY}"))
    change = box.shown("drive progress --json")["change"]["change"]
    assert (change["by"], change["error"]) == ("policy", None)
    assert NEW[3] in box.recorded("data") and old not in box.recorded("data")
    assert NEW[3] in box.members_by_serial("data")
    assert box.say(f"cat {MD}/degraded") == "0"


def test_data_and_parity_agree_at_the_end(box: Box, dead: str) -> None:
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "an idle array", 300)
    box.say(f"echo check > {MD}/sync_action")
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the check", 900)
    assert box.say(f"cat {MD}/mismatch_cnt") == "0"
