# SPDX-License-Identifier: Apache-2.0
"""A start by force is recorded before it, also where the boot drive is full, and one that failed is not."""

import pytest

from millrace.storage.assemble import standstill, unclean
from millrace.storage.assemble.assemble import assemble
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.world import World
from tests.unit.storage.assemble.drives_back import WRITTEN, disk, one_after_another, recorded
from tests.unit.storage.drive_life import plug_in
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3 and a mirror of L0 and L1, both running."""
    built(world, raid6_plan())
    return world


def test_start_that_mdadm_refuses_is_not_recorded(pool: World) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))
    pool.refuse_force = True
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    assert unclean.pending() is None


def test_start_that_stays_read_only_is_recorded(pool: World) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))
    recorded(pool, "D2", 1, True, WRITTEN)
    pool.broken["mdadm --readwrite"] = Result(1, "", "mdadm: failed to set writable")
    with pytest.raises(Failed, match="failed to set writable"):
        assemble(pool, lambda _: None)
    for _ in range(2):
        known = unclean.pending()
        assert known is not None
        # nor did anything else than Millrace start it
        assert [(start.missing, start.outside) for start in known.starts] == [(["D0", "D1"], False)]
        pool.broken.clear()
        assemble(pool, lambda _: None)


def test_full_boot_drive_keeps_nothing_from_being_started(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unclean, "write_model", full)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert ", with D2 again" in lines[0] and "could not be recorded" in lines[0]


def test_record_of_starts_that_is_torn_keeps_nothing_from_being_started(pool: World) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))
    paths.unclean_file().write_text("{")
    lines: list[str] = []
    assemble(pool, lines.append)
    assert ", with D2 again" in lines[0] and "could not be recorded" in lines[0]
    assert paths.unclean_file().read_text() == "{"


def read_only(*_: object) -> None:
    raise OSError(30, "Read-only file system")


@pytest.mark.parametrize("what", ["write_model", "withdraw"])
def test_read_only_boot_drive_and_a_start_that_mdadm_refuses(
    pool: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The other arrays are started, and what is wrong is said: from the start of the mount, or in the middle of it."""
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))
    pool.refuse_force = True
    monkeypatch.setattr(unclean, what, read_only)
    if what == "write_model":
        monkeypatch.setattr(unclean, "withdraw", read_only)
    lines: list[str] = []
    with pytest.raises(Failed, match="failed to RUN_ARRAY"):
        assemble(pool, lines.append)
    assert any(line.startswith("RAID1 log:") for line in lines) and "data" in {
        array.name for array in standstill.load().values()
    }
