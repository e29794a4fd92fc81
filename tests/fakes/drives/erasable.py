# SPDX-License-Identifier: Apache-2.0
"""Drives that can erase themselves: their contents are files below /dev, and nvme-cli changes these."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.inventory.erase_support import (
    FNA_CRYPTO,
    OACS_FORMAT,
    OACS_NAMESPACES,
    SANICAP_BLOCK,
    SANICAP_CRYPTO,
)
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands, takes

ABLE = {"sanicap": SANICAP_BLOCK | SANICAP_CRYPTO, "oacs": OACS_FORMAT | OACS_NAMESPACES, "fna": FNA_CRYPTO}
SANITIZING = 2
NONE = {"sanicap": 0, "oacs": OACS_NAMESPACES, "fna": 0}


@dataclass
class Abilities:
    """What a drive offers (Identify Controller), how many namespaces it has, and what it does wrong.

    `lies` are methods that report success and erase nothing, `fails` those that report an error; `busy` is how often a
    sanitize is under way when its log is read.
    """

    controller: dict[str, int] = field(default_factory=lambda: dict(ABLE))
    namespaces: int = 1
    lies: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    busy: int = 2


class ErasableDrive(Commands):
    """nvme-cli and the tools that make kernel and udev read a drive again."""

    TAKEN = (
        "nvme id-ctrl * --output-format=json",
        "nvme id-ns * --output-format=json",
        "nvme list-ns * [--all] --output-format=json",
        "nvme format * --ses=? --lbaf=1 --timeout=10800000 --force",
        "nvme sanitize /dev/nvme? --sanact=* --force",
        "nvme sanitize-log /dev/nvme? --output-format=json",
        "blockdev --rereadpt *",
        "udevadm trigger --action=change *",
        "udevadm settle *",
    )

    def __init__(self, device: Path, abilities: Abilities) -> None:
        super().__init__()
        self.device, self.abilities, self.status = device, abilities, 0
        self.waited = 0.0

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        return self(argv, stdin)

    def diskseq(self, name: str) -> str | None:
        return "7" if self.device.exists() else None

    def wait(self, seconds: float) -> None:
        self.waited += seconds

    def _nvme(self, words: list[str], _: str) -> Result:
        verb, able = words[0], self.abilities
        if verb == "id-ctrl":
            return Result(0, json.dumps(able.controller), "")
        if verb == "id-ns":
            return Result(0, json.dumps({"flbas": 1}), "")
        if verb == "list-ns":
            return Result(0, json.dumps({"nsid_list": [{"nsid": 1 + number} for number in range(able.namespaces)]}), "")
        if verb == "sanitize-log":
            return self._sanitize_log()
        method = next(
            name
            for pattern, name in (
                ("format * --ses=1 ...", "format"),
                ("format * --ses=2 ...", "format-crypto"),
                ("sanitize * --sanact=start-block-erase ...", "sanitize-block"),
                ("sanitize * --sanact=start-crypto-erase ...", "sanitize-crypto"),
            )
            if takes(pattern, words)
        )
        if method in able.fails:
            return Result(1, "", "NVMe status: INVALID_FIELD: a reserved coded value (0x2002)\n")
        if method not in able.lies:
            self._clear(method)
        self.status = SANITIZING
        return GOOD

    def _sanitize_log(self) -> Result:
        if self.status == SANITIZING:
            if self.abilities.busy:
                self.abilities.busy -= 1
            else:
                self.status = 1
        status = {"global_erased": 0, "no_cmplted_passes": 0, "status": f"({self.status}) words"}
        return Result(0, json.dumps({"nvme0": {"sprog": 1 << 15, "sstat": status}}), "")

    def _clear(self, method: str) -> None:
        """What is read after its key is lost is no zeros."""
        size = self.device.stat().st_size
        fresh = os.urandom(size) if "crypto" in method else bytes(size)
        with self.device.open("r+b") as file:
            file.write(fresh)
