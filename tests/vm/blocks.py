# SPDX-License-Identifier: Apache-2.0
"""Blocks that stories write and read back: each can be told from every other, and from one that was not written."""

BLOCK = 65536
BLOCKS = f"""
import hashlib
def block(number):
    seed = hashlib.sha256(number.to_bytes(8, "big")).digest()
    return seed * ({BLOCK} // len(seed))
"""
