# SPDX-License-Identifier: Apache-2.0
"""The drives of a new log: those that were named, else free partitions of the pool; no other drive is written."""

from pathlib import Path

import pytest

from millrace.storage.drive.attached import Drives
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.new_log import choose
from millrace.storage.rescue.rescue_model import NewLog
from millrace.system.errors import Refused
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import new_disk
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.plans import GIB, planned, planned_1u12, raid6_plan
from tests.unit.storage.rescue.lost import log_record, lost

__all__ = ["root"]


def chosen(world: WithoutLog, *serials: str) -> NewLog:
    return choose(world, Drives(world), load_pool(), log_record(), serials)


@pytest.mark.parametrize(
    ("serials", "match"),
    [
        (["N1"], "give two drives"),
        (["N1", "N1"], "give two drives"),
        (["N1", "N2", "N3", "N4"], "give two drives"),
        (["N1", "N9"], "no drive of this server has the serial number 'N9'"),
        (["N1", "FOREIGN"], r"cannot be on drive FOREIGN.*: it is not blank \(ext4"),
        (["N1", "D0"], r"cannot be on drive D0.*: it is not blank"),
        (["N1", "TINY"], r"drive TINY.*: it is too small by \d+ bytes"),
    ],
)
def test_drive_that_cannot_carry_the_log_is_refused(root: Path, serials: list[str], match: str) -> None:
    world = lost(raid6_plan(), "N1", "N2", "N3", "N4")
    plug_in(world, new_disk("TINY", GIB))
    world.writes.clear()
    with pytest.raises(Refused, match=match):
        chosen(world, *serials)
    assert world.writes == []


def test_two_drives_with_one_serial_number_are_refused(root: Path) -> None:
    world = lost(raid6_plan(), "N1", "N2")
    plug_in(world, new_disk("N2"))
    with pytest.raises(Refused, match="2 drives have the serial number 'N2'"):
        chosen(world, "N1", "N2")


def test_third_drive_is_the_hot_spare(root: Path) -> None:
    new = chosen(lost(raid6_plan(), "N1", "N2", "N3"), "N1", "N2", "N3")
    assert (new.array.array.members, new.array.array.spares) == (["N1", "N2"], ["N3"])
    sizes = {part.size for one in new.drives for part in one.partitions}
    assert sizes == {9 * GIB} and new.array.uuid != log_record().uuid


def test_without_free_partitions_drives_are_asked_for(root: Path) -> None:
    with pytest.raises(Refused, match=r"no free log partitions .* insert two blank drives with room for 9 GiB"):
        chosen(lost(raid6_plan(), "N1", "N2"))


def test_free_partitions_of_the_pool_are_used_with_a_hot_spare(root: Path) -> None:
    new = chosen(lost(planned_1u12()))
    assert new.drives == []
    used = {one.serial for one in (*new.array.members, *new.array.spares)}
    assert len(used) == 3 and not used & {one.serial for one in (*log_record().members, *log_record().spares)}


def test_partition_that_holds_something_is_not_free(root: Path) -> None:
    world = lost(planned(7))
    first = {one.serial for one in chosen(world).array.members}
    for disk in world.disks:
        if disk.serial in first:
            uuid = next(uuid for uuid, label in disk.labels.items() if "-log-" in label)
            disk.inside[uuid]["TYPE"] = "ext4"
    assert not first & {one.serial for one in chosen(world).array.members}


def test_one_free_partition_is_too_few(root: Path) -> None:
    world = lost(planned(7))
    for disk in world.disks:
        for uuid, label in list(disk.labels.items())[:1]:
            if disk.serial != world.disks[0].serial and "-log-" in label and not disk.inside[uuid]:
                disk.inside[uuid]["TYPE"] = "ext4"
    with pytest.raises(Refused, match=r"1 free log partition on|no free log partitions on"):
        chosen(world)


def test_drives_that_are_gone_have_no_free_partition(root: Path) -> None:
    world = lost(planned(7))
    first = chosen(world).array.members[0].serial
    die(world, first)
    assert first not in {one.serial for one in chosen(world).array.members}
