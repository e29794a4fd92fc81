# SPDX-License-Identifier: Apache-2.0
"""A 2U24: 18 data drives become RAID50 of two legs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm import promises
from tests.vm.box import Box, credentials, node_of
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance

KIB = 1024


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    directory = tmp_path_factory.mktemp("2u24")
    with appliance(server_named("2u24"), image, directory, accelerator, credentials=credentials()) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        yield box


def test_the_right_hash_builds_the_pool(box: Box) -> None:
    # over the console, as the person in front of it would
    digest = box.read_json("cat /run/millrace/plan.json")["sha256"]
    box.machine.run(["millrace", "approve", digest], seconds=1200)
    box.wait_serving()


def test_two_legs_of_nine_under_a_stripe(box: Box) -> None:
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


def test_a_leg_stays_within_one_node(box: Box) -> None:
    for leg in ("leg0", "leg1"):
        script = f"""
for slave in /sys/class/block/$(basename $(readlink -f /dev/md/millrace-{leg}))/slaves/*; do
    {node_of("$(dirname $(readlink -f $slave))")}
done"""
        assert len(set(box.say(script).split())) == 1


def test_file_system_is_aligned_to_the_legs(box: Box) -> None:
    geometry = box.xfs_geometry()
    assert geometry["data.sunit"] * geometry["data.bsize"] == 1024 * KIB
    assert geometry["data.swidth"] == 2 * geometry["data.sunit"]


def test_it_serves_with_no_failed_unit(box: Box) -> None:
    box.wait_booted()
    assert box.failed_units() == []
    assert "/srv/pool/data" in box.say("exportfs -s")


def test_every_setting_equals_the_plan(box: Box) -> None:
    promises.everything(box)
