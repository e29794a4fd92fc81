# SPDX-License-Identifier: Apache-2.0
"""How a drive can erase itself, as it reports (NVMe base specification: Identify Controller, SANICAP, OACS, FNA)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from millrace.inventory.nvme import Answer, integer, query
from millrace.system.run import Runner

Method = Literal["sanitize-block", "sanitize-crypto", "format", "format-crypto"]

SANICAP_CRYPTO, SANICAP_BLOCK = 1 << 0, 1 << 1
OACS_FORMAT, OACS_NAMESPACES = 1 << 1, 1 << 3
FNA_CRYPTO = 1 << 2
FLBAS_LOW, FLBAS_HIGH = 0xF, 0x60


@dataclass(frozen=True)
class EraseSupport:
    """`methods` in the order in which they are tried; `lba_format` is the number of the one in use, which stays."""

    methods: tuple[Method, ...] = ()
    lba_format: int = 0


def erase_support(device: Path, run: Runner) -> EraseSupport:
    """Ask an NVMe drive how it can erase itself; nothing where it does not answer, or has other namespaces.

    A sanitize erases every namespace of a drive, also one that this server does not see.
    """
    controller = query("id-ctrl", device, run)
    in_use = integer(query("id-ns", device, run).get("flbas"))
    capabilities = integer(controller.get("oacs")) or 0
    if in_use is None or _namespaces(device, bool(capabilities & OACS_NAMESPACES), run) != 1:
        return EraseSupport()
    # bits 3:0 and 6:5
    return EraseSupport(_methods(controller, capabilities), in_use & FLBAS_LOW | (in_use & FLBAS_HIGH) >> 1)


def _methods(controller: Answer, capabilities: int) -> tuple[Method, ...]:
    sanitize, formats = integer(controller.get("sanicap")) or 0, integer(controller.get("fna")) or 0
    able: list[tuple[Method, int]] = [
        # what a block erase leaves behind reads as zeros on most drives, what a lost key leaves behind on few
        ("sanitize-block", sanitize & SANICAP_BLOCK),
        ("sanitize-crypto", sanitize & SANICAP_CRYPTO),
        ("format", capabilities & OACS_FORMAT),
        ("format-crypto", capabilities & OACS_FORMAT and formats & FNA_CRYPTO),
    ]
    return tuple(method for method, offered in able if offered)


def _namespaces(device: Path, managed: bool, run: Runner) -> int:
    """How many namespaces a drive has, attached or not; 0 where it does not say."""
    every = ["--all"] if managed else []
    found = query("list-ns", device, run, every).get("nsid_list")
    return len(found) if isinstance(found, list) else 0
