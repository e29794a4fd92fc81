# SPDX-License-Identifier: Apache-2.0
"""The GUIDs at both ends of a drive, which may have had any table."""

from millrace.storage.array import gpt

BLOCKS = (512, 4096)


def check(data: bytes) -> None:
    """The first byte chooses the block size and what is cut off the end; a pattern of the rest fills both ends."""
    block = BLOCKS[data[0] & 1] if data else 512
    cut = data[0] >> 1 if data else 0
    pattern, span = data[1:] or b"\0", 2 * block + gpt.ENTRY_AREA
    whole = (pattern * (span // len(pattern) + 1))[:span]
    gpt.ids(whole[: span - cut], whole[block + cut :], block)
