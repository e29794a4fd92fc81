# SPDX-License-Identifier: Apache-2.0
"""Discards reach the drives only as long as every member of now guarantees zeroes."""

import errno

import pytest

from millrace.plan.model import Plan
from millrace.storage.array import discard
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.model import DriveRecord, Pool
from millrace.storage.record.pool_file import save_pool
from millrace.system.errors import Failed
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan, raid50_plan
from tests.unit.storage.server import built, server_for


def plan_with(wanted: bool | None, plan: Plan | None = None) -> Plan:
    plan = plan or raid6_plan()
    return plan.model_copy(update={"filesystem": plan.filesystem.model_copy(update={"discard": wanted})})


def pool_with(wanted: bool | None, plan: Plan | None = None) -> tuple[World, Pool]:
    made = plan_with(wanted, plan)
    world = server_for(made)
    return world, built(world, made)


def distrusted(pool: Pool, serial: str, value: bool | None = False) -> Pool:
    """The pool with a drive of which nobody knows that it reads as zeroes."""
    drives = [one.model_copy(update={"discard": value}) if one.serial == serial else one for one in pool.drives]
    changed = pool.model_copy(update={"drives": drives})
    save_pool(changed)
    return changed


def record_of(pool: Pool, serial: str) -> DriveRecord:
    return next(one for one in pool.drives if one.serial == serial)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("wanted", [True, False, None])
def test_arrays_are_created_and_started_as_planned(wanted: bool | None) -> None:
    world, pool = pool_with(wanted)
    # None: the kernel's parameter stays as it is
    assert world.discard is wanted
    assert {one.discard for one in pool.drives} == {wanted}
    world.discard = None
    world.boot()
    assemble(world, lambda _: None)
    assert world.discard is wanted


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("value", [False, None])
def test_a_member_that_may_not_read_as_zeroes_keeps_discards_from_all(value: bool | None) -> None:
    world, pool = pool_with(True)
    pool = distrusted(pool, "D2", value)
    assert (discard.allowed(pool), discard.without_guarantee(pool)) == (False, ["D2"])
    world.boot()
    said: list[str] = []
    assemble(world, said.append)
    assert world.discard is False
    assert said[0] == "discards are kept from the drives: D2 may not read as zeroes after one"


@pytest.mark.usefixtures("root")
def test_a_log_drive_keeps_nothing_from_the_data() -> None:
    _, pool = pool_with(True)
    assert discard.allowed(distrusted(pool, "L0")) is True


@pytest.mark.usefixtures("root")
def test_a_member_without_a_record_keeps_discards_from_all() -> None:
    _, pool = pool_with(True)
    by_hand = pool.model_copy(update={"drives": [one for one in pool.drives if one.serial != "D1"]})
    assert discard.without_guarantee(by_hand) == ["D1"]


@pytest.mark.usefixtures("root")
def test_a_new_drive_switches_discards_off_in_legs_and_raid0() -> None:
    world, pool = pool_with(True, raid50_plan())
    discard.keep_from(world, pool, record_of(pool, "D1"))
    assert world.refuses_discard == set()
    discard.keep_from(world, pool, record_of(distrusted(pool, "L0"), "L0"))
    assert world.refuses_discard == set()
    discard.keep_from(world, pool, record_of(distrusted(pool, "D1"), "D1"))
    assert world.refuses_discard == {"millrace-leg0", "millrace-leg1", "millrace-data"}


@pytest.mark.usefixtures("root")
def test_a_drive_does_not_join_where_the_kernel_goes_on_with_discards(monkeypatch: pytest.MonkeyPatch) -> None:
    world, pool = pool_with(True)

    def refuse(name: str) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(world, "md_no_discard", refuse)
    with pytest.raises(Failed, match="RAID6 data still passes discards on"):
        discard.keep_from(world, pool, record_of(distrusted(pool, "D1"), "D1"))


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("wanted", [False, None])
def test_a_pool_without_discards_is_left_alone(wanted: bool | None) -> None:
    world, pool = pool_with(wanted)
    discard.keep_from(world, pool, record_of(pool, "D1"))
    assert world.refuses_discard == set()


@pytest.mark.usefixtures("root")
def test_a_parameter_that_cannot_be_set_does_not_stop_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    world, pool = pool_with(True)

    def refuse(allowed: bool) -> None:
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(world, "md_discard", refuse)
    said: list[str] = []
    discard.prepare(world, pool, said.append)
    assert said == ["cannot set whether md passes discards on: No such file or directory"]
