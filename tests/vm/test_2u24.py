# SPDX-License-Identifier: Apache-2.0
"""A 2U24 with drives of others and of another pool in it: nothing is written. Without them: RAID50 of two legs."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm import occupied, promises
from tests.vm.box import Box, credentials, node_of
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import Appliance, appliance

KIB = 1024
SERVER = server_named("2u24")
# More bays than it has, so that both stories need one boot.
FULL = dataclasses.replace(SERVER, drives=(*SERVER.drives, *(drive for _, drive in occupied.DRIVES.values())))


@pytest.fixture(scope="module")
def machine(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    # what would be approved is built: nothing may be
    given = credentials(millrace__provision=b"auto")
    with appliance(FULL, image, tmp_path_factory.mktemp("2u24"), accelerator, credentials=given) as machine:
        occupied.occupy(machine)
        yield machine


@pytest.fixture(scope="module")
def before(machine: Appliance) -> dict[str, str]:
    """Checksums from before the first power-on."""
    return occupied.checksums(machine)


@pytest.fixture(scope="module")
def box(before: dict[str, str], machine: Appliance) -> Box:
    machine.start()
    box = Box(machine)
    box.wait_booted()
    return box


# Nine drives that are not blank


def test_every_occupied_drive_is_listed_with_its_content(box: Box) -> None:
    proposal = box.read_json("cat /run/millrace/plan.json")["proposal"]
    assert proposal["verdict"] == "refused"
    said = {obstacle["serial"]: obstacle["what"] for obstacle in proposal["obstacles"]}
    for serial, (kind, _) in occupied.DRIVES.items():
        assert occupied.KINDS[kind][1] in said[serial], f"{kind}: {said[serial]}"
    # a drive that carries a pool is kept, whatever else is wrong with it
    (pool,) = (one for one in proposal["obstacles"] if "another Millrace pool" in one["what"])
    assert "erase" not in pool["todo"]
    # their sectors are of another size, too
    assert "different sector sizes" in said.pop(None)
    assert set(said) == set(occupied.DRIVES)


def test_occupied_drives_are_named_on_the_console_and_in_the_journal(box: Box) -> None:
    journal = box.say("journalctl -b -u millrace-plan --no-pager")
    for serial in occupied.DRIVES:
        assert serial in journal
        assert serial in box.machine.console


def test_provisioning_is_refused(box: Box) -> None:
    refused = box.millrace("provision", check=False)
    assert refused.status == 1
    assert len(refused.err.strip().splitlines()) == 1
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1


def test_server_without_a_pool_has_no_failed_unit(box: Box) -> None:
    assert box.failed_units() == []
    assert box.say("systemctl is-active cockpit.socket") == "active"
    for service in ("nfs-server", "smbd"):
        assert box.machine.run(f"systemctl is-active {service}", check=False).out.strip() == "inactive"


def test_occupied_drives_are_not_written(box: Box, machine: Appliance, before: dict[str, str]) -> None:
    box.say("sync")
    assert occupied.checksums(machine) == before
    assert occupied.written(machine, SERVER.drives) == []


# The drives that are left. Plan and steps are those of tests/unit: the arrays of 24 drives are built by hand only.


@pytest.mark.soak
def test_plan_is_ready_after_the_occupied_drives_are_pulled(box: Box, machine: Appliance) -> None:
    machine.pull(*occupied.DRIVES)
    assert box.shown("plan --again --json")["proposal"]["verdict"] == "ready"
    # the approval of the boot was for what stood there at the boot
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1


@pytest.mark.soak
def test_approved_hash_builds_the_pool(box: Box) -> None:
    # over the console, as an administrator in front of it would
    digest = box.read_json("cat /run/millrace/plan.json")["sha256"]
    box.machine.run(["millrace", "approve", digest], seconds=1200)
    box.wait_serving()
    assert box.pool["plan_sha256"] == digest


@pytest.mark.soak
def test_data_is_a_stripe_over_two_legs_of_nine_drives(box: Box) -> None:
    arrays = {array["name"]: array for array in box.plan["arrays"]}
    for leg in ("leg0", "leg1"):
        assert box.array_detail(leg)["MD_LEVEL"] == arrays[leg]["level"] == "raid5"
        assert box.members_by_serial(leg) == set(arrays[leg]["members"])
        assert len(arrays[leg]["members"]) == 9
        assert int(box.array_sysfs(leg, "md/chunk_size")) == 128 * KIB
    assert box.array_detail("data")["MD_LEVEL"] == "raid0"
    # kernel 7.2: the raid0 chunk caps the bio, so it is the full stripe of a leg
    assert int(box.array_sysfs("data", "md/chunk_size")) == 8 * 128 * KIB
    assert box.array_detail("log")["MD_LEVEL"] == "raid1"


@pytest.mark.soak
def test_leg_stays_within_one_numa_node(box: Box) -> None:
    for leg in ("leg0", "leg1"):
        script = f"""
for slave in /sys/class/block/$(basename $(readlink -f /dev/md/millrace-{leg}))/slaves/*; do
    {node_of("$(dirname $(readlink -f $slave))")}
done"""
        assert len(set(box.say(script).split())) == 1


@pytest.mark.soak
def test_file_system_is_aligned_to_the_legs(box: Box) -> None:
    geometry = box.xfs_geometry()
    assert geometry["data.sunit"] * geometry["data.bsize"] == 1024 * KIB
    assert geometry["data.swidth"] == 2 * geometry["data.sunit"]


@pytest.mark.soak
def test_allocation_groups_begin_on_both_legs(box: Box) -> None:
    geometry = box.xfs_geometry()
    units, rest = divmod(geometry["meta-data.agsize"], geometry["data.sunit"])
    assert (units % 2, rest) == (1, 0)


@pytest.mark.soak
def test_pool_is_served_without_a_failed_unit(box: Box) -> None:
    box.wait_booted()
    assert box.failed_units() == []
    assert "/srv/pool/data" in box.say("exportfs -s")


@pytest.mark.soak
def test_every_setting_equals_the_plan(box: Box) -> None:
    promises.everything(box)


@pytest.mark.soak
def test_pulled_drives_are_unchanged(machine: Appliance, before: dict[str, str]) -> None:
    assert occupied.checksums(machine) == before
