# SPDX-License-Identifier: Apache-2.0
"""The md superblock of a member as mdadm prints it: the name in it may have line breaks."""

from types import SimpleNamespace
from typing import Any

from millrace.storage.array import superblock
from millrace.storage.array.gather import latest_members
from millrace.system.run import Result


def check(data: bytes) -> None:
    """Read what mdadm prints of two members, which are separated by a zero byte."""
    texts = [part.decode(errors="replace") for part in data.split(b"\0", 1)]
    blocks = []
    for text in texts:
        system: Any = SimpleNamespace(attempt=lambda argv, text=text: Result(0, text, ""))
        superblock.updated(system, "nvme0n1p1")
        block = superblock.examine(system, "nvme0n1p1")
        blocks += [block] if block else []
    latest_members(blocks)
