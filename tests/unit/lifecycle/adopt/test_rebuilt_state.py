# SPDX-License-Identifier: Apache-2.0
"""A pool without a kept state that can be read comes back with closed shares, by its superblocks and directories."""

import json
import os
import struct
from pathlib import Path
from typing import ClassVar
from uuid import UUID as Uuid
from uuid import uuid5

import pytest

from millrace.lifecycle.adopt import adopt, adopt_paths, adoption_journal, search, text
from millrace.lifecycle.keep import generation
from millrace.serve.config.model import Config
from millrace.serve.render import rendered
from millrace.serve.share import quota
from millrace.serve.share.desired import ServerContext, resolve, resolve_all
from millrace.storage.record.model import Pool
from millrace.system import paths, reflink
from millrace.system.documents import parse_model
from millrace.system.errors import Refused
from tests.fakes.commands import Commands
from tests.fakes.samples import pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.conftest import Held
from tests.unit.lifecycle.adopt.finder import FileSystem, Finder

DATA, LOG, OVER = (f"{number:08}:1:1:1" for number in range(1, 4))
LEG = {name: f"0000000{number}:9:9:9" for number, name in enumerate(("leg-0", "leg-1"))}
UUID = pool().filesystem_uuid
DAMAGED = {3: b"torn", 4: b"torn, too"}


class Quotas(Commands):
    """xfs_quota, which accepts everything."""

    TAKEN: ClassVar = ("xfs_quota ...",)


@pytest.fixture
def projects(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The flags and the project of directories by their names, as XFS has them."""
    known: dict[str, tuple[int, int]] = {}

    def of(descriptor: int) -> tuple[int, int]:
        return known[Path(os.readlink(f"/proc/self/fd/{descriptor}")).name]

    monkeypatch.setattr(reflink, "project", lambda descriptor: of(descriptor)[1])
    monkeypatch.setattr(reflink, "hands_down", lambda descriptor: bool(of(descriptor)[0]))
    return known


@pytest.fixture
def finder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Finder:
    made = Finder()
    made.wire(monkeypatch)
    return made


def superblock(device: str, log_start: int = 0, unit: int = 0, width: int = 0) -> None:
    """XFS as mkfs.xfs writes it, on an array."""
    path = paths.ROOT / "dev" / device
    path.parent.mkdir(parents=True, exist_ok=True)
    content = bytearray(512)
    struct.pack_into(">4sI", content, 0, b"XFSB", 4096)
    struct.pack_into(">Q", content, 48, log_start)
    struct.pack_into(">II", content, 84, 1000, 32)
    struct.pack_into(">I", content, 96, 500_000)
    struct.pack_into(">H", content, 102, 4096)
    struct.pack_into(">II", content, 184, unit, width)
    path.write_bytes(content)


def mirror(finder: Finder, kept: dict[int, bytes]) -> None:
    finder.array("data", DATA, "raid1", ["a1", "b1"])
    finder.file_systems[DATA] = FileSystem(UUID, None, kept)
    superblock("md127", log_start=7)


def shares(finder: Finder, projects: dict[str, tuple[int, int]], **known: tuple[int, int]) -> None:
    """Directories at the top of the pool; others may put anything there."""
    projects.update(known)
    finder.directories = list(known)


def begun(finder: Finder) -> tuple[Pool, Config, dict[str, bytes]]:
    """What an adoption restores."""
    adoption = adopt.begin(finder, finder, "auto", "admin", None)
    assert adoption_journal.under_way() == adoption
    stored = generation.unpack(adopt_paths.state_file().read_bytes()).stored
    return (
        parse_model(stored[search.POOL], Path("pool"), Pool),
        parse_model(stored[states.CONFIG], Path("config"), Config),
        stored,
    )


@pytest.mark.parametrize("kept", [{}, DAMAGED])
def test_shares_are_the_directories_with_a_project_and_nobody_opens_them(
    finder: Finder, projects: dict[str, tuple[int, int]], kept: dict[int, bytes]
) -> None:
    mirror(finder, kept)
    # a share whose directories had a quota each hands its own project down no more
    shares(finder, projects, data=(0x200, 1001), models=(0x200, 1007), plain=(0, 0), own=(0x200, 12), claims=(0, 1005))
    of, config, stored = begun(finder)
    assert {share.name: share.project for share in config.shares} == {"claims": 1005, "data": 1001, "models": 1007}
    assert sorted(json.loads(stored["accounts/quotas.json"])) == [f"{UUID}/data", f"{UUID}/models"], "claims is walked"
    assert all(not share.nfs.enabled and not share.smb.enabled for share in config.shares)
    assert (config.nfs.networks, config.users, config.next_project) == ([], [], 1008)
    context = ServerContext("/srv/pool", Uuid(UUID), ["10.0.0.0/8"], True)
    resolved = [resolve(share, config, context) for share in config.shares]
    assert [(share.exports, share.smb) for share in resolved] == [([], None)] * 3
    assert of.filesystem_uuid == UUID


def test_identities_of_exports_are_those_of_before(finder: Finder, projects: dict[str, tuple[int, int]]) -> None:
    mirror(finder, {})
    shares(finder, projects, models=(0x200, 1007))
    _, config, stored = begun(finder)
    context = ServerContext("/srv/pool", Uuid(UUID), [], True)
    assert resolve(config.shares[0], config, context).fsid == uuid5(Uuid(UUID), "models")
    # what is set already is not set by a walk over the tree again
    assert stored["accounts/quotas.json"] == f'{{"{UUID}/models":"1007 ?"}}'.encode()


def test_hostile_names_links_and_twins_are_no_shares(finder: Finder, projects: dict[str, tuple[int, int]]) -> None:
    mirror(finder, {})
    shares(finder, projects, data=(0x200, 1001), twin=(0x200, 1001), **{"Bad name\n": (0x200, 1002)})
    finder.links = ["link"]
    found = search.find(finder, finder)
    assert found.problem is None and found.pool is not None and found.pool.kept is not None
    assert (found.pool.kept.origin, found.pool.kept.shares) == ("drives", ["data"])
    said = "\n".join(text.lines(found))
    assert "twin has the quota project of data" in said and "cannot be a share by its name" in said
    assert "no kept state can be read" in said and "no share is exported until you allow" in said


def test_pool_of_legs_with_a_log_is_rebuilt_as_it_was_made(
    finder: Finder, projects: dict[str, tuple[int, int]]
) -> None:
    for number, leg in enumerate(LEG):
        finder.array(leg, LEG[leg], "raid5", [f"{leg}-{drive}" for drive in (2, 0, 1)])
        finder.over[LEG[leg]] = Held("data", OVER, "raid0", 2, number)
    finder.array("log", LOG, "raid1", ["x1", "y1"])
    finder.file_systems[OVER] = FileSystem(UUID, LOG, {})
    for device in ("md124", "md125", "md126", "md127"):
        superblock(device, unit=32, width=128)
    of, _, _ = begun(finder)
    by = {record.array.name: record for record in of.arrays}
    assert list(by) == ["leg-0", "leg-1", "log", "data"]
    assert by["data"].array.members == ["leg-0", "leg-1"] and by["data"].members == []
    # in the order of the slots
    assert [member.serial for member in by["leg-0"].members] == ["LEG-0-2", "LEG-0-0", "LEG-0-1"]
    assert (by["leg-0"].array.chunk, by["leg-0"].array.bitmap, by["data"].array.bitmap) == (131072, "internal", "none")
    assert (of.filesystem.device, of.filesystem.log_device) == ("/dev/md/millrace-data", "/dev/md/millrace-log")
    assert (of.filesystem.stripe_unit, of.filesystem.stripe_width, of.filesystem.sector) == (131072, 4, 4096)
    assert "prjquota" in of.filesystem.mount_options and "noexec" in of.filesystem.mount_options
    assert len(of.drives) == 8


def test_missing_member_that_only_a_kept_state_names_is_refused(
    finder: Finder, projects: dict[str, tuple[int, int]]
) -> None:
    mirror(finder, {})
    del finder.held["b1"]
    found = search.find(finder, finder)
    assert found.problem is not None and "lacks 1 of 2 members" in found.problem


def test_device_without_xfs_is_named(finder: Finder, projects: dict[str, tuple[int, int]]) -> None:
    mirror(finder, {})
    (paths.ROOT / "dev/md127").write_bytes(bytes(512))
    found = search.find(finder, finder)
    assert found.problem is not None and "no file system of the kind XFS" in found.problem


def test_credential_adopts_no_pool_without_a_kept_state(finder: Finder, projects: dict[str, tuple[int, int]]) -> None:
    mirror(finder, {})
    with pytest.raises(Refused, match="by hand only"):
        adopt.begin(finder, finder, "auto", adopt.CREDENTIAL, None)
    assert adoption_journal.under_way() is None


def test_damaged_states_are_named(finder: Finder, projects: dict[str, tuple[int, int]]) -> None:
    mirror(finder, DAMAGED)
    said = "\n".join(text.lines(search.find(finder, finder)))
    assert "damaged and not used: state-000004.tar.gz: it is torn or damaged" in said


def test_no_tree_is_walked_for_a_quota_that_is_set_already(
    finder: Finder, projects: dict[str, tuple[int, int]]
) -> None:
    mirror(finder, {})
    shares(finder, projects, models=(0x200, 1007))
    of, config, stored = begun(finder)
    rendered.set_quotas(json.loads(stored["accounts/quotas.json"]))
    tools = Quotas()
    assert quota.assign(resolve_all(config, ServerContext("/srv/pool", Uuid(UUID), [], True)), of, tools) == []
    [only] = tools.called("xfs_quota")
    assert "limit -p" in only and "project -s" not in only
