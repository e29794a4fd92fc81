# SPDX-License-Identifier: Apache-2.0
"""The engine of snapshots on XFS: blocks are shared, what changes meanwhile is found, and nothing else is.

The program is that of the image, with the modules of the tree in the places of its own.
"""

import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from host.perf.guest.shell import run, write

IMAGE = Path("/usr/lib/python3/dist-packages/millrace")
TREE = Path("/millrace-guest/millrace")
POOL = Path("/srv/pool")
DRIVE = Path("/sys/kernel/config/nullb/snap")
MIB = 1 << 20


@contextmanager
def pool() -> Iterator[None]:
    """Make an XFS in memory, with quotas as the pool has them."""
    DRIVE.mkdir()
    for name, value in (("memory_backed", 1), ("size", 1024), ("power", 1)):
        write(DRIVE / name, value)
    # its name is that of its directory, whatever its number
    device = f"/dev/{DRIVE.name}"
    run("modprobe", "xfs")
    run("mkfs.xfs", "-q", device)
    run("mount", "-t", "xfs", "-o", "noatime,prjquota", device, str(POOL))
    try:
        yield
    finally:
        run("umount", str(POOL))
        write(DRIVE / "power", 0)
        DRIVE.rmdir()


def program() -> None:
    """Have the program of the image, with what the tree has of it in its place."""
    merged = Path("/tmp/program/millrace")
    merged.parent.mkdir()
    run("cp", "-a", str(IMAGE), str(merged))
    # what is compiled in the image is not compared with its source
    run("find", str(merged), "-name", "__pycache__", "-prune", "-exec", "rm", "-rf", "{}", "+")
    run("cp", "-a", f"{TREE}/.", str(merged))
    sys.path.insert(0, str(merged.parent))


def cases() -> Iterator[dict[str, Any]]:
    """Clone a tree and change it, and yield what is found of that."""
    program()
    from millrace.protect.snapshot.snapshot_compare import differing
    from millrace.serve.clone.clone_again import AgainClone, ChangeClock, changes
    from millrace.serve.clone.clone_tree import TreeClone
    from millrace.system import extents as shared_blocks
    from millrace.system import posix_acl, reflink

    def project(path: Path) -> int:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return reflink.project(descriptor)
        finally:
            os.close(descriptor)

    with pool():
        share, stage = POOL / "data", POOL / "stage"
        for number in range(20):
            (share / f"d{number}").mkdir(parents=True)
            for name in "abc":
                (share / f"d{number}" / name).write_bytes(bytes([number]) * MIB)
        (stage / "tree").mkdir(parents=True)
        (stage / "aside").mkdir()
        source, tree, aside = (os.open(path, os.O_RDONLY) for path in (share, stage / "tree", stage / "aside"))
        reflink.set_project(tree, (3 << 30) + 1001)
        # what is cloned into a directory inherits this at first
        posix_acl.write(tree, posix_acl.DEFAULT, posix_acl.encode(0o750))
        posix_acl.write(str(share / "d1/a"), posix_acl.ACCESS, named_user())
        posix_acl.write(str(share / "d2"), posix_acl.DEFAULT, named_user())
        os.sync()
        time.sleep(1)
        before = used()
        clock, origins = ChangeClock(), dict[int, int]()
        first = clock.mark()
        TreeClone(source, tree, reflink.clone, origins).run(2, lambda _: None)
        os.sync()
        yield {
            "case": "a tree that nobody changes",
            "changed": changes(source, clock.since(first), 2, lambda _: None).names(100),
            "equal": equal(share, stage / "tree"),
            "bytes": used() - before,
            "shared": extents(share / "d1/a") == extents(stage / "tree/d1/a"),
            "project": project(stage / "tree/d1/a"),
            "lists": [
                [sorted(os.listxattr(place / name)) for name in ("", "d1/a", "d2", "d3/a")]
                for place in (share, stage / "tree")
            ],
        }
        read = list[int]()
        equal_content = shared_blocks._equal

        def counted(left: int, right: int, offset: int, length: int) -> bool:
            read.append(length)
            return equal_content(left, right, offset, length)

        shared_blocks._equal = counted
        untouched = differing(tree, source, 2)
        yield {"case": "a comparison of what is equal", "differ": untouched.counts.total(), "read": len(read)}
        change(share)
        compared = differing(tree, source, 2)
        yield {
            "case": "a comparison of what clients changed",
            "differ": sorted([entry.what, entry.path, entry.former] for entry in compared.listed),
            "read": len(read),
        }
        mark = clock.mark()
        changed = changes(source, clock.since(first), 2, lambda _: None)
        names = changed.names(100)
        again = AgainClone(source, tree, aside, origins, 2)
        time.sleep(1)
        again.take(changed, lambda: None)
        yield {
            "case": "a tree that clients change",
            "changed": names,
            "equal": equal(share, stage / "tree"),
            "left": changes(source, clock.since(mark) + 500_000_000, 2, lambda _: None).names(100),
            "project": project(stage / "tree/d2/new"),
        }
        # as a snapshot gets its name: into a directory of no project
        (POOL / "snapshots").mkdir()
        (stage / "tree").rename(POOL / "snapshots/tree")
        (share / "d4/a").write_bytes(b"later")
        kept = (POOL / "snapshots/tree/d4/a").read_bytes()
        yield {"case": "a snapshot in its place", "kept": kept == bytes([4]) * MIB}
        for descriptor in (source, tree, aside):
            os.close(descriptor)


def named_user() -> bytes:
    """Return an access list that names a user."""
    from millrace.system import posix_acl

    # user 2001 may read, between the owner and the group; the mask before the others
    minimal = posix_acl.encode(0o640)
    user, mask = (struct.pack("<HHI", tag, 4, number) for tag, number in ((2, 2001), (16, 0xFFFFFFFF)))
    return minimal[:12] + user + minimal[12:20] + mask + minimal[20:]


def change(share: Path) -> None:
    """Change a tree in each way that a client has; all but the first keep size and time of change of the content."""
    (share / "d0/a").write_bytes(b"shorter")
    held = (share / "d1/a").stat()
    with open(share / "d1/a", "r+b") as file:
        file.write(b"X" * 4096)
    os.utime(share / "d1/a", ns=(held.st_atime_ns, held.st_mtime_ns))
    (share / "d2/new").write_bytes(b"new")
    (share / "d3/b").unlink()
    (share / "d5/a").rename(share / "d6/moved")
    # another directory with the same names in the place of one
    (share / "d7").rename(share / "old")
    (share / "d8").rename(share / "d7")
    os.chmod(share / "d9/c", 0o640)


def used() -> int:
    """Return the bytes of the pool that are in use."""
    pool_state = os.statvfs(POOL)
    return (pool_state.f_blocks - pool_state.f_bfree) * pool_state.f_frsize


def extents(path: Path) -> str:
    """Return where the blocks of a file are."""
    return run("xfs_io", "-r", "-c", "fiemap", str(path)).split("\n", 1)[1]


def equal(left: Path, right: Path) -> bool:
    """Whether two trees have the same names, contents, owners, modes and times."""
    return listing(left) == listing(right)


def listing(top: Path) -> list[tuple[object, ...]]:
    """Return everything of a tree."""
    listed: list[tuple[object, ...]] = []
    for path in sorted(top.rglob("*")):
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        listed.append((str(path.relative_to(top)), state.st_mode, state.st_uid, state.st_mtime_ns, content))
    return listed
