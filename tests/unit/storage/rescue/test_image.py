# SPDX-License-Identifier: Apache-2.0
"""The image of the metadata is complete or not there, readable by root alone, and never on the pool."""

import os
from errno import ENOSPC
from pathlib import Path

import pytest

from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue import image
from millrace.storage.rescue.rescue_steps import Choices
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.drives.without_log import WithoutLog
from tests.fakes.vfat import Vfat
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, done, lost

__all__ = ["root"]

NOW = "2026-09-01T12:00:00+00:00"


@pytest.fixture
def world(root: Path) -> WithoutLog:
    world = lost(raid6_plan(), *NEW)
    done(world, "stop")
    return world


def test_image_is_for_root_alone(world: WithoutLog) -> None:
    state = done(world, "image")
    assert state.journal is not None and state.journal.image is not None
    written = Path(state.journal.image)
    assert written.parent == paths.state_dir() and written.name == "rescue-20260901T120000Z.metadump"
    assert written.stat().st_mode & 0o777 == 0o600
    assert not world.loops and not list(paths.state_dir().glob(".rescue*"))


def test_image_that_has_its_name_is_whole_after_a_power_cut(
    world: WithoutLog, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on the spot: the repair comes next, and a rescue that goes on takes what has this name for the image
    (root / "mnt").mkdir()
    stick = Vfat(root / "mnt", monkeypatch)
    done(world, "image", choices=Choices(image="/mnt/pool.metadump"))
    written = (root / "mnt/pool.metadump").stat().st_size
    assert written > 0
    assert (stick.on_drive, stick.empty_names) == ({"pool.metadump": written}, [])


def test_image_of_which_a_power_cut_left_the_name_is_made_again(world: WithoutLog) -> None:
    state = done(world, "image")
    assert state.journal is not None and state.journal.image is not None
    written = Path(state.journal.image)
    before = written.read_bytes()
    written.write_bytes(b"")
    image.write(world, load_pool(), written)
    assert written.read_bytes() == before != b""
    calls = len(world.called("xfs_metadump"))
    image.write(world, load_pool(), written)
    assert len(world.called("xfs_metadump")) == calls


@pytest.mark.parametrize("suffix", [".metadump.part", ".metadump"])
def test_file_system_of_the_image_that_is_full_at_the_end(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    fsync = os.fsync

    def full(descriptor: int) -> None:
        if os.fstat(descriptor).st_size and os.readlink(f"/proc/self/fd/{descriptor}").endswith(suffix):
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Failed, match=r"cannot be made \(No space left on device\); try again, or go on with --without"):
        done(world, "image")
    assert not list(paths.state_dir().glob("*metadump*")) and not world.loops


def test_too_little_room_is_seen_before_anything_is_written(world: WithoutLog, monkeypatch: pytest.MonkeyPatch) -> None:
    world.inodes = 1 << 50
    with pytest.raises(Refused, match=r"may need 1\.\d+ EB|may need .*; attach another file system .* --without-image"):
        done(world, "image")
    assert not world.called("xfs_metadump") and not world.loops


def test_image_that_fails_leaves_nothing_and_the_step_can_be_done_without(world: WithoutLog) -> None:
    world.broken["xfs_metadump"] = Result(1, "", "xfs_metadump: cannot read superblock for ag 2")
    with pytest.raises(Failed, match=r"cannot read superblock for ag 2\); try again, or go on with --without-image"):
        done(world, "image")
    assert not list(paths.state_dir().glob("*metadump*")) and not world.loops
    state = done(world, "image", choices=Choices(without_image=True))
    assert state.next == "judge" and state.journal is not None
    assert (state.journal.image, state.journal.without_image) == (None, True)
    assert state.steps[1].result == "no image was made, as decided"


def test_file_that_the_user_names(world: WithoutLog, root: Path) -> None:
    (root / "mnt").mkdir()
    assert image.place(load_pool(), "/mnt/pool.metadump", NOW) == root / "mnt/pool.metadump"
    (root / "mnt/pool.metadump").touch()
    with pytest.raises(Refused, match="exists and is not overwritten"):
        image.place(load_pool(), "/mnt/pool.metadump", NOW)
    assert image.place(load_pool(), "/mnt/pool.metadump", NOW, str(root / "mnt/pool.metadump"))


@pytest.mark.parametrize("given", ["pool.metadump", "/mnt/a b", "/mnt/", "/mnt/$(reboot)", "", "/mnt/x;y"])
def test_name_that_a_shell_would_take_apart_is_refused(world: WithoutLog, given: str) -> None:
    with pytest.raises(BadInput, match="is not an absolute path of letters"):
        image.place(load_pool(), given, NOW)


def test_directory_that_is_not_there(world: WithoutLog) -> None:
    with pytest.raises(BadInput, match="there is no directory '/nowhere'"):
        image.place(load_pool(), "/nowhere/x", NOW)


@pytest.mark.parametrize("given", ["/srv/pool/x", "/srv/pool/share/x", "/link/x"])
def test_image_is_not_on_the_pool(world: WithoutLog, root: Path, given: str) -> None:
    (root / "srv/pool/share").mkdir(parents=True)
    os.symlink(root / "srv/pool/share", root / "link")
    with pytest.raises(Refused, match="the image cannot be in /srv/pool"):
        image.place(load_pool(), given, NOW)


@pytest.mark.parametrize("given", ["/tmp/x", "/var/tmp/deep/x", "/link/x"])
def test_image_is_not_where_it_would_be_gone(world: WithoutLog, root: Path, given: str) -> None:
    (root / "tmp").mkdir()
    (root / "var/tmp/deep").mkdir(parents=True)
    os.symlink(root / "tmp", root / "link")
    with pytest.raises(Refused, match=r"the image cannot be in /(var/)?tmp, which is not kept; give a file on a drive"):
        image.place(load_pool(), given, NOW)
