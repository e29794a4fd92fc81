# SPDX-License-Identifier: Apache-2.0
"""What drivers and tools for GPUs print, read into versions, counters and configuration."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from millrace_client.this_client import System

CUDA_TOOLS = "/usr/local/cuda/gds/tools/"
NVFS = "proc/driver/nvidia-fs/"
_READS = re.compile(r"^Reads\s*: n=(\d+) ok=(\d+) err=(\d+) readMiB=(\d+)", re.MULTILINE)
_OFED = re.compile(r"(?:OFED|OFED_LINUX)\D*?(\d+\.\d+(?:[-.]\d+)*)")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


class Reads(NamedTuple):
    """Reads that nvidia-fs served directly since it was loaded, and those that failed."""

    asked: int
    good: int
    failed: int


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers to compare; what follows is no part of it."""
    return tuple(int(one) for one in re.findall(r"\d+", version)[:4])


def within(version: str, begin: str | None, below: str | None) -> bool:
    """Whether `begin` <= version < `below`; None is no limit."""
    found = numbers(version)
    return (begin is None or found >= numbers(begin)) and (below is None or found < numbers(below))


def nvidia_fs_version(system: System) -> str | None:
    """Return the version of nvidia-fs; None where it is not loaded."""
    text = system.read(NVFS + "version") or ""
    stats = re.search(r"NVFS Driver\(version: ([\d.:]+)\)", system.read(NVFS + "stats") or "")
    # the statistics have the third number too
    found = stats or re.search(r"version:\s*([\d.:]+)", text)
    return found.group(1).replace(":", ".") if found else None


def reads(system: System) -> Reads | None:
    """Return the counters of nvidia-fs; None where it does not count."""
    found = _READS.search(system.read(NVFS + "stats") or "")
    return Reads(*(int(one) for one in found.groups()[:3])) if found else None


def ofed_version(system: System) -> str | None:
    """Return the version of DOCA-OFED or MLNX_OFED; None where the modules are the distribution's."""
    found = _OFED.search(system.run(["ofed_info", "-s"]) or "")
    if found:
        return found.group(1)
    # modules of the kernel itself have no version
    return (system.read("sys/module/mlx5_core/version") or "").strip() or None


def supported(system: System) -> bool | None:
    """Return what gdscheck says of NFS; None where it cannot be asked."""
    said = system.run([CUDA_TOOLS + "gdscheck", "-p"]) or system.run(["gdscheck", "-p"]) or ""
    found = re.search(r"^\s*NFS\s*:\s*(Supported|Unsupported)\s*$", said, re.MULTILINE)
    return found.group(1) == "Supported" if found else None


def cufile(system: System) -> tuple[str, dict[str, Any] | None]:
    """Return the path of cuFile's configuration, and what is in it; None where there is none or it is not read.

    ValueError: it is not JSON.
    """
    path = os.environ.get("CUFILE_ENV_PATH_JSON") or "/etc/cufile.json"
    text = system.read(path.lstrip("/"))
    if text is None:
        return path, None
    # comments, but not what looks like one inside a text
    plain = _COMMENT.sub(lambda match: match.group(1) or "", text)
    configuration = json.loads(plain)
    return path, configuration if isinstance(configuration, dict) else {}


def ais(system: System) -> dict[str, bool]:
    """Return what ais-check says of kernel, runtime and driver, by its own words; empty where it cannot be asked."""
    said = system.run(["ais-check"]) or ""
    lines = re.findall(
        r"^\s*(Kernel P2PDMA support|HIP [Rr]untime|amdgpu)\s*: ([Tt]rue|[Ff]alse)\s*$", said, re.MULTILINE
    )
    return {name: value.lower() == "true" for name, value in lines}
