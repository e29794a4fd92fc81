# SPDX-License-Identifier: Apache-2.0
"""Blocks that stories write and read back: each can be told from every other, and from one that was not written."""

BLOCK = 65536
BLOCKS = f"""
import hashlib
def block(number):
    seed = hashlib.sha256(number.to_bytes(8, "big")).digest()
    return seed * ({BLOCK} // len(seed))
"""


def writer(path: str, log: str, count: int) -> str:
    """A program that writes so many blocks, each durable before its number is in the log."""
    return f"""
import os
{BLOCKS}
file = os.open("{path}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
log = open("{log}", "w")
for number in range({count}):
    os.pwrite(file, block(number), number * {BLOCK})
    os.fsync(file)
    print(number, file=log, flush=True)
"""
