# SPDX-License-Identifier: Apache-2.0
"""md's check and repair in the files of a box: they advance while the program waits, and end as in md.c md_do_sync."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.system.run import Result
from tests.fakes.files.box import Box
from tests.fakes.jobs import shown

SECTORS = {"data": 16_000, "log": 1600}
LEGS = {"leg0": 16_000, "leg1": 12_000, "log": 1600}
STEP = 1000
RUNNING = ("check", "repair")
WAITS_FOR = [
    "millrace-bench.service",
    "millrace-tuner.service",
    "millrace-drive.service",
    "millrace-pool-change@destroy.service",
]


class Md:
    """The kernel and the clock of a server: each wait lasts a minute, in which a check reads `STEP` sectors."""

    def __init__(self, box: Box, now: datetime, sectors: Mapping[str, int] = SECTORS) -> None:
        self.box = box
        self.sectors = sectors
        self.together: set[tuple[str, ...]] = set()
        self.now = now
        self.seconds = 0.0
        self.bad: dict[str, list[int]] = {}
        self.benchmark = False
        self.asked = False
        self.unit = "inactive"
        self.started = self.stopped = 0
        self.members_added = 0
        self.during: Callable[[], None] = lambda: None
        self.order: list[str] = []
        self.begun: list[tuple[str, int]] = []
        self.logs = True
        self.journal: list[str] = []
        self.repaired: list[tuple[str, int]] = []
        self.limits: list[tuple[str, str]] = []
        self.settling = 0
        """So many writes an array refuses after each check, while it is idle."""
        self._refusals = 0
        self._read: dict[str, int] = {}
        for name, count in sectors.items():
            box.md(name, component_size=str(count // 2), raid_disks="2" if name == "log" else "10")
            box.md(name, sync_min="0", sync_max="max", mismatch_cnt="0", last_sync_action="none")
            box.md(name, sync_speed_min="100000 (system)", sync_speed_max="4000000 (local)")

    def around(self) -> CheckContext:
        return CheckContext(self.run, self.wait, lambda: self.now, lambda: self.seconds)

    def run(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        if list(argv) == ["systemctl", "stop", "millrace-scrub.service"]:
            self.stopped += 1
            return Result(0, "", "")
        if list(argv) == [
            "systemctl",
            "start",
            "--no-block",
            "millrace-readd.service",
            "millrace-replace@boot.service",
        ]:
            self.members_added += 1
            return Result(0, "", "")
        if argv[-1] == "millrace-scrub.service":
            return self._scrub(list(argv[1:]))
        if list(argv[:4]) == ["journalctl", "--dmesg", "--output=cat", "--no-pager"]:
            assert len(argv) == 5 and argv[4].startswith("--since=@")
            return Result(0, "\n".join(self.journal), "")
        assert list(argv[:3]) == ["systemctl", "show", "--property=Id,ActiveState,Job"]
        assert argv[3:] == WAITS_FOR
        return shown(argv[3:], {"millrace-bench.service": "active"} if self.benchmark else {})

    def _scrub(self, words: list[str]) -> Result:
        """The unit of the check, which nobody runs."""
        if words[:2] == ["show", "--property=ActiveState,Job"]:
            return shown(words[2:], {"millrace-scrub.service": self.unit})
        self.started += words[:2] == ["start", "--no-block"]
        assert words[:-1] in (["start", "--no-block"], ["reset-failed"])
        return Result(0, "", "")

    def get(self, array: str, name: str) -> str:
        return (self._md(array) / name).read_text().strip()

    def write(self, path: Path, value: str) -> None:
        """What the kernel does with a value."""
        array = next(name for name in self.sectors if self._md(name).samefile(path.parent))
        text = value.strip()
        if path.name == "sync_action":
            self._action(array, text)
            return
        if path.name == "sync_max" and text != "max" and int(text) < int(self.get(array, "sync_min")):
            raise OSError(22, "Invalid argument")
        if (
            path.name == "sync_max"
            and text != "max"
            and int(text) % self._chunk(array)
            and int(text) != self.sectors[array]
        ):
            raise OSError(22, "Invalid argument")
        if path.name in ("sync_min", "sync_max") and self.get(array, "sync_action") in RUNNING:
            raise OSError(16, "Device or resource busy")
        if path.name == "sync_min":
            self._settle()
        self.box.md(array, **{path.name: text})

    def wait(self, seconds: float) -> bool:
        self.now += timedelta(minutes=1)
        self.seconds += 60
        running = [array for array in self.sectors if self.get(array, "sync_action") in RUNNING]
        self.together.add(tuple(running))
        for array in running:
            self._advance(array)
        self.during()
        return self.asked

    def fail(self, array: str) -> None:
        """A member fails: md ends the check by itself."""
        self._interrupt(array)
        self.box.md(array, degraded="1", sync_action="idle")

    def _chunk(self, array: str) -> int:
        return 8 if array == "log" else 128

    def _md(self, array: str) -> Path:
        return (self.box.root / "sys/class/block" / (self.box.root / f"dev/md/millrace-{array}").readlink().name) / "md"

    def _action(self, array: str, text: str) -> None:
        if text == "idle":
            self._interrupt(array)
            return
        assert text in RUNNING
        if self.get(array, "sync_action") != "idle":
            raise OSError(16, "Device or resource busy")
        self._settle()
        begin = int(self.get(array, "sync_min"))
        self.begun.append((array, begin))
        self.limits.append((self.get(array, "sync_speed_min"), self.get(array, "sync_speed_max")))
        self._read[array] = begin
        self.box.md(array, sync_action=text, last_sync_action=text, mismatch_cnt="0")
        self.box.md(array, sync_completed=f"{begin} / {self.sectors[array]}")

    def _advance(self, array: str) -> None:
        before, most = self._read[array], self.get(array, "sync_max")
        now = self._read[array] = min(before + STEP, self.sectors[array] if most == "max" else int(most))
        bad = [sector for sector in self.bad.get(array, []) if before <= sector < now]
        self.box.md(array, mismatch_cnt=str(int(self.get(array, "mismatch_cnt")) + 8 * len(bad)))
        if self.get(array, "sync_action") == "repair":
            self.bad[array] = [sector for sector in self.bad.get(array, []) if sector not in bad]
            self.repaired += [(array, sector) for sector in bad]
        elif self.logs:
            self.journal += [f"{self._name(array)}: mismatch sector in range {sector}-{sector + 8}" for sector in bad]
        self.box.md(array, sync_completed=f"{now} / {self.sectors[array]}")
        if now == self.sectors[array]:
            self.order.append(array)
            self.box.md(array, sync_action="idle", sync_min="0", sync_max="max", sync_completed="none")
            self._refusals = self.settling

    def _settle(self) -> None:
        if self._refusals > 0:
            self._refusals -= 1
            raise OSError(16, "Device or resource busy")

    def _name(self, array: str) -> str:
        return (self.box.root / f"dev/md/millrace-{array}").readlink().name

    def _interrupt(self, array: str) -> None:
        done = self.get(array, "sync_completed").partition(" / ")[0]
        self.box.md(array, sync_action="idle", sync_min=done, sync_completed="none")
        self._refusals = self.settling
