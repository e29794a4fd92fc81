# SPDX-License-Identifier: Apache-2.0
"""Home directories are created below a closed directory; existing entries of other users are not taken."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import Config, User, first_config
from millrace.serve.share import directories
from millrace.serve.share.edit import create_shares, set_share
from millrace.serve.share.model import Share
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.samples import resolved

ANN, BOB, STRANGER = os.getuid() + 2000, os.getuid() + 2001, os.getuid() + 4242


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Who owns what, by inode, as root would have made it; a change by name is none."""
    owners: dict[int, int] = {}
    stat, fstat = os.stat, os.fstat

    def owned(found: os.stat_result) -> os.stat_result:
        values = list(found)
        values[4] = owners.get(found.st_ino, found.st_uid)
        return os.stat_result(values)

    monkeypatch.setattr(os, "fchown", lambda fd, uid, gid: owners.update({fstat(fd).st_ino: uid}))
    monkeypatch.setattr(os, "fstat", lambda fd: owned(fstat(fd)))
    monkeypatch.setattr(os, "stat", lambda path, **how: owned(stat(path, **how)))
    return owners


@pytest.fixture
def homes(appliance: Appliance, given: dict[int, int]) -> Share:
    """A share of the homes of ann and bob, whose directory was everybody's."""
    path = appliance.root / "srv/pool/home"
    path.mkdir()
    path.chmod(0o1777)
    share = resolved(first_config())["data"]
    names = {"name": "home", "path": "/srv/pool/home", "type": "home"}
    return share.model_copy(update={**names, "homes": {"ann": ANN, "bob": BOB}})


def path_of(appliance: Appliance, name: str = "") -> Path:
    return appliance.root / "srv/pool/home" / name


def test_homes_are_made_after_the_directory_was_closed(
    appliance: Appliance, homes: Share, given: dict[int, int]
) -> None:
    directories.create(homes)
    assert os.listdir(path_of(appliance)) == []
    before = directories.close(homes)
    assert path_of(appliance).stat().st_mode & 0o7777 == 0o755
    assert directories.create(homes) is False
    for name, uid in (("ann", ANN), ("bob", BOB)):
        assert path_of(appliance, name).stat().st_mode & 0o7777 == 0o700
        assert given[path_of(appliance, name).stat().st_ino] == uid
    assert directories.close(homes) is None and directories.foreign_homes(homes) == []
    assert before is not None
    directories.reopen(homes, before)
    assert path_of(appliance).stat().st_mode & 0o7777 == 0o1777


def test_directory_of_another_user_is_not_a_home(appliance: Appliance, homes: Share, given: dict[int, int]) -> None:
    path_of(appliance, "ann").mkdir(mode=0o777)
    given[path_of(appliance, "ann").stat().st_ino] = STRANGER
    directories.close(homes)
    directories.create(homes)
    assert given[path_of(appliance, "ann").stat().st_ino] == STRANGER
    (said,) = directories.foreign_homes(homes)
    assert said.startswith(f"/srv/pool/home/ann belongs to another user (number {STRANGER}), so ann has no home there")


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_roots_own_directory_is_given_away_only_as_it_was_made(
    appliance: Appliance, homes: Share, given: dict[int, int], mode: int
) -> None:
    """What a power cut left between making it and giving it away has no other mode."""
    path_of(appliance, "ann").mkdir()
    path_of(appliance, "ann").chmod(mode)
    directories.close(homes)
    directories.create(homes)
    assert (path_of(appliance, "ann").stat().st_ino in given) == (mode == 0o700)


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("/etc"), lambda path: path.write_text("x"), os.mkfifo])
def test_what_is_no_directory_gives_nothing_away(
    appliance: Appliance, homes: Share, given: dict[int, int], plant: Callable[[Path], None]
) -> None:
    plant(path_of(appliance, "ann"))
    directories.close(homes)
    with pytest.raises(Failed, match="ann is not a directory"):
        directories.create(homes)
    (said,) = directories.foreign_homes(homes)
    assert said == "/srv/pool/home/ann is not a directory, so ann has no home there: move it away"


def test_a_link_that_comes_in_between_is_not_followed(
    appliance: Appliance, homes: Share, given: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The widest race that there is: right after root made the directory."""
    victim = appliance.root / "etc/secrets"
    victim.mkdir(parents=True)
    directories.close(homes)
    mkdir = os.mkdir

    def swapped(name: str, mode: int, *, dir_fd: int) -> None:
        mkdir(name, mode, dir_fd=dir_fd)
        os.rmdir(name, dir_fd=dir_fd)
        os.symlink(victim, name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", swapped)
    with pytest.raises(Failed, match="is not a directory"):
        directories.create(homes)
    assert victim.stat().st_ino not in given


# As changes and at each start


def with_ann(config: Config) -> Config:
    return config.model_copy(update={"users": [User(name="ann", uid=ANN)]})


def test_change_that_would_give_away_a_directory_is_refused(appliance: Appliance, given: dict[int, int]) -> None:
    create_shares(["home"], {"type": "training", "writing": "own"}, appliance.server)
    store.change("test", "user create ann", with_ann)
    root = path_of(appliance)
    path_of(appliance, "ann").mkdir()
    given[path_of(appliance, "ann").stat().st_ino] = STRANGER
    with pytest.raises(Refused, match=r"home/ann belongs to another user .*; nothing was changed"):
        set_share("home", {"type": "home", "nfs": False, "smb_users": ("ann",)}, appliance.server)
    assert root.stat().st_mode & 0o7777 == 0o1777
    given[path_of(appliance, "ann").stat().st_ino] = ANN
    appliance.broken["smbcontrol smbd reload"] = Result(1, "", "no")
    with pytest.raises(Refused):
        set_share("home", {"type": "home", "nfs": False, "smb_users": ("ann",)}, appliance.server)
    assert root.stat().st_mode & 0o7777 == 0o1777, "it was everybody's before the change, and is so again"
