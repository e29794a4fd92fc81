# SPDX-License-Identifier: Apache-2.0
"""Each step leaves the pool as it is where it cannot go on, and says what to do."""

from pathlib import Path

import pytest

from millrace.storage.provision.mount_unit import mount_unit_file
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.rescue_steps import Choices
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.drives.without_log import POOL, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, done, lost

__all__ = ["root"]

DRIVES = Choices(drives=NEW)


@pytest.fixture
def world(root: Path) -> WithoutLog:
    return lost(raid6_plan(), *NEW)


def test_pool_that_is_in_use_is_not_forced(world: WithoutLog) -> None:
    world.busy = True
    with pytest.raises(Failed, match=r"still in use .*fuser --verbose --mount /srv/pool .* systemctl reboot"):
        done(world, "stop")
    assert POOL in world.points and world.md_link("millrace-log")
    world.busy = False
    assert done(world, "stop").next == "image"
    assert not world.points and world.md_link("millrace-log") is None


def test_pool_that_is_mounted_again_is_not_repaired(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.points.add(POOL)
    world.mounted_pool()
    with pytest.raises(Refused, match=r"is mounted again; unmount it: systemctl stop srv-pool\.mount"):
        done(world, "repair")


def test_data_that_is_lost_meanwhile_stops_the_rescue(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    die(world, "D0", "D1", "D2")
    with pytest.raises(Refused, match="RAID6 data does not run"):
        done(world, "repair")
    assert not world.repairs


def test_repair_that_was_begun_goes_on_with_one_side_of_the_new_log(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.broken["xfs_repair -L"] = Result(1, "fatal error\n", "")
    with pytest.raises(Failed, match="fatal error"):
        done(world, "repair")
    world.broken.clear()
    die(world, "N2")
    assert done(world, "repair", "serve").next is None


def test_repair_that_was_begun_asks_for_a_log_that_runs(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.broken["xfs_repair -L"] = Result(1, "fatal error\n", "")
    with pytest.raises(Failed, match="fatal error"):
        done(world, "repair")
    world.broken.clear()
    die(world, "N1", "N2")
    with pytest.raises(Failed, match="RAID1 log does not run: systemctl restart millrace-assemble"):
        done(world, "repair")


def test_mount_unit_of_an_older_release_learns_that_an_empty_log_is_not_mounted(world: WithoutLog) -> None:
    mount_unit_file().write_text("[Mount]\n")
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    assert f"ConditionPathExists=!/{paths.unrepaired_file().relative_to(paths.ROOT)}" in mount_unit_file().read_text()
    assert paths.unrepaired_file().exists()


def test_other_drives_than_those_that_are_being_made_are_refused(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    with pytest.raises(Refused, match="the new log is being made on N1 and N2; go on without --with"):
        done(world, "log", choices=Choices(drives=("N2", "D0")))


def test_names_without_a_directory_are_counted(world: WithoutLog, root: Path) -> None:
    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    (root / "srv/pool/lost+found").mkdir(parents=True)
    (root / "srv/pool/lost+found/131").touch()
    state = done(world, "serve")
    assert state.journal is not None and state.journal.orphans == 1
    assert (
        state.steps[-1].result
        == "/srv/pool is mounted and served; 1 names without a directory are in /srv/pool/lost+found"
    )


def test_server_that_does_not_serve_is_named(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    world.states = {"smbd.service": "failed"}
    assert done(world, "serve").steps[-1].result == (
        "/srv/pool is mounted, but SMB does not serve: smbd.service is failed (see: systemctl status smbd.service); "
        "lost+found is empty"
    )


def test_services_that_do_not_start_leave_the_step_open(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    world.broken["systemctl start"] = Result(1, "", "A dependency job for millrace-serving.target failed.")
    with pytest.raises(Failed, match="dependency job"):
        done(world, "serve")
    world.broken.clear()
    assert done(world, "serve").next is None


def test_lost_drives_are_forgotten_and_their_labels_stay_free_of_doubles(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    pool = load_pool()
    labels = [part.label for one in pool.drives for part in one.partitions]
    assert len(labels) == len(set(labels)) and {"L0", "L1"}.isdisjoint(one.serial for one in pool.drives)
    assert pool.generation == 2
