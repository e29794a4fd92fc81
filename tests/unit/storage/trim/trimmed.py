# SPDX-License-Identifier: Apache-2.0
"""fstrim on a server made of files: what is free, how long it takes, and a clock that goes on with it."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from millrace.storage.record.model import Pool
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.storage.trim.trim import POLL_SECONDS
from millrace.system.run import Result
from tests.fakes.files.box import Box
from tests.fakes.jobs import asks_states, shown

GIB = 1 << 30
GROUP, SIZE = 40 * GIB, 100 * GIB
STRIPE = 8 * 64 * 1024
GEOMETRY = f"""meta-data=/dev/md127             isize=512    agcount=3, agsize={GROUP // 4096} blks
         =                       sectsz=4096  attr=2, projid32bit=1
data     =                       bsize=4096   blocks={SIZE // 4096}, imaxpct=5
         =                       sunit=128    swidth=128 blks
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
log      =external               bsize=4096   blocks=521728, version=2
realtime =none                   extsz=4096   blocks=0, rtextents=0
"""


def trimmed(found: Pool) -> Pool:
    """The pool with drives that guarantee zeroes, and a plan that trims them."""
    drives = [one.model_copy(update={"discard": True}) for one in found.drives]
    filesystem = found.filesystem.model_copy(update={"discard": True})
    return found.model_copy(update={"drives": drives, "filesystem": filesystem})


class Kernel:
    """The file system and the clock of a server: `rate` bytes are trimmed in a second, `free` is the part that is."""

    def __init__(self, box: Box, now: datetime) -> None:
        self.box = box
        self.now = now
        self.seconds = 0.0
        self.rate = 4 * GIB
        self.free: Callable[[int], float] = lambda offset: 1.0
        self.questions = 0
        self.tried = 0
        self.slices: list[tuple[int, int]] = []
        self.took: list[float] = []
        self.pauses: list[float] = []
        self.active: set[str] = set()
        self.orders: list[str] = []
        self.asked = False
        self.refused: str | None = None
        self.geometry = GEOMETRY
        self.polled: Callable[[], None] = lambda: None
        self.during: Callable[[], None] = lambda: None

    def context(self) -> CheckContext:
        return CheckContext(self.run, self.wait, lambda: self.now, lambda: self.seconds)

    def run(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        if argv[0] == "systemctl":
            return self._systemctl(list(argv[1:]))
        if argv[0] == "xfs_spaceman":
            assert list(argv[1:]) == ["-c", "info", "/srv/pool"]
            return Result(0, self.geometry, "")
        offset, length = (int(one.partition("=")[2]) for one in argv[2:4])
        wanted = [f"--offset={offset}", f"--length={length}", f"--minimum={STRIPE}", "/srv/pool"]
        assert list(argv) == ["fstrim", "--verbose", *wanted]
        return self._trim(offset, length)

    def _systemctl(self, words: list[str]) -> Result:
        if asks_states(words):
            self.questions += "millrace-bench.service" in words
            return shown(words[2:], dict.fromkeys(self.active, "active"))
        assert words[-1] == "millrace-trim.service"
        assert words[:-1] in (["stop"], ["reset-failed"], ["start", "--no-block"])
        self.orders.append(words[0])
        return Result(0, "", "")

    def wait(self, seconds: float) -> bool:
        self._pass(seconds)
        if seconds == POLL_SECONDS:
            self.took[-1] += seconds
            self.polled()
            return self.asked
        self.pauses.append(seconds)
        self.during()
        return self.asked

    def _trim(self, offset: int, length: int) -> Result:
        match = re.search(r"data .*blocks=(\d+)", self.geometry)
        assert match and length >= 4096 and offset + length <= int(match[1]) * 4096
        # XFS may trim all of the last group of a range over two
        assert offset // GROUP == (offset + length - 1) // GROUP
        self.tried += 1
        if self.refused is not None:
            return Result(1, "", f"fstrim: /srv/pool: {self.refused}\n")
        trimmed = int(length * self.free(offset))
        self.slices.append((offset, length))
        self.took.append(0.01 + trimmed / self.rate)
        self._pass(self.took[-1])
        return Result(0, f"/srv/pool: {trimmed / GIB:.1f} GiB ({trimmed} bytes) trimmed\n", "")

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds
        self.now += timedelta(seconds=seconds)
