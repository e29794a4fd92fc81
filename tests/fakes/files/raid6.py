# SPDX-License-Identifier: Apache-2.0
"""A RAID6 on files: members with data that match, and the attributes of md. A second model of layout and field."""

import random
from collections.abc import Sequence
from pathlib import Path

SECTOR, BLOCK = 512, 4096
CHUNK, OFFSET = 16, 256
"""Sectors: of a chunk, and before the data of a member."""
DOUBLED = bytes((byte << 1 ^ 0x11D if byte & 0x80 else byte << 1) for byte in range(256))


class Raid6:
    """`disks` members of so many rows below a root; only the rows `filled` have data, or all of them."""

    def __init__(
        self,
        root: Path,
        disks: int = 5,
        rows: int = 12,
        device: str = "md9",
        chunk: int = CHUNK,
        filled: Sequence[int] | None = None,
    ) -> None:
        self.root, self.disks, self.chunk, self.device = root, disks, chunk, device
        self.at = root / f"sys/class/block/{device}/md"
        self.filled = [*range(rows)] if filled is None else [*filled]
        seeded = random.Random(disks)
        (root / "dev").mkdir(parents=True, exist_ok=True)
        for slot in range(disks):
            with self.member(slot).open("wb") as image:
                image.truncate((OFFSET + rows * chunk) * SECTOR)
            name = f"dev-{self.member(slot).name}"
            attributes = {"slot": str(slot), "state": "in_sync", "offset": str(OFFSET), "bad_blocks": ""}
            self.attributes(**{f"{name}/{key}": text for key, text in attributes.items()})
        for row in self.filled:
            for slot in self._data(row):
                self.rot(slot, row * chunk, seeded.randbytes(chunk * SECTOR))
            self._compute(row * chunk, chunk)
        self.attributes(level="raid6", layout="2", metadata_version="1.2", reshape_position="none")
        self.attributes(consistency_policy="bitmap", raid_disks=str(disks), chunk_size=str(chunk * SECTOR))
        self.attributes(degraded="0", component_size=str(rows * chunk // 2), suspend_lo="0", suspend_hi="0")
        self.attributes(stripe_cache_size="4096")

    def member(self, slot: int) -> Path:
        """Return the file of a member."""
        return self.root / f"dev/nvme{slot}n1p2"

    def attributes(self, **values: str) -> None:
        """Set attributes of md."""
        for name, text in values.items():
            path = self.at / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    def rot(self, slot: int, sector: int, data: bytes) -> None:
        """Change a member behind md, from this sector of its data on."""
        with self.member(slot).open("r+b") as image:
            image.seek((OFFSET + sector) * SECTOR)
            image.write(data)

    def read(self, slot: int, sector: int, size: int = BLOCK) -> bytes:
        """Return what a member has."""
        with self.member(slot).open("rb") as image:
            image.seek((OFFSET + sector) * SECTOR)
            return image.read(size)

    def images(self) -> list[bytes]:
        """Return all that each member has."""
        return [self.member(slot).read_bytes() for slot in range(self.disks)]

    def parity(self, row: int) -> tuple[int, int]:
        """Return who has P and Q of a row."""
        pd = self.disks - 1 - row % self.disks
        return pd, (pd + 1) % self.disks

    def differing(self) -> list[int]:
        """Return the sectors of the blocks whose P or Q do not match the data."""
        blocks = [row * self.chunk + at for row in self.filled for at in range(0, self.chunk, 8)]
        return [one for one in blocks if self._parities(one, 8) != self._kept(one)]

    def repair(self, sector: int) -> None:
        """Compute P and Q of one block from the data as they are, as md does."""
        self._compute(sector, 8)

    def _data(self, row: int) -> list[int]:
        return [(self.parity(row)[1] + 1 + count) % self.disks for count in range(self.disks - 2)]

    def _kept(self, sector: int) -> tuple[bytes, bytes]:
        pd, qd = self.parity(sector // self.chunk)
        return self.read(pd, sector), self.read(qd, sector)

    def _compute(self, sector: int, sectors: int) -> None:
        pd, qd = self.parity(sector // self.chunk)
        for slot, data in zip((pd, qd), self._parities(sector, sectors), strict=True):
            self.rot(slot, sector, data)

    def _parities(self, sector: int, sectors: int) -> tuple[bytes, bytes]:
        """By Horner's rule, from the last data block to the first."""
        p, q, size = 0, bytes(sectors * SECTOR), sectors * SECTOR
        for slot in reversed(self._data(sector // self.chunk)):
            block = self.read(slot, sector, size)
            p ^= int.from_bytes(block)
            q = (int.from_bytes(q.translate(DOUBLED)) ^ int.from_bytes(block)).to_bytes(size)
        return p.to_bytes(size), q
