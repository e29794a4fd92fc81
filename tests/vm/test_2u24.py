# SPDX-License-Identifier: Apache-2.0
"""A 2U24 with drives of others and of another pool in it: nothing is written. Without them: RAID50 of two legs."""

import pytest

from tests.vm import occupied, promises
from tests.vm.box import Box, node_of
from tests.vm.occupied_stories import *  # noqa: F403
from tests.vm.servers import server_named
from vm.appliance import Appliance
from vm.server import Server

# plan and steps are those of tests/unit; a boot with 29 drives takes two processors five minutes
pytestmark = pytest.mark.soak

KIB = 1024
LEGS = ("leg0", "leg1")
# a week has one window of 5 minutes, of which a check uses 90 % of 4: these small drives need a rate that shows
SHORT = '[scrub]\nevery = "week"\nwindow = "Sun 01:00-01:05"\nrate_kib = 20000\n'
USABLE = 216


@pytest.fixture(scope="module")
def server() -> Server:
    return server_named("2u24")


def test_other_sector_sizes_are_an_obstacle(box: Box) -> None:
    obstacles = box.read_json("cat /run/millrace/plan.json")["proposal"]["obstacles"]
    assert any(one["drives"] and "different sector sizes" in one["what"] for one in obstacles)


def test_plan_is_ready_after_the_occupied_drives_are_pulled(box: Box, machine: Appliance) -> None:
    machine.pull(*occupied.DRIVES)
    assert box.shown("plan --again --json")["proposal"]["verdict"] == "ready"
    # the approval of the boot was for what stood there at the boot
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1


def test_approved_hash_builds_the_pool(box: Box) -> None:
    # over the console, as an administrator in front of it would
    digest = box.read_json("cat /run/millrace/plan.json")["sha256"]
    box.machine.run(["millrace", "approve", digest], seconds=1200)
    box.wait_serving()
    assert box.pool["plan_sha256"] == digest


def test_data_is_a_stripe_over_two_legs_of_nine_drives(box: Box) -> None:
    arrays = {array["name"]: array for array in box.plan["arrays"]}
    for leg in ("leg0", "leg1"):
        assert box.array_detail(leg)["MD_LEVEL"] == arrays[leg]["level"] == "raid5"
        assert box.members_by_serial(leg) == set(arrays[leg]["members"])
        assert len(arrays[leg]["members"]) == 9
        assert int(box.array_sysfs(leg, "md/chunk_size")) == 64 * KIB
    assert box.array_detail("data")["MD_LEVEL"] == "raid0"
    # kernel 7.2: the raid0 chunk caps the bio, so it is the full stripe of a leg
    assert int(box.array_sysfs("data", "md/chunk_size")) == 8 * 64 * KIB
    assert box.array_detail("log")["MD_LEVEL"] == "raid1"


def test_leg_stays_within_one_numa_node(box: Box) -> None:
    for leg in ("leg0", "leg1"):
        script = f"""
for slave in /sys/class/block/$(basename $(readlink -f /dev/md/millrace-{leg}))/slaves/*; do
    {node_of("$(dirname $(readlink -f $slave))")}
done"""
        assert len(set(box.say(script).split())) == 1


def test_file_system_is_aligned_to_the_legs(box: Box) -> None:
    geometry = box.xfs_geometry()
    assert geometry["data.sunit"] * geometry["data.bsize"] == 512 * KIB
    assert geometry["data.swidth"] == 2 * geometry["data.sunit"]


def test_allocation_groups_begin_on_both_legs(box: Box) -> None:
    geometry = box.xfs_geometry()
    units, rest = divmod(geometry["meta-data.agsize"], geometry["data.sunit"])
    assert (units % 2, rest) == (1, 0)


def test_pool_is_served_without_a_failed_unit(box: Box) -> None:
    box.wait_booted()
    assert box.failed_units() == []
    assert "/srv/pool/data" in box.say("exportfs -s")


def test_every_setting_equals_the_plan(box: Box) -> None:
    promises.everything(box)


def test_both_legs_are_checked_at_the_same_time_at_the_computed_rate(box: Box) -> None:
    policy = "/etc/millrace/policy.toml"
    assert box.machine.run(f"test -e {policy}", check=False).status
    box.machine.wait_command("! grep -E 'resync|recovery' /proc/mdstat", "arrays in sync", 900)
    box.machine.run(f"mkdir -p /etc/millrace; cat > {policy}", stdin=SHORT)
    before = {leg: box.array_sysfs(leg, "md/sync_speed_max").split()[0] for leg in LEGS}
    log, *legs = (int(box.array_sysfs(name, "md/component_size")) for name in ("log", *LEGS))
    least = -(-(log + max(legs)) // USABLE)
    try:
        box.millrace("pool scrub start")
        md = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-{}))/md/sync_completed"
        read = " && ".join(f"grep -qE '^[1-9][0-9]* /' {md.format(leg)}" for leg in LEGS)
        box.machine.wait_command(read, "both legs are read", 600)
        print(box.say("cat /proc/mdstat; millrace pool scrub status"))
        pace = box.shown("pool scrub status --json")["pace"]
        assert (pace["least_kib"], pace["most_kib"], pace["kept"]) == (least, 20000, True)
        for leg in LEGS:
            assert box.array_sysfs(leg, "md/sync_speed_min") == f"{least} (local)"
            assert box.array_sysfs(leg, "md/sync_speed_max") == "20000 (local)"
        ended = "systemctl show -P ActiveState millrace-scrub.service | grep -qxE 'inactive|failed'"
        box.machine.wait_command(ended, "the end of the check", 900)
        status = box.shown("pool scrub status --json")
        print(box.say("millrace pool scrub status"))
    finally:
        box.say(f"rm {policy}")
    last = {array["kept"]["array"]: array["kept"]["last"] for array in status["arrays"]}
    assert {scrubbed["mismatches"] for scrubbed in last.values()} == {0} and status["round"] is None
    assert last["log"]["ended"] <= last["leg0"]["started"]
    assert max(last[leg]["started"] for leg in LEGS) < min(last[leg]["ended"] for leg in LEGS)
    assert {leg: box.array_sysfs(leg, "md/sync_speed_max").split()[0] for leg in LEGS} == before


def test_pulled_drives_are_unchanged(machine: Appliance, before: dict[str, str]) -> None:
    assert occupied.checksums(machine) == before
