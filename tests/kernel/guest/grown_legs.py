# SPDX-License-Identifier: Apache-2.0
"""Legs of a RAID0 grow, and the RAID0 with its next start: what it holds stays where it is, whatever cuts that short.

The commands are those of millrace.storage: grow_steps enlarges the legs, grown_legs starts the array over them.
"""

import hashlib
import mmap
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from host.perf.guest.shell import run
from tests.kernel.guest.array import BLOCK, TOP, Array, Shape, array, opened, patterned
from tests.kernel.guest.forced import copied

MIB = 1 << 20
SHAPE = Shape(5, 3, legs=3, size_mib=64, rows=64)
LARGER = 48 * MIB
"""Bytes of each drive that a leg uses after the growth, where it used 4 MiB."""
SUPERBLOCK_END = 8 << 10
POOL = Path("/srv/pool")
FOR_XFS = Shape(6, 4, legs=2, size_mib=288, rows=2048)
LARGER_FOR_XFS = 256 * MIB
BIG = 4 * MIB


def fill(raid: Array) -> None:
    """Write a pattern over the whole array."""
    per_write = MIB // BLOCK
    with opened(raid.device, os.O_WRONLY) as device, mmap.mmap(-1, MIB) as memory:
        for begin in range(0, raid.size // BLOCK, per_write):
            blocks = range(begin, min(begin + per_write, raid.size // BLOCK))
            memory[: len(blocks) * BLOCK] = b"".join(patterned(1, block) for block in blocks)
            os.pwrite(device, memoryview(memory)[: len(blocks) * BLOCK], begin * BLOCK)


def digest(raid: Array, size: int) -> str:
    """Return the sha256 of the first `size` bytes of the array."""
    content = hashlib.sha256()
    with opened(raid.device) as device, mmap.mmap(-1, MIB) as memory:
        for begin in range(0, size, MIB):
            length = min(MIB, size - begin)
            os.preadv(device, [memoryview(memory)[:length]], begin)
            content.update(memory[:length])
    return content.hexdigest()


def enlarge(number: int, size: int) -> None:
    """Let a leg that runs use `size` bytes of each drive."""
    run("mdadm", "--grow", f"/dev/md/leg{number}", f"--size={size >> 10}")


def begin(raid: Array, update: str | None = None) -> bool:
    """Start the array over the legs; whether it runs."""
    more = [f"--update={update}"] if update else []
    legs = [f"/dev/md/leg{number}" for number in range(raid.shape.legs)]
    try:
        run("mdadm", "--assemble", TOP, "--run", *more, *legs)
    except RuntimeError:
        return False
    return True


def end() -> None:
    """Stop the array over the legs."""
    run("mdadm", "--stop", TOP)


def superblocks(raid: Array) -> list[bytes]:
    """Return what the array over the legs has in front of its data."""
    return [copied(raid.leg(number), 0, length=SUPERBLOCK_END) for number in range(raid.shape.legs)]


def write_back(raid: Array, blocks: list[bytes], numbers: Collection[int]) -> None:
    """Put back the superblocks of some legs: what a power cut leaves before mdadm has written those."""
    for number in numbers:
        copied(raid.leg(number), 0, blocks[number])


def interrupted() -> Iterator[dict[str, Any]]:
    """Cut the growth short after each of its writes, and start the array as it is then."""
    with array(SHAPE) as raid:
        fill(raid)
        size = raid.size
        content = digest(raid, size)

        def found(case: str, starts: bool = True) -> dict[str, Any]:
            """What the array has, where it starts; it is stopped then."""
            record: dict[str, Any] = {"case": case, "starts": starts}
            if starts:
                record |= {"gain": raid.size - size, "equal": digest(raid, size) == content}
                end()
            return record

        def torn() -> Iterator[dict[str, Any]]:
            for written in ({0}, {0, 1}):
                before = superblocks(raid)
                begin(raid, "devicesize")
                end()
                write_back(raid, before, {0, 1, 2} - written)
                yield found(f"{len(written)} of 3 superblocks, an earlier version", begin(raid))
                # the next start of the version that knows of the growth
                begin(raid, "devicesize")
                yield found(f"{len(written)} of 3 superblocks, the next start")
                write_back(raid, before, {0, 1, 2})

        enlarge(0, LARGER)
        yield {"case": "one leg grown, array runs", "starts": True, "gain": raid.size - size} | {
            "equal": digest(raid, size) == content
        }
        end()
        yield found("one leg grown, restart", begin(raid))
        for number in (1, 2):
            enlarge(number, LARGER)
        yield found("all legs grown, restart of an earlier version", begin(raid))
        yield from torn()
        begin(raid, "devicesize")
        yield found("all superblocks")
        begin(raid)
        yield found("all superblocks, restart of an earlier version")
        run("mdadm", "/dev/md/leg1", "--fail", f"/dev/{raid.members[1][0]}")
        begin(raid)
        yield found("a drive of one leg dead")
        begin(raid)


def files(directory: Path, seed: int, count: int) -> dict[str, str]:
    """Write files in many directories, which lie in many allocation groups; return their digests."""
    made = {}
    for number in range(count):
        path = directory / f"{seed}-{number}" / "file"
        path.parent.mkdir()
        content = patterned(seed, number) * (BIG // BLOCK)
        path.write_bytes(content)
        made[str(path)] = hashlib.sha256(content).hexdigest()
    os.sync()
    return made


def kept(made: dict[str, str]) -> bool:
    """Whether files hold what was written, read from the drives."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    return all(hashlib.sha256(Path(path).read_bytes()).hexdigest() == content for path, content in made.items())


def geometry() -> list[str]:
    """Return what xfs_info shows of the stripe and of the log."""
    return [
        word.strip(",")
        for line in run("xfs_info", str(POOL)).splitlines()
        for word in line.split()
        if word.startswith(("sunit=", "swidth=", "agsize=", "log", "=external"))
    ]


def with_files() -> Iterator[dict[str, Any]]:
    """Grow an XFS with an external log on a RAID60, with files in it, mounted as long as the RAID0 does not start."""
    run("modprobe", "xfs")
    with array(FOR_XFS, spares=1) as raid:
        log = f"/dev/{raid.spares[0]}"
        mount = ("mount", "-t", "xfs", "-o", f"noatime,prjquota,logdev={log}", TOP, str(POOL))
        stripe = f"su={FOR_XFS.row},sw={FOR_XFS.legs}"
        run("mkfs.xfs", "-q", "-K", "-d", stripe, "-l", f"logdev={log},size=64m", TOP)
        run(*mount)
        before, shape = os.statvfs(POOL).f_blocks, geometry()
        made = files(POOL, 1, 16)
        for number in range(FOR_XFS.legs):
            enlarge(number, LARGER_FOR_XFS)
        mounted = kept(made)
        run("umount", str(POOL))
        end()
        begin(raid, "devicesize")
        run(*mount)
        started = kept(made)
        run("xfs_growfs", "-d", str(POOL))
        made |= files(POOL, 2, 32)
        gain = os.statvfs(POOL).f_blocks / before
        grown = kept(made)
        run("umount", str(POOL))
        end()
        begin(raid)
        # it fails where anything is to be repaired
        run("xfs_repair", "-n", "-l", log, TOP)
        run(*mount)
        yield {
            "case": "files of a RAID60 with an external log",
            "kept": [mounted, started, grown, kept(made)],
            "gain": round(gain, 2),
            "same": geometry() == shape and len(shape) > 4,
        }
        run("umount", str(POOL))


def cases() -> Iterator[dict[str, Any]]:
    """Yield what is found after each cut, and with files."""
    yield from interrupted()
    yield from with_files()
