# SPDX-License-Identifier: Apache-2.0
"""Only the mounted file system of the pool passes for the pool."""

from pathlib import Path

import pytest

from millrace.storage.assemble.mounted_pool import options_warning, verify
from millrace.storage.provision.mount_unit import REMOUNT, differences
from millrace.system.errors import Failed
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built

ROOT_LINE = "22 1 8:3 / / rw,relatime shared:1 - ext4 /dev/sda3 rw"


def mount(root: Path, *lines: str) -> None:
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/mountinfo").write_text("\n".join([ROOT_LINE, *lines]) + "\n")


def pool_line(source: str, options: str, kind: str = "xfs", point: str = "/srv/pool") -> str:
    return f"90 22 9:127 / {point} rw,noatime shared:50 master:1 - {kind} {source} rw,attr2,{options},noquota"


@pytest.fixture(autouse=True)
def _built(world: World) -> None:
    built(world, raid6_plan())


def test_the_pool_is_recognised_by_link_and_by_kernel_name(root: Path, world: World) -> None:
    data, log = world.md_link("millrace-data"), world.md_link("millrace-log")
    mount(root, pool_line(f"/dev/{data}", f"logdev=/dev/{log}"))
    assert verify(world).filesystem.mountpoint == "/srv/pool"
    (root / "proc/1/mountinfo").write_text(pool_line("/dev/md/millrace-data", "logdev=/dev/md/millrace-log"))
    assert verify(world).filesystem.mountpoint == "/srv/pool"


def test_an_empty_directory_is_not_the_pool(root: Path, world: World) -> None:
    mount(root)
    with pytest.raises(Failed, match="/srv/pool is not mounted"):
        verify(world)


def test_a_mount_below_or_beside_is_not_the_pool(root: Path, world: World) -> None:
    mount(root, pool_line("/dev/md/millrace-data", "logdev=/dev/md/millrace-log", point="/srv/pool/data"))
    with pytest.raises(Failed, match="not mounted"):
        verify(world)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (pool_line("tmpfs", "x", kind="tmpfs"), "is a tmpfs"),
        (pool_line("/dev/sdb1", "logdev=/dev/md/millrace-log"), "uses /dev/sdb1, which is not RAID6 data"),
        (pool_line("/dev/md/millrace-data", "x"), "mounted without its log"),
        (pool_line("/dev/md/millrace-data", "logdev=/dev/sdc1"), "uses /dev/sdc1, which is not RAID1 log"),
    ],
)
def test_anything_else_in_its_place_is_named(root: Path, world: World, line: str, reason: str) -> None:
    mount(root, line)
    with pytest.raises(Failed, match=reason):
        verify(world)


def test_a_new_file_system_on_our_array_is_not_the_pool(root: Path, world: World) -> None:
    mount(root, pool_line("/dev/md/millrace-data", "logdev=/dev/md/millrace-log"))
    for content in world.on_arrays.values():
        content["UUID"] = "99999999-2222-4333-8444-555555555555"
    with pytest.raises(Failed, match="is the file system 99999999"):
        verify(world)


def test_the_last_of_several_mounts_on_one_point_counts(root: Path, world: World) -> None:
    mount(root, pool_line("/dev/md/millrace-data", "logdev=/dev/md/millrace-log"), pool_line("x", "x", kind="tmpfs"))
    with pytest.raises(Failed, match="is a tmpfs"):
        verify(world)


PLANNED = "nosuid,nodev,noexec,noatime"


@pytest.mark.parametrize(
    ("flags", "options", "said"),
    [
        (PLANNED, "logbsize=256k,largeio", None),
        # the kernel's own form of the number
        (PLANNED, "logbsize=262144,largeio", None),
        ("nosuid,nodev,noatime", "logbsize=256k,largeio", "noexec is missing"),
        (PLANNED, "logbsize=32k", "logbsize is 32k, not 256k, largeio is missing"),
        ("nosuid,nodev,noexec,relatime", "logbsize=256k,largeio", "noatime is missing"),
    ],
)
def test_mount_options_that_differ_from_the_plan_are_named(
    root: Path, world: World, flags: str, options: str, said: str | None
) -> None:
    log = "logdev=/dev/md/millrace-log"
    line = f"90 22 9:127 / /srv/pool rw,{flags} - xfs /dev/md/millrace-data rw,attr2,{log},{options}"
    mount(root, line)
    warning = options_warning(verify(world))
    assert warning == (said and f"/srv/pool is not mounted as planned: {said}. {REMOUNT}")


def test_an_owner_who_replaces_an_option_is_not_warned() -> None:
    made = raid6_plan().filesystem
    theirs = made.model_copy(update={"mount_options": ["relatime", "noatime", "logbsize=64k", "discard"]})
    assert differences(theirs, ["nosuid", "nodev", "noexec", "relatime", "logbsize=64k"]) == []
