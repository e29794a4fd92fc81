# SPDX-License-Identifier: Apache-2.0
"""At boot one half of a mirror is there, and it is not certain that the other one has not gone on without it."""

import json
from pathlib import Path

import pytest

from millrace.storage.assemble import in_sync, standstill
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.readd import readd
from millrace.storage.record.failure_record import Failure
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.diagnosis import LogIsThere, diagnose
from millrace.system import paths
from millrace.system.documents import Contract, write_model
from millrace.system.errors import Failed
from millrace.system.files import append_line
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, plug_in, writing
from tests.unit.storage.plans import planned, raid6_plan
from tests.unit.storage.server import built, server_for

REFUSED = (
    r"^RAID1 log is not started: L1 may have left after L0, and would be newer\. An older log damages the file "
    r"system\. Reinsert L1, then: systemctl restart millrace-assemble\. To start without L1: millrace pool revive$"
)
# when the superblocks of the fake are written
WRITTEN = 1795000000.0


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3 and a mirror of L0 and L1 with the log; nothing is recorded of their members."""
    built(world, raid6_plan())
    return world


def recorded(world: World) -> None:
    in_sync.record(world, load_pool(), lambda _: None)


def older_half(world: World) -> None:
    """L0 leaves, and the log goes on with L1 until the power goes."""
    die(world, "L0")
    writing(world, "log")
    writing(world, "log")


def boot(world: World, *without: str) -> None:
    world.boot()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial not in without}


def started(world: World) -> list[str]:
    lines: list[str] = []
    assemble(world, lines.append)
    return lines


def log_runs(world: World) -> bool:
    return world.md_link("millrace-log") is not None


def test_newer_half_is_taken_where_both_are_there_and_nothing_is_recorded(pool: World) -> None:
    older_half(pool)
    boot(pool)
    assert started(pool)[1] == "RAID1 log: started without L0; L0 returned and is resyncing"


def test_half_alone_is_not_started_where_nothing_is_recorded(pool: World) -> None:
    older_half(pool)
    boot(pool, "L1")
    with pytest.raises(Failed, match=REFUSED):
        started(pool)
    assert not log_runs(pool)
    (stopped,) = standstill.load().values()
    assert (stopped.starts, stopped.doubt) == (False, "L1 may have left after L0, and would be newer")


def test_half_of_a_data_mirror_without_a_record_is_not_started_by_itself() -> None:
    world = server_for(planned(2))
    built(world, planned(2))
    boot(world, "SN000")
    with pytest.raises(Failed, match=r"SN000 may have left after SN001, and would be newer\. Reinsert SN000, then"):
        started(world)


def test_pool_starts_by_itself_once_the_other_half_is_back(pool: World) -> None:
    older_half(pool)
    away = next(disk for disk in pool.disks if disk.serial == "L1")
    boot(pool, "L1")
    with pytest.raises(Failed):
        started(pool)
    plug_in(pool, away)
    lines: list[str] = []
    readd(pool, lines.append)
    assert lines == ["/dev/md/millrace-log: the drives are back; starting the pool"]
    assert started(pool)[1].startswith("RAID1 log: started without L0")


def test_half_that_was_recorded_in_sync_starts_without_one_that_died_while_the_server_was_off(pool: World) -> None:
    recorded(pool)
    boot(pool, "L1")
    assert started(pool)[1] == "RAID1 log: started without L1"


def failure(serial: str, at: float) -> None:
    log = load_pool().arrays[1]
    who = next((one.partuuid for one in log.members if one.serial == serial), "")
    one = Failure("boot", 1, at, log.uuid, who, 1, False)
    append_line(paths.failures_file(), json.dumps(one._asdict()))


@pytest.mark.parametrize("serial", ["L0", ""], ids=["named", "of a name that another drive has"])
def test_half_whose_failure_was_recorded_at_once_is_not_started(pool: World, serial: str) -> None:
    """The power goes before millrace-members.service has recorded that L0 left."""
    recorded(pool)
    older_half(pool)
    failure(serial, WRITTEN + 1)
    boot(pool, "L1")
    with pytest.raises(Failed, match=REFUSED):
        started(pool)


@pytest.mark.parametrize(("serial", "at"), [("L0", WRITTEN - 3600), ("L1", WRITTEN + 1)])
def test_failure_of_the_other_half_or_before_a_rebuild_is_no_doubt(pool: World, serial: str, at: float) -> None:
    recorded(pool)
    failure(serial, at)
    boot(pool, "L1")
    assert started(pool)[1] == "RAID1 log: started without L1"


@pytest.mark.parametrize("later", [False, True])
def test_record_that_a_full_boot_drive_did_not_take_is_not_trusted(
    pool: World, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    recorded(pool)

    def full(path: Path, model: Contract) -> bool:
        if path == paths.in_sync_file():
            raise OSError(28, "No space left on device")
        return write_model(path, model)

    older_half(pool)
    with monkeypatch.context() as patch:
        patch.setattr(in_sync, "write_model", full)
        recorded(pool)
    if later:
        recorded(pool)
    # /run is another one
    paths.in_sync_now_file().unlink()
    boot(pool, "L1")
    with pytest.raises(Failed, match="L0 is present, but was out of sync" if later else REFUSED):
        started(pool)
    assert not log_runs(pool)


def test_member_that_took_the_place_of_a_recorded_one_is_there() -> None:
    """The hot spare of the log is in sync, which nobody recorded yet."""
    world = server_for(planned(6))
    built(world, planned(6))
    die(world, "SN001")
    world.rebuilds = True
    world.wait(1)
    boot(world, "SN001")
    assert any(line.startswith("RAID1 log: started, 2 members") for line in started(world))


def test_rescue_names_the_revival_and_replays_nothing(pool: World) -> None:
    older_half(pool)
    boot(pool, "L1")
    with pytest.raises(Failed):
        started(pool)
    with pytest.raises(
        LogIsThere, match=r"^L0 is present and may hold the log: RAID1 log is not .*millrace pool revive$"
    ):
        diagnose(pool, load_pool())
