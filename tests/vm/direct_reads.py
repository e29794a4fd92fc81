# SPDX-License-Identifier: Apache-2.0
"""Reads of an array that lacks drives: right wherever they begin, and direct where the drives of a read are there."""

import json
from typing import NamedTuple

import pytest

from tests.vm.box import Box

CHUNKS = 64
PROGRAM = """
import json, mmap, os, random, sys
path, array, chunk, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
choice = random.Random(1)
content = choice.randbytes(chunk * count)
with open(path, "wb") as file:
    file.write(content)
    os.fsync(file)
file = os.open(path, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
view = memoryview(page)

def read(at, size):
    assert os.preadv(file, [view[:size]], at) == size
    return bytes(view[:size])

def reads():
    # a drive counts, its partitions do not (nvme multipath)
    members = [f"{array}/slaves/{name}/../stat" for name in os.listdir(f"{array}/slaves")]
    return sum(int(open(one).read().split()[0]) for one in members if os.path.exists(one))

# before the others: a block that begins where another read ended counts as read in order
blocks = range(0, len(content), chunk)
for at in blocks:
    read(at, 4096)
before = reads()
for at in blocks:
    read(at, 4096)
again = reads() - before

wrong = []
for _ in range(300):
    at = choice.randrange(len(content) // 4096) * 4096
    size = min(choice.choice([1, 2, 4, 16, 17, 40, 128, 256]) * 4096, len(content) - at)
    if read(at, size) != content[at : at + size]:
        wrong.append([at, size])
print(json.dumps({"wrong": wrong, "again": again}))
os.unlink(path)
"""


class Direct(NamedTuple):
    """Pieces that were wrong, and how many reads of drives a second read of the same CHUNKS blocks took."""

    wrong: list[list[int]]
    again: int


def read_beside_missing(box: Box, path: str, array: str) -> Direct:
    """Write a file, read pieces of all sizes past the page cache, and one block of each chunk twice.

    `array` is its directory in sysfs. Skips where the image has Debian's raid456.
    """
    if "/updates/millrace/" not in box.say("modinfo -n raid456"):
        pytest.skip("the image has Debian's raid456; tools/build without --stock-modules has the one with direct reads")
    box.machine.run("cat > /run/direct.py", stdin=PROGRAM)
    chunk = box.say(f"cat {array}/md/chunk_size")
    figures = json.loads(box.say(f"python3 /run/direct.py {path} {array} {chunk} {CHUNKS}", seconds=600))
    return Direct(**figures)
