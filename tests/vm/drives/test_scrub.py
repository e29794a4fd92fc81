# SPDX-License-Identifier: Apache-2.0
"""All arrays are checked: the check is stopped and goes on, finds what does not match, and keeps its result."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD

# by hand: a server of its own, for which CI has no minutes
pytestmark = pytest.mark.soak

UNIT = "millrace-scrub.service"
MEMBERS = len(FIVE.drives)
# KiB/s of each drive: a check of these takes minutes, or one, or as long as the server needs.
SLOW, FASTER, UNLIMITED = 5_000, 15_000, 10_000_000
POLICY = "/etc/millrace/policy.toml"
BLOCK = 4096
# by hand also a million, which takes longer to make than to name
FILES = 100_000


def limit(box: Box, kib: int) -> None:
    box.machine.run(f"mkdir -p /etc/millrace; cat > {POLICY}", stdin=f"[scrub]\nrate_kib = {kib}\n")


@pytest.fixture(scope="module", autouse=True)
def policy(box: Box) -> Iterator[None]:
    """The server has its own policy for the time of these stories."""
    assert box.machine.run(f"test -e {POLICY}", check=False).status
    # what the story before left to synchronise is no obstacle of a check
    box.machine.wait_command("! grep -E 'resync|recovery' /proc/mdstat", "arrays in sync", 900)
    limit(box, SLOW)
    yield
    box.say(f"rm {POLICY}")


def scrubs(box: Box) -> dict[str, Any]:
    """What is kept of each array, by its name."""
    return {one["kept"]["array"]: one["kept"] for one in box.shown("pool scrub status --json")["arrays"]}


def wait_checked(box: Box) -> None:
    # a systemctl that fails, because systemd has no time for it, says nothing
    begun = f"! systemctl list-jobs --no-legend {UNIT} | grep -q ."
    ended = f"{begun} && systemctl show -P ActiveState {UNIT} | grep -qxE 'inactive|failed'"
    box.machine.wait_command(ended, "the end of the check", 600)


def findings(box: Box) -> dict[str, Any]:
    return {one["key"]: one for one in box.shown("health --json")["findings"]}


def test_only_one_program_checks_arrays(box: Box) -> None:
    assert box.say("systemctl is-enabled mdcheck_start.timer mdcheck_continue.timer; true").split() == ["masked"] * 2
    box.say("systemd-analyze verify --man=no millrace-scrub.service millrace-upkeep@scrub.timer")
    assert box.say("systemctl is-active millrace-upkeep@scrub.timer") == "active"
    status = box.shown("pool scrub status --json")
    assert status["next"] is not None and status["round"] is None
    assert [one["kept"]["array"] for one in status["arrays"]] == ["log", "data"]


def test_stopped_check_goes_on_from_where_it_was(box: Box) -> None:
    planned = box.array_sysfs("data", "md/sync_speed_max").split()[0]
    box.millrace("pool scrub start")
    box.machine.wait_command(f"grep -qvE '^(0 |none|delayed)' {MD}/sync_completed", "the check of the data", 300)
    assert box.say(f"cat {MD}/sync_action") == "check"
    limited = f"grep -q '^1000 ' {MD}/sync_speed_min && grep -q '^{SLOW} ' {MD}/sync_speed_max"
    box.machine.wait_command(limited, "the limits of the check", 60)
    assert scrubs(box)["log"]["last"]["mismatches"] == 0
    assert "check is running" in box.millrace("pool scrub status").out
    print(box.say(f"head -50 {MD}/sync_*; cat /proc/mdstat /var/lib/millrace/scrub.json"))

    box.millrace("pool scrub stop")
    print(box.say(f"head -50 {MD}/sync_*; cat /proc/mdstat /var/lib/millrace/scrub.json; journalctl -b -u {UNIT}"))
    assert box.say(f"cat {MD}/sync_action") == "idle"
    assert box.array_sysfs("data", "md/sync_speed_max").split()[0] == planned
    kept = scrubs(box)["data"]
    assert 0 < kept["under_way"]["sector"] < kept["under_way"]["sectors"]
    assert (kept["last"], kept["under_way"]["most"]) == (None, None)
    assert "an administrator stopped it" in box.millrace("pool scrub status").out

    limit(box, FASTER)
    box.millrace("pool scrub start")
    box.machine.wait_command(f"grep -qx check {MD}/sync_action", "the rest of the check", 120)
    assert int(box.array_sysfs("data", "md/sync_min")) == kept["under_way"]["sector"]
    wait_checked(box)
    last = scrubs(box)["data"]["last"]
    component = int(box.array_sysfs("data", "md/component_size"))
    assert (last["mismatches"], last["bad_areas"], last["bytes"]) == (0, 0, MEMBERS * 1024 * component)
    assert last["started"] == kept["under_way"]["started"] < last["ended"]
    assert findings(box)["scrub"]["level"] == "OK"


def write_parity(box: Box, name: str) -> None:
    """Write to the parity of a file's first block, behind the back of md (raid5.c, left-symmetric)."""
    box.say(f"head -c 8M /dev/urandom > {EXPORT}/{name}; sync {EXPORT}/{name}")
    match = re.search(r"0: \[\d+\.\.\d+\]:\s+(\d+)\.\.", box.say(f"xfs_io -r -c bmap {EXPORT}/{name}"))
    assert match
    chunk = int(box.array_sysfs("data", "md/chunk_size")) // 512
    number, inside = divmod(int(match[1]), chunk)
    row = number // (MEMBERS - 1)
    slot = MEMBERS - 1 - row % MEMBERS
    member = box.say(f"for d in {MD}/dev-*; do grep -qx {slot} $d/slot && basename $d; done; true").removeprefix("dev-")
    offset = int(box.array_sysfs("data", f"md/dev-{member}/offset"))
    at = (offset + row * chunk + inside) * 512 // BLOCK
    box.say(f"dd if=/dev/urandom of=/dev/{member} bs={BLOCK} count=1 seek={at} oflag=direct conv=notrunc")


def check_all(box: Box) -> dict[str, Any]:
    limit(box, UNLIMITED)
    # What md has in its cache it would not read: it keeps the few stripes that were used last, which are others now.
    box.say(f"head -c 8M /dev/urandom > {EXPORT}/other; sync {EXPORT}/other")
    cache = box.say(f"cat {MD}/stripe_cache_size")
    box.say(f"echo 17 > {MD}/stripe_cache_size; echo {cache} > {MD}/stripe_cache_size")
    box.millrace("pool scrub start")
    wait_checked(box)
    return dict(scrubs(box)["data"]["last"])


@contextmanager
def damaged(box: Box, path: str) -> Iterator[None]:
    """The middle of a file of 8 MiB is in an area that a member lists as bad; a write of the file clears it."""
    box.say(f"head -c 8M /dev/urandom > {path}; sync {path}")
    match = re.search(r"0: \[0\.\.(\d+)\]:\s+(\d+)\.\.", box.say(f"xfs_io -r -c bmap {path}"))
    assert match and int(match[1]) == (8 << 11) - 1
    chunk = int(box.array_sysfs("data", "md/chunk_size")) // 512
    number, inside = divmod(int(match[2]) + (4 << 11), chunk)
    member = box.say(f"for d in {MD}/dev-*; do grep -qx 0 $d/slot && basename $d; done; true")
    offset = int(box.array_sysfs("data", f"md/{member}/offset"))
    box.say(f"echo '{offset + number // (MEMBERS - 1) * chunk + inside} {BLOCK // 512}' > {MD}/{member}/bad_blocks")
    try:
        yield
    finally:
        box.say(f"dd if=/dev/zero of={path} bs=8M count=1 conv=notrunc,fsync oflag=direct status=none")
    assert box.say(f"cat {MD}/{member}/bad_blocks") == ""


def test_damaged_file_is_named_by_its_parents(box: Box) -> None:
    box.say(f"mkdir -p {EXPORT}/names/deep")
    # as a client may call it
    path = f"'{EXPORT}/names/deep/vic\ntim'"
    with damaged(box, path):
        box.say(f"ln {path} {EXPORT}/names/link")
        named = box.shown("pool scrub files --json")
        print(named)
        assert named["files"] == ["data/names/deep/vic\\ntim", "data/names/link"]
        assert (named["complete"], named["notes"]) == (True, [])
        box.say(f"mv {EXPORT}/names/deep {EXPORT}/names/moved; rm {EXPORT}/names/link")
        # with the rights of the unit, which a check starts as well
        assert box.shown("pool scrub files --json")["files"] == ["data/names/moved/vic\\ntim"]
        said = box.say("journalctl -b -o cat -u millrace-scrub-files.service")
        print(said)
        assert "data/names/moved/vic\\ntim" in said
        job = box.shown("job show damaged-files --json")
        assert (job["state"], job["by"]) == ("done", "root")
        box.say(f"mv {EXPORT}/names/moved {EXPORT}/names/deep")
    box.say(f"rm -r {EXPORT}/names")


MANY = """
import os, sys, time
top, count = sys.argv[1], int(sys.argv[2])
for directory in range(count // 1000):
    path = f"{top}/{directory:04}"
    os.makedirs(path)
    at = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(1000):
        os.close(os.open(f"file {number}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=at))
    os.close(at)
"""
# The place of the last file in the walk that names files where there are no parent pointers, and its seconds.
WALK = """
import pathlib, time
from millrace.system.trees.walk import regular_files
begin = time.monotonic()
names = [name for name, _ in regular_files(pathlib.Path("/srv/pool"), ".millrace")]
print(len(names), time.monotonic() - begin, names[-1])
"""


def seconds(box: Box) -> float:
    """How long the search takes for all names, with nothing in memory."""
    box.say("sync -f /srv/pool; echo 3 > /proc/sys/vm/drop_caches")
    timed = "begin=$(date +%s%N); millrace pool scrub files --json > /run/named; echo $(($(date +%s%N) - begin))"
    return int(box.say(timed, seconds=600)) / 10**9


def test_name_among_many_files_takes_as_long_as_among_few(box: Box) -> None:
    few_at, many = f"{EXPORT}/few", f"{EXPORT}/many"
    with damaged(box, few_at):
        few = seconds(box)
        assert json.loads(box.say("cat /run/named"))["files"] == ["data/few"]
    try:
        box.machine.run(["python3", "-c", MANY, many, str(FILES)], seconds=7200)
        # its name is in the directory that a walk reads last
        last = box.machine.run(["python3", "-c", WALK], seconds=3600).out.split(maxsplit=2)[2].strip()
        victim = f"/srv/pool/{last.rpartition('/')[0]}/zz"
        with damaged(box, victim):
            took = seconds(box)
            named = json.loads(box.say("cat /run/named"))
            box.say("echo 3 > /proc/sys/vm/drop_caches")
            count, walked, end = box.machine.run(["python3", "-c", WALK], seconds=3600).out.split(maxsplit=2)
            print(f"{count} files: named in {took:.1f} s, among few in {few:.1f} s; read in {float(walked):.1f} s")
            assert (named["files"], named["complete"]) == ([victim.removeprefix("/srv/pool/")], True)
            assert int(count) > FILES and end.rpartition("/")[0] == last.rpartition("/")[0]
            assert took < few + 10
    finally:
        box.machine.run(f"rm -rf {few_at} {many}", seconds=3600)


def test_block_that_changed_behind_md_is_found(box: Box) -> None:
    write_parity(box, "victim")
    assert check_all(box)["mismatches"] == BLOCK // 512
    print(box.say("journalctl -k -b | grep -i 'md[0-9]*:' | tail -20; millrace pool scrub status"))
    print(box.say("xfs_io -r -c 'fsmap -v' /srv/pool | head -40", seconds=60))
    named = box.shown("pool scrub files --json")
    print(named)
    assert "data/victim" in named["files"] and len(named["files"]) <= 8
    assert (named["complete"], named["sectors"]) == (True, (MEMBERS - 1) * BLOCK // 512)
    (place,) = scrubs(box)["data"]["last"]["ranges"]
    assert place["end"] - place["begin"] == place["sectors"] == BLOCK // 512
    # found by the unit that the check has started
    doubt = "millrace pool scrub status | grep -F 'in doubt: '"
    box.machine.wait_command(doubt, "the search for files", 300)
    key, finding = next((key, finding) for key, finding in findings(box).items() if "mismatch" in key)
    assert (key, finding["level"]) == ("scrub/mismatch/data", "WARN")
    assert "data/victim" in finding["sentence"] and "pool scrub repair data" in finding["todo"]
    said = box.millrace("pool scrub repair data --yes")
    print(said.out, said.err)
    assert "parity is computed from the data" in said.err
    wait_checked(box)
    print(box.say("millrace pool scrub status; cat /var/lib/millrace/scrub.json"))
    repaired = scrubs(box)["data"]["repaired"]
    assert (repaired["rewritten"], repaired["left"]) == (BLOCK // 512, 0)
    assert findings(box)["scrub"]["level"] == "OK"
    assert check_all(box)["mismatches"] == 0


def test_place_in_a_mirror_is_found_by_reading_again(box: Box) -> None:
    """The kernel logs none; the last block of the half that a repair overwrites."""
    log = f"/sys/class/block/{box.say('basename $(readlink /dev/md/millrace-log)')}/md"
    member = box.say(f"for d in {log}/dev-*; do grep -qx 1 $d/slot && basename $d; done; true").removeprefix("dev-")
    last = 2 * int(box.array_sysfs("log", "md/component_size")) - BLOCK // 512
    at = (int(box.say(f"cat {log}/dev-{member}/offset")) + last) * 512 // BLOCK
    box.say(f"dd if=/dev/urandom of=/dev/{member} bs={BLOCK} count=1 seek={at} oflag=direct conv=notrunc")
    check_all(box)
    scrubbed = scrubs(box)["log"]["last"]
    print(scrubbed)
    (place,) = scrubbed["ranges"]
    assert place["begin"] <= last < place["end"] <= place["begin"] + 4096
    assert findings(box)["scrub/mismatch/log"]["todo"] == "millrace pool scrub repair log"
    box.millrace("pool scrub repair log --yes")
    wait_checked(box)
    assert scrubs(box)["log"]["repaired"]["left"] == 0
    assert findings(box)["scrub"]["level"] == "OK"


def test_file_system_is_checked_online(box: Box) -> None:
    box.say("systemd-analyze verify --man=no millrace-xfs-scrub.service millrace-upkeep@xfs-scrub.timer")
    assert box.say("systemctl is-enabled xfs_scrub_all.timer; true") == "masked"
    assert box.say("systemctl is-active millrace-upkeep@xfs-scrub.timer") == "active"
    box.machine.run("systemctl start --wait millrace-xfs-scrub.service", seconds=900, check=False)
    print(box.say("journalctl -b -o cat -u millrace-xfs-scrub.service"))
    found = box.shown("pool scrub status --json")["filesystem"]
    assert found["problem"] is None and found["started"] <= found["ended"]
    assert box.failed_units() == []


def floor(box: Box) -> int:
    return int(box.array_sysfs("data", "md/sync_speed_min").split()[0])


def test_floor_of_a_rebuild_rises_with_a_lost_member_and_with_the_priority(box: Box) -> None:
    most = box.plan["md"]["sync_speed_max"]
    retuned = f"grep -qx '{{}} (local)' {MD}/sync_speed_min"
    assert floor(box) == 100_000
    array, member = "/dev/md/millrace-data", box.say(f"ls -d {MD}/dev-* | head -n 1").rpartition("/dev-")[2]
    try:
        box.say(f"mdadm {array} --fail /dev/{member}")
        # tuned again by the event, without a verb
        box.machine.wait_command(retuned.format(most // 4), "the floor with no failure left", 300)
        assert box.shown("pool priority rebuild --json")["arrays"][0]["sync_speed_min"] == most == floor(box)
        box.millrace("pool priority clients")
        assert floor(box) == most // 8
        box.millrace("pool priority balanced")
        assert floor(box) == most // 4
        refused = box.millrace("pool scrub start", check=False)
        assert (refused.status, "array data is degraded" in refused.err) == (1, True)
    finally:
        box.say(f"mdadm {array} --remove /dev/{member}; mdadm {array} --re-add /dev/{member}")
    box.machine.wait_command(f"grep -qx 0 {MD}/degraded", "every member in sync", 300)
    box.machine.wait_command(retuned.format(100_000), "the floor with nothing missing", 300)
