# SPDX-License-Identifier: Apache-2.0
"""A server whose pool is to be brought back without its log: what mounts, reads and repairs its XFS.

`repaired_log` is the UUID of the array that xfs_repair wrote a log to. A mount with a log of which that is not true, or
a repair while the file system is mounted, fails the test. `states` has what systemd shows of units, active without it;
a unit that is activating is active when somebody has waited.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from millrace.system import paths
from millrace.system.errors import MillraceError
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.tools import Tools
from tests.fakes.drives.world import World
from tests.fakes.jobs import asks_states, shown
from tests.fakes.mounts import mount, unmount_all

DATA, LOG, POOL = "/dev/md/millrace-data", "/dev/md/millrace-log", "/srv/pool"
RESCUE = "millrace-rescue.service"
GROUPS = 4
REPAIR = "Phase 1 - find and verify superblock...\nPhase 7 - verify and correct link counts...\ndone\n"


class WithoutLog(World):
    """A World that `without_log` went on with. `busy`: the pool is in use. `files` are seen while it is judged.

    `unit` is what the unit `name_of_unit` does.
    """

    TAKEN: ClassVar[Iterable[str]] = (
        *Tools.TAKEN,
        "systemctl stop srv-pool.mount",
        "systemctl start millrace-serving.target",
        "systemctl restart millrace-assemble.service",
        "systemctl reset-failed millrace-rescue.service",
        "systemctl start --no-block millrace-rescue.service",
        "systemctl reset-failed millrace-pool-change@revive.service",
        "systemctl start --no-block millrace-pool-change@revive.service",
        "systemctl show --property=ActiveState,Job millrace-rescue.service",
        "systemctl show --property=ActiveState,Job nfs-server.service",
        "systemctl show --property=ActiveState,Job smbd.service",
        "modprobe loop",
        "losetup --find --show */rescue-log",
        "losetup --associated */rescue-log --noheadings --output NAME",
        "losetup --detach /dev/loop*",
        "mount -t xfs -o ro,norecovery,nosuid,nodev,noexec,logdev=/dev/loop? /dev/md/millrace-data */verify-rescue",
        "umount */verify-rescue",
        "xfs_db -r -l /dev/loop? -c ... /dev/md/millrace-data",
        "xfs_metadump -a -o -v 1 -l /dev/loop? /dev/md/millrace-data *",
        "xfs_repair -n -l /dev/loop? /dev/md/millrace-data",
        "xfs_repair -L -l /dev/md/millrace-log /dev/md/millrace-data",
    )

    def prepare(self) -> None:
        """Set what a server of the other class does not have."""
        self.busy = False
        self.loops: set[str] = set()
        self.points: set[str] = set()
        self.inodes = 1000
        self.blocks = 1 << 28
        self.files: dict[str, str] = {}
        self.repaired_log: str | None = None
        self.repairs = 0
        self.pulled: dict[str, Disk] = {}
        self.unit: Callable[[], object] = lambda: None
        self.name_of_unit = RESCUE
        self.unit_runs = self.unit_hangs = False
        self.unit_failed: str | None = None
        self.states: dict[str, str] = {}

    def boot(self) -> None:
        """Nothing is mounted, no loop device exists; the unit of the mount is skipped where it is not to be mounted."""
        super().boot()
        self.loops = set()
        self.points = set()
        self._write_table()

    def mounted_pool(self) -> None:
        """The pool was mounted and serves."""
        self.mount(DATA, POOL)

    def mount(self, source: str, point: str) -> None:
        """The file system of the pool is mounted somewhere."""
        assert source == DATA
        self.points.add(point)
        self._write_table()

    def wait(self, seconds: float) -> None:
        """Time passes; nothing of the pool is rebuilt meanwhile."""
        self.states = {unit: state for unit, state in self.states.items() if state != "activating"}

    def serve(self) -> Result:
        """What millrace-serving.target starts: the mount of the pool, with all that it asks for."""
        if paths.unrepaired_file().exists():
            return Result(1, "", "A dependency job for millrace-serving.target failed.")
        log = next((array for array in self.arrays.values() if array.name == "millrace-log"), None)
        if log is None:
            return Result(1, "", "A dependency job for millrace-serving.target failed.")
        assert self.repaired_log == log.uuid, "XFS mounted with a log that is not its own"
        self.mounted_pool()
        return GOOD

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words == ["stop", "srv-pool.mount"]:
            if self.busy:
                return Result(1, "", "Job for srv-pool.mount failed.")
            self.points.discard(POOL)
            self._write_table()
            return GOOD
        if words[-1] == self.name_of_unit and words[0] != "--no-block":
            return self._job(words[0])
        if asks_states(words) and len(words) > 3:
            return shown(words[2:], self.jobs)
        if words == ["restart", "millrace-assemble.service"]:
            # the arrays run already; what it starts after them is seen in a booted server
            return GOOD
        if words[0] == "start":
            return self.serve()
        if words[0] == "show" and words[-1] in self.states:
            return Result(0, f"ActiveState={self.states[words[-1]]}\nJob=\n", "")
        return super()._systemctl(words, stdin)

    def _job(self, verb: str) -> Result:
        """The unit of a confirmed step, or of another job of the pool: started, it carries it out at once."""
        if verb == "show":
            return Result(0, f"ActiveState={'activating' if self.unit_runs else 'inactive'}\nJob=\n", "")
        if verb == "start" and not self.unit_hangs:
            self.unit_runs = True
            try:
                self.unit()
            except MillraceError as error:
                self.unit_failed = str(error)
            finally:
                self.unit_runs = False
        elif verb == "start":
            self.unit_runs = True
        return GOOD

    def _losetup(self, words: list[str], _: str) -> Result:
        if words[0] == "--associated":
            return Result(0, "".join(f"{one}\n" for one in sorted(self.loops)), "")
        if words[0] == "--detach":
            self.loops.remove(words[1])
            return GOOD
        backing = Path(words[-1])
        assert backing.stat().st_size >= 64 << 20 and not self.loops
        self.loops.add("/dev/loop0")
        return Result(0, "/dev/loop0\n", "")

    def _mount(self, words: list[str], _: str) -> Result:
        assert self.loops and not self.points
        point = Path(words[-1])
        for name, text in self.files.items():
            (point / name).parent.mkdir(parents=True, exist_ok=True)
            (point / name).write_text(text)
        self.points.add(str(point))
        self._write_table()
        return GOOD

    def _umount(self, words: list[str], _: str) -> Result:
        self.points.remove(words[-1])
        self._write_table()
        return GOOD

    def _xfs_db(self, words: list[str], stdin: str) -> Result:
        if not words[2].startswith("/dev/loop"):
            return super()._xfs_db(words, stdin)
        if "print agcount inodesize dblocks" in words:
            return Result(0, f"agcount = {GROUPS}\ninodesize = 512\ndblocks = {self.blocks}\n", "")
        assert [word for word in words if word.startswith("agi")] == [f"agi {group}" for group in range(GROUPS)]
        return Result(0, f"count = {self.inodes // GROUPS}\n" * GROUPS, "")

    def _xfs_metadump(self, words: list[str], _: str) -> Result:
        assert self.loops and not self.points
        Path(words[-1]).write_text("XFSM")
        self.tick()
        return GOOD

    def _xfs_repair(self, words: list[str], _: str) -> Result:
        assert not self.points, "xfs_repair of a file system that is mounted"
        if words[0] == "-n":
            assert self.loops
            return Result(0, REPAIR, "")
        log = self.running(LOG)
        self.writing(["xfs_repair", *words], DATA, LOG)
        self.repairs += 1
        self.on_arrays[log.uuid] = {
            "TYPE": "xfs_external_log",
            "LOGUUID": self.on_arrays[self.running(DATA).uuid]["UUID"],
        }
        self.tick()
        self.repaired_log = log.uuid
        return Result(0, REPAIR, "")

    def _write_table(self) -> None:
        for process in ("1", "self"):
            unmount_all(paths.ROOT, process)
        for point in sorted(self.points):
            if point == POOL:
                mount(paths.ROOT, DATA, point, "xfs", f"rw,logdev={LOG}")
                mount(paths.ROOT, DATA, point, "xfs", f"rw,logdev={LOG}", "self")
            else:
                # the sandbox of the unit has a table of its own
                mount(paths.ROOT, DATA, point, "xfs", "ro", "self")


def without_log(world: World) -> WithoutLog:
    """The same server, with the tools that a rescue needs; its pool is mounted."""
    world.__class__ = WithoutLog
    assert isinstance(world, WithoutLog)
    world.prepare()
    log = next(array for array in world.arrays.values() if array.name == "millrace-log")
    world.repaired_log = log.uuid
    world.mounted_pool()
    return world
