# SPDX-License-Identifier: Apache-2.0
"""Mounts: the one reader of proc_pid_mountinfo(5)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from millrace.system import paths


@dataclass(frozen=True)
class Mount:
    """One mount. `device` is major:minor; `options` are those of the mount and then those of its file system."""

    device: str
    point: str
    kind: str
    source: str
    options: list[str]


def table(root: Path | None = None, process: Literal["1", "self"] = "1") -> list[Mount]:
    """Return the mounts under `root` (default: paths.ROOT) in the kernel's order; OSError if they cannot be read.

    They are those of process 1: a sandboxed service has a table of its own, in which most is read-only. `self` is for
    what this process, or one before it in the same sandbox, mounted.
    """
    return parse(((root or paths.ROOT) / "proc" / process / "mountinfo").read_text(errors="replace"))


def mounted(point: str) -> Mount | None:
    """Return what is mounted last at `point`, which hides the others; None where nothing is. OSError as `table`."""
    return next((one for one in reversed(table()) if one.point == point), None)


def parse(text: str) -> list[Mount]:
    """Return the mounts in the text of a mountinfo file; the fields before `-` vary in number."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        kind, source, options = after.split(" ", 2)
        words = [*fields[5].split(","), *options.split(",")]
        found.append(Mount(fields[2], unescape(fields[4]), kind, unescape(source), words))
    return found


def unescape(word: str) -> str:
    """Return a field of mountinfo or of /proc/swaps as it is: the kernel writes blanks and backslashes in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
