# SPDX-License-Identifier: Apache-2.0
"""A pool on an external device is found and adopted on another server, whatever transport the device comes over."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.adopt import adopt, adopt_paths, search, text
from millrace.lifecycle.adopt.model import SearchResult
from millrace.lifecycle.keep import generation_store
from millrace.storage.record.model import MemberRecord
from millrace.system.errors import MillraceError
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.samples import EXTERNAL, external_pool, pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.finder import BAD_MOUNT, Finder
from tests.unit.lifecycle.adopt.test_rebuilt_state import superblock

UUID = pool().filesystem_uuid


class Outside(Finder):
    """Partitions with labels of a pool, by kernel name: what they hold and their GUID."""

    TAKEN: ClassVar = (
        "modprobe --all raid0 raid1 raid456",
        "mount --make-rprivate /",
        "mount -t xfs -o ro,nosuid,nodev,noexec,nouuid* /dev/dm-* *",
        "umount *",
        "blkid -p -o export /dev/*",
        "ip -j addr",
    )

    def __init__(self, **parts: tuple[str, str]) -> None:
        super().__init__()
        self.parts = parts
        self.kept: Mapping[int, bytes] = {}
        self.uuid = UUID

    def pool_partitions(self) -> dict[str, str]:
        return {name: kind for name, (kind, _) in self.parts.items()}

    def partition_size(self, name: str) -> int:
        return 1 << 40

    def identity(self, name: str) -> MemberRecord:
        kind, partuuid = self.parts[name]
        role = "data" if kind == "xfs" else "log"
        return MemberRecord(serial=f"HERE-{name}", wwid=f"uuid.{name}", partuuid=partuuid, label=f"millrace-{role}-00")

    @contextmanager
    def snapshots(self, system: object, names: Sequence[str]) -> Iterator[dict[str, str]]:
        assert system is self and set(names) <= set(self.parts)
        adopt_paths.find_dir().mkdir(parents=True, exist_ok=True)
        yield {name: f"dm-{name}" for name in names}
        assert self.mounted is None

    def _blkid(self, words: list[str], _: str) -> Result:
        kind, _partuuid = self.parts[words[-1].removeprefix("/dev/")]
        return Result(0, f"TYPE={kind}\n{'UUID' if kind == 'xfs' else 'LOGUUID'}={self.uuid}\n", "")

    def _mount(self, words: list[str], _: str) -> Result:
        if words[0] == "--make-rprivate":
            return GOOD
        wanted = [f"logdev=/dev/dm-{name}" for name, (kind, _) in self.parts.items() if kind != "xfs"]
        if [option for option in words[3].split(",") if option.startswith("logdev=")] != wanted:
            return BAD_MOUNT
        where = Path(words[5])
        directory = generation_store.directory(where)
        directory.mkdir(parents=True, exist_ok=True)
        for number, data in self.kept.items():
            generation_store.file(directory, number).write_bytes(data)
        self.mounted = where
        return GOOD


def device(monkeypatch: pytest.MonkeyPatch, *serials: str, **parts: tuple[str, str]) -> Outside:
    """A server with the devices of that pool, and its kept state."""
    found = Outside(**parts)
    found.wire(monkeypatch)
    if serials:
        found.kept = {3: states.packed(states.kept(external_pool(*serials)))}
    return found


DATA, LOG = ("xfs", EXTERNAL[0]), ("xfs_external_log", EXTERNAL[1])


def find(finder: Outside) -> SearchResult:
    return search.find(finder, finder)


@pytest.mark.usefixtures("root")
def test_pool_on_an_external_device_is_found_with_what_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    one = find(device(monkeypatch, "THERE", vda1=DATA))
    assert one.problem is None and one.pool is not None and one.pool.kept is not None
    assert (one.pool.uuid, one.pool.arrays, one.pool.devices) == (UUID, [], ["HERE-vda1"])
    assert "  external device HERE-vda1" in list(text.lines(one))


@pytest.mark.usefixtures("root")
def test_its_log_is_found_by_the_file_system_that_it_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    one = find(device(monkeypatch, "THERE", "LOG", vda1=DATA, vdb1=LOG))
    assert one.problem is None and one.pool is not None
    assert one.pool.devices == ["HERE-vda1", "HERE-vdb1"]


@pytest.mark.usefixtures("root")
def test_adoption_begins_with_the_state_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = device(monkeypatch, "THERE", vda1=DATA)
    assert adopt.begin(finder, finder, UUID, "anna", None).pool == UUID


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"vda1": DATA, "vdb1": ("xfs", "part-other")}, "2 external devices carry a pool: vda1 (HERE-vda1), vdb1"),
        ({"vda1": DATA, "vdb1": DATA}, "One is a snapshot or a second path of the other: disconnect it"),
        ({"vda1": DATA, "vdb1": LOG, "vdc1": LOG}, "2 external devices carry the log of the pool"),
        ({"vda1": ("xfs", "part-new")}, "the pool is on another external device, too: THERE; connect it"),
    ],
)
def test_devices_that_leave_a_doubt_are_not_adopted(
    monkeypatch: pytest.MonkeyPatch, parts: dict[str, tuple[str, str]], said: str
) -> None:
    finder = device(monkeypatch, "THERE", **parts)
    problem = find(finder).problem or ""
    assert said in problem
    with pytest.raises(MillraceError) as stopped:
        adopt.begin(finder, finder, "auto", "anna", None)
    assert str(stopped.value) == problem


@pytest.mark.usefixtures("root")
def test_a_copy_of_a_pool_on_arrays_is_not_adopted_from_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = device(monkeypatch, vda1=DATA)
    finder.kept = {3: states.packed(states.kept(pool()))}
    assert find(finder).problem == "the state on the external device is that of a pool on arrays"


@pytest.mark.usefixtures("root")
def test_partitions_without_a_file_system_are_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(device(monkeypatch, vda1=("linux_raid_member", "p"))).problem == search.NOTHING


@pytest.mark.usefixtures("root")
def test_pool_without_a_kept_state_comes_back_with_closed_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    superblock("dm-vda1", log_start=7)
    finder = device(monkeypatch, vda1=DATA)
    seen = search.look_for(finder)
    made, config = search.verify(seen)
    assert (made.backend, made.arrays, config.shares) == ("external", [], [])
    assert made.filesystem.device == f"/dev/disk/by-partuuid/{EXTERNAL[0]}"
    assert [(one.serial, one.partitions[0].partuuid, one.partitions[0].size) for one in made.drives] == [
        ("HERE-vda1", EXTERNAL[0], 1 << 40)
    ]
