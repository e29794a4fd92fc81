# SPDX-License-Identifier: Apache-2.0
"""RAID60: more drives than a leg survives are gone for a moment, also while a hot spare is being filled."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, serving
from tests.vm.drives.records import (
    acknowledge,
    in_doubt,
    put_in,
    see_records,
    show,
    states,
    wait_broken,
    wait_in_sync,
    wait_revived,
    write,
)
from vm.accel import Accel

# minutes of a server of its own
pytestmark = pytest.mark.soak

# Two legs of four, and one hot spare.
MORE = tuple(dataclasses.replace(FIVE.drives[0], serial=f"MRE0000000000{number}") for number in (6, 7, 8, 9))
SERVER = dataclasses.replace(FIVE, drives=(*FIVE.drives, *MORE))
POLICY = '[layout]\nlevel = "raid60"\nspares = 1\n'
SPEED = "/proc/sys/dev/raid"
LEGS = ("leg0", "leg1")


@pytest.fixture(scope="module")
def legs(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("legs"), policy=POLICY) as box:
        wait_whole(box)
        yield box


def wait_whole(box: Box) -> None:
    for leg in LEGS:
        wait_in_sync(box, f"/sys/class/block/$(basename $(readlink -f /dev/md/millrace-{leg}))/md")


def with_spare(box: Box) -> str:
    """The leg that the hot spare belongs to."""
    (leg,) = [one for one in LEGS if "spare" in states(box, one).values()]
    return leg


def away(box: Box, leg: str) -> list[str]:
    """Three members of a leg, those first that the log has nothing on."""
    log = {*box.recorded("log"), *box.recorded("log", "spares")}
    filled = [serial for serial, state in states(box, leg).items() if state == "in-sync"]
    return sorted(filled, key=lambda one: (one in log, one))[:3]


def test_three_drives_of_a_leg_come_back_and_the_pool_serves(legs: Box) -> None:
    gone = away(legs, with_spare(legs))
    write(legs)
    for serial in gone:
        legs.machine.release(serial)
    wait_broken(legs)
    show(legs)
    doubt = in_doubt(legs)
    put_in(legs, gone)
    wait_revived(legs)
    assert see_records(legs, named=doubt) <= 2
    wait_whole(legs)
    for leg in LEGS:
        assert set(states(legs, leg).values()) <= {"in-sync", "spare"}
    acknowledge(legs)


def test_spare_that_is_half_filled_is_not_started_with(legs: Box) -> None:
    wait_whole(legs)
    leg = with_spare(legs)
    (spare,) = [serial for serial, state in states(legs, leg).items() if state == "spare"]
    first, *rest = away(legs, leg)
    legs.say(f"cd {SPEED}; echo 500 > speed_limit_max; echo 500 > speed_limit_min")
    legs.machine.pull(first)
    legs.machine.wait_command("grep recovery /proc/mdstat", "the spare being filled", 300)
    write(legs)
    for serial in rest:
        legs.machine.release(serial)
    wait_broken(legs)
    show(legs)
    put_in(legs, [first, *rest])
    wait_revived(legs)
    shown = states(legs, leg)
    assert {shown[serial] for serial in rest} == {"in-sync"} and shown.get(spare) != "in-sync", shown
    legs.say(f"echo 200000 > {SPEED}/speed_limit_max")
    assert see_records(legs) <= 2
    wait_whole(legs)
    acknowledge(legs)
