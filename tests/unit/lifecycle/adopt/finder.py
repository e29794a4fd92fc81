# SPDX-License-Identifier: Apache-2.0
"""Drives with pools on them, in a server whose arrays start over snapshots and whose file systems can be mounted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.adopt import adopt_paths, search
from millrace.lifecycle.keep import generation_store
from millrace.storage.array.md import same_uuid
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.jobs import shown
from tests.fakes.samples import pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.conftest import Drives, Held

DIRTY = Result(1, "", "mdadm: Not enough devices to start the array while not clean - consider --force.")
BAD_MOUNT = Result(32, "", "mount: wrong fs type, bad option, bad superblock")


@dataclass
class FileSystem:
    """XFS on an array, by the UUIDs of both; its log is inside where it has none of its own. Kept states by number."""

    uuid: str
    log: str | None
    kept: Mapping[int, bytes]


class Finder(Drives):
    """A server without a pool, run by root."""

    TAKEN: ClassVar = (
        *Drives.TAKEN,
        "modprobe --all raid0 raid1 raid456",
        "mdadm --assemble /dev/md/millrace-find-* --run --readonly [--force] --uuid=* --homehost=millrace /dev/*...",
        "mdadm --stop /dev/md*",
        "mdadm --detail --export /dev/md*",
        "mdadm --readwrite /dev/md*",
        "mount --make-rprivate /",
        "mount -t xfs -o ro,nosuid,nodev,noexec,nouuid* /dev/md* *",
        "umount *",
        "blkid -p -o export /dev/md*",
        "ip -j addr",
        "systemctl show --property=Id,ActiveState,Job millrace-*.service...",
    )

    def __init__(self) -> None:
        super().__init__()
        self.over: dict[str, Held] = {}
        self.file_systems: dict[str, FileSystem] = {}
        self.running: dict[str, Held] = {}
        # collected and not started
        self.inactive: set[str] = set()
        self.mounted: Path | None = None
        # at the top of a file system, beside what Millrace keeps there
        self.directories: list[str] = []
        self.links: list[str] = []

    def wire(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(search, "snapshots", self.snapshots)
        patch.setattr("os.unshare", lambda flags: None, raising=False)
        patch.setattr("os.CLONE_NEWNS", 0x20000, raising=False)

    @contextmanager
    def snapshots(self, system: object, names: Sequence[str]) -> Iterator[dict[str, str]]:
        assert system is self and set(names) <= set(self.held)
        adopt_paths.find_dir().mkdir(parents=True, exist_ok=True)
        before = dict(self.held)
        for name in names:
            self.held[f"dm-{name}"] = self.held[name]
        try:
            yield {name: f"dm-{name}" for name in names}
        finally:
            assert self.mounted is None
            self.held, self.running = before, {}

    def in_use(self, name: str) -> str | None:
        return None

    def md_devices(self) -> list[str]:
        return sorted(self.running)

    def md_state(self, name: str) -> str:
        return "readonly" if name in self.running and name not in self.inactive else "clear"

    def now(self) -> str:
        return "2026-11-24T10:00:00+00:00"

    def _systemctl(self, words: list[str], _: str) -> Result:
        return shown(words[2:])

    def _mdadm(self, words: list[str], stdin: str) -> Result:
        match words[0]:
            case "--assemble":
                return self._assemble(words)
            case "--detail":
                held = self.running[words[-1].removeprefix("/dev/")]
                return Result(0, f"MD_LEVEL={held.level}\nMD_DEVICES={held.slots}\nMD_UUID={held.uuid}\n", "")
            case "--stop":
                self.running.pop(words[-1].removeprefix("/dev/"))
                self.inactive.discard(words[-1].removeprefix("/dev/"))
                return GOOD
            case "--readwrite":
                assert words[-1].removeprefix("/dev/") in self.running
                return GOOD
            case _ if words[-1].removeprefix("/dev/") not in self.held:
                return Result(1, "", "mdadm: No md superblock detected")
            case _:
                return super()._mdadm(words, stdin)

    def _assemble(self, words: list[str]) -> Result:
        [uuid] = [word.removeprefix("--uuid=") for word in words if word.startswith("--uuid=")]
        members = [self.held[word.removeprefix("/dev/")] for word in words if word.startswith(("/dev/dm-", "/dev/md1"))]
        assert members and all(same_uuid(member.uuid, uuid) for member in members)
        device = f"md{127 - len(self.running)}"
        # md.c keeps the members of an array that it does not start: they are busy
        assert not any(same_uuid(array.uuid, uuid) for array in self.running.values())
        self.running[device] = members[0]
        # raid5.c: "cannot start dirty degraded array"
        if len(members) < members[0].slots and not all(member.clean for member in members) and "--force" not in words:
            self.inactive.add(device)
            return DIRTY
        if uuid in self.over:
            self.held[device] = self.over[uuid]
        action = paths.ROOT / "sys/block" / device / "md/sync_action"
        action.parent.mkdir(parents=True, exist_ok=True)
        action.write_text("idle")
        return GOOD

    def _mount(self, words: list[str], _: str) -> Result:
        if words[0] == "--make-rprivate":
            return GOOD
        options, device, where = words[3].split(","), words[4].removeprefix("/dev/"), Path(words[5])
        file_system = self.file_systems.get(self.running[device].uuid)
        log = next((option.removeprefix("logdev=/dev/") for option in options if option.startswith("logdev=")), None)
        # xfs_super.c, xfs_log_recover.c: a log is given exactly where it is outside, and replayed only if it is its own
        if file_system is None or (log is None) != (file_system.log is None):
            return BAD_MOUNT
        if log is not None and self.running[log].uuid != file_system.log and "norecovery" not in options:
            return BAD_MOUNT
        directory = generation_store.directory(where)
        if not directory.exists():
            directory.mkdir(parents=True)
        for path in directory.iterdir():
            path.unlink()
        for number, data in file_system.kept.items():
            generation_store.file(directory, number).write_bytes(data)
        for name in self.directories:
            (where / name).mkdir(exist_ok=True)
        for name in self.links:
            (where / name).symlink_to("data")
        self.mounted = where
        return GOOD

    def _umount(self, words: list[str], _: str) -> Result:
        assert self.mounted == Path(words[-1])
        self.mounted = None
        return GOOD

    def _blkid(self, words: list[str], _: str) -> Result:
        found = self.file_systems[self.running[words[-1].removeprefix("/dev/")].uuid]
        return Result(0, f"TYPE=xfs\nUUID={found.uuid}\n", "")


def kept_of(uuids: Mapping[str, str], number: int = 3, **more: object) -> dict[int, bytes]:
    """The kept state of a pool with these arrays, by name."""
    records = [
        pool()
        .arrays[0]
        .model_copy(update={"array": pool().arrays[0].array.model_copy(update={"name": name}), "uuid": uuid})
        for name, uuid in uuids.items()
    ]
    of = pool().model_copy(update={"arrays": records})
    return {number: states.packed(states.kept(of), **more)}
