# SPDX-License-Identifier: Apache-2.0
"""Random rounds: writes of many sizes beside each other, refused requests, checks, pulled drives; each block is known.

Writers run beside each other and overlap. Of a block that one of them wrote alone its data are known; where several
did, it is that of one of them. Never more drives fail at once than the array survives, so that every write succeeds.
"""

import mmap
import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.kernel.guest.array import (
    BLOCK,
    CHUNK,
    SECTOR,
    STRIPE_SECTORS,
    Array,
    Shape,
    array,
    heal,
    opened,
    patterned,
    refuse,
    run,
    until,
    write,
)
from tests.kernel.guest.reads import SWITCH

ROWS = 8
SHAPES = (Shape(5, 5, rows=ROWS), Shape(6, 6, rows=ROWS), Shape(6, 10, rows=ROWS))
WRITERS, WRITES = 3, 6
# Whole rows most of all: they are what md batches.
SIZES = ("row", "row", "row", "rows", "chunk", "some", "one")


@dataclass(frozen=True)
class Write:
    """Blocks that one request writes, and with what."""

    generation: int
    begin: int
    count: int
    fua: bool
    pieces: tuple[int, ...]


class Rounds:
    """The rounds of one array, and what each block may hold: generations."""

    def __init__(self, one: Array, dice: random.Random) -> None:
        self.one, self.dice = one, dice
        self.blocks = ROWS * one.shape.row // BLOCK
        self.may: list[set[int]] = [{0} for _ in range(self.blocks)]
        self.generation = 0
        self.refused: list[tuple[str, range]] = []
        self.counts = {"writes": 0, "refusals": 0, "pulled": 0, "checks": 0, "listed": 0, "ejected": 0}

    def planned(self) -> list[Write]:
        """Return the writes of a round, which are carried out beside each other."""
        row, writes = self.one.shape.row // BLOCK, []
        sizes = {"row": row, "rows": 2 * row, "chunk": CHUNK // BLOCK, "one": 1}
        for _ in range(WRITES):
            size = self.dice.choice(SIZES)
            count = sizes.get(size) or self.dice.randint(2, row)
            begin = self.dice.randrange(0, self.blocks - count + 1)
            if size in {"row", "rows"}:
                begin -= begin % row
            self.generation += 1
            sectors = count * STRIPE_SECTORS
            cuts: list[int] = []
            if self.dice.random() < 0.5:
                cuts = sorted(self.dice.sample(range(1, sectors), min(3, sectors - 1)))
            ends = [*cuts, sectors]
            pieces = tuple(end - before for before, end in zip([0, *cuts], ends, strict=True))
            writes.append(Write(self.generation, begin, count, self.dice.random() < 0.3, pieces))
        return writes

    def carry_out(self, wanted: list[Write]) -> None:
        """Write, several at a time. AssertionError: one was not acknowledged."""

        def send(which: list[Write]) -> None:
            path, fua_flags = self.one.device, os.O_WRONLY | os.O_DSYNC
            with opened(path, os.O_WRONLY) as plain, opened(path, fua_flags) as fua:
                for request in which:
                    data = b"".join(
                        patterned(request.generation, request.begin + inside) for inside in range(request.count)
                    )
                    # pieces of memory that do not end where blocks do: bios of odd segments
                    with mmap.mmap(-1, len(data) + BLOCK * len(request.pieces)) as memory:
                        parts, at, source = [], 0, 0
                        for sectors in request.pieces:
                            length = sectors * SECTOR
                            memory[at : at + length] = data[source : source + length]
                            parts.append(memoryview(memory)[at : at + length])
                            source += length
                            at += -(-length // BLOCK) * BLOCK
                        try:
                            done = os.pwritev(fua if request.fua else plain, parts, request.begin * BLOCK)
                        except OSError as error:
                            raise AssertionError(f"{request} was not acknowledged: {error}") from None
                        finally:
                            for part in parts:
                                part.release()
                    assert done == len(data), (request, done)

        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(send, [wanted[number::WRITERS] for number in range(WRITERS)]))
        os.sync()
        by_writer = {request.generation: number % WRITERS for number, request in enumerate(wanted)}
        touched: dict[int, dict[int, int]] = {}
        for request in wanted:
            for block in range(request.begin, request.begin + request.count):
                # the later one of the same writer
                touched.setdefault(block, {})[by_writer[request.generation]] = request.generation
        for block, last in touched.items():
            self.may[block] = set(last.values())
        self.counts["writes"] += len(wanted)

    def verify(self) -> None:
        """Read every block. AssertionError: one holds nothing that it may."""
        length = self.one.shape.row
        with opened(self.one.device, os.O_RDONLY) as device, mmap.mmap(-1, length) as memory:
            for block in range(self.blocks):
                inside = block * BLOCK % length
                if not inside:
                    assert os.preadv(device, [memory], block * BLOCK) == length
                data = memory[inside : inside + BLOCK]
                if not any(data == self.content(generation, block) for generation in self.may[block]):
                    raise AssertionError(f"block {block} holds {data[:8].hex()}, not one of {self.may[block]}")

    @staticmethod
    def content(generation: int, block: int) -> bytes:
        """Return what a block holds after it was written; zeroes before."""
        return patterned(generation, block) if generation else bytes(BLOCK)

    def refuse(self, names: list[str]) -> None:
        """Let drives refuse places of their chunks."""
        for name in names:
            first, end = self.one.offset(name), self.one.offset(name) + ROWS * CHUNK // SECTOR
            for _ in range(self.dice.randint(1, 3)):
                begin = self.dice.randrange(first, end, STRIPE_SECTORS)
                blocks = self.dice.choice((1, 1, 2, 16))
                place = range(begin, min(begin + blocks * STRIPE_SECTORS, end))
                refuse(name, place)
                self.refused.append((name, place))
                self.counts["refusals"] += 1

    def heal(self) -> None:
        """Let all drives take everything again."""
        for name, place in self.refused:
            heal(name, place)
        self.refused.clear()

    def renew(self, name: str) -> None:
        """Build an ejected drive again."""
        until("removal", lambda: "removed" in self.one.state(name) or self._removed(f"/dev/{name}"), 60)
        run("mdadm", "--zero-superblock", f"/dev/{name}")
        run("mdadm", self.one.device, "--add", f"/dev/{name}")
        until("rebuild", lambda: self.one.read_attribute("degraded") == "0", 300)
        self.one.settle()

    def forget_lists(self) -> None:
        """Write all rows after a new start, in which md tries listed blocks again. AssertionError: one stays listed."""
        run("mdadm", "--stop", self.one.device)
        run("mdadm", "--assemble", self.one.device, *(f"/dev/{name}" for name in self.one.members[0]))
        self.one.empty_cache()
        self.verify()
        self.generation += 1
        length = self.one.shape.row
        with opened(self.one.device, os.O_WRONLY) as device, mmap.mmap(-1, length) as memory:
            for row in range(ROWS):
                first = row * length // BLOCK
                blocks = range(first, first + length // BLOCK)
                memory[:] = b"".join(patterned(self.generation, block) for block in blocks)
                assert os.pwrite(device, memory, row * length) == length
                for block in blocks:
                    self.may[block] = {self.generation}
            os.fsync(device)
        left = [name for name in self.one.members[0] if self.one.listed(name)]
        assert not left, f"{left} have listed blocks that were written"

    def _removed(self, device: str) -> bool:
        run("mdadm", self.one.device, "--remove", device, check=False)
        return False

    def pull(self, name: str) -> None:
        """Fail a drive, write without it, and let it come back by its bitmap."""
        run("mdadm", self.one.device, "--fail", f"/dev/{name}")
        until("removal", lambda: "removed" in self.one.state(name) or self._removed(f"/dev/{name}"), 60)
        self.carry_out(self.planned())
        self.one.empty_cache()
        self.verify()
        run("mdadm", self.one.device, "--re-add", f"/dev/{name}")
        until("resync", lambda: self.one.read_attribute("degraded") == "0", 300)
        self.one.settle()
        self.counts["pulled"] += 1

    def check(self) -> None:
        """Have md check all rows. AssertionError: some do not match."""
        self.one.act("check")
        found = self.one.read_attribute("mismatch_cnt")
        assert found == "0", f"{found} sectors do not match"
        self.counts["checks"] += 1

    def round(self) -> None:
        """One round."""
        names = self.one.members[0]
        survives = self.one.shape.level - 4
        if SWITCH.exists():
            write(str(SWITCH), self.dice.choice("YN"))
        if self.dice.random() < 0.7:
            self.one.empty_cache()
        listed = [name for name in names if self.one.listed(name)]
        others = [name for name in names if name not in listed]
        bad = listed + self.dice.sample(others, self.dice.randint(0, survives - len(listed)))
        self.refuse(bad)
        checking = self.dice.random() < 0.1
        if checking:
            write(str(self.one.attribute("sync_action")), "check")
        self.carry_out(self.planned())
        self.heal()
        if checking:
            self.one.settle()
        self.one.empty_cache()
        self.verify()
        lists = [name for name in names if self.one.listed(name)]
        out = [name for name in names if self.one.faulty(name)]
        self.counts["listed"] += len(lists)
        self.counts["ejected"] += len(out)
        for name in out:
            self.renew(name)
        # a drive that has a list counts as missing there
        if len(lists) == survives or self.dice.random() < 0.3:
            self.forget_lists()
            lists = []
        if not lists and self.dice.random() < 0.05:
            self.pull(self.dice.choice(names))
        if self.dice.random() < 0.1:
            self.check()


def rounds(seed: int, number: int) -> Iterator[dict[str, Any]]:
    """Yield the counts of each array after its share of so many rounds."""
    dice = random.Random(seed)
    for shape in SHAPES:
        share = number // len(SHAPES)
        with array(shape) as raid:
            here = Rounds(raid, dice)
            for done in range(share):
                try:
                    here.round()
                except Exception as error:
                    what = f"{shape.name} of {shape.drives}, round {done} of seed {seed}"
                    raise RuntimeError(f"{what}: {error}") from error
            yield {"case": f"{shape.name} of {shape.drives}", "rounds": share} | here.counts
