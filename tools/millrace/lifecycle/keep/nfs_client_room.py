# SPDX-License-Identifier: Apache-2.0
"""Room for the records of NFS clients that users of the pool cannot take.

XFS reserves nothing for root: on a full pool SQLite cannot make its journal, nfsdcld records no client, and a restart
of nfsd takes the locks of all. So the records have a small file system of their own, with its own inodes, in an image.
All of the image is written when it is made: writing it again takes no block of the pool.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from millrace.lifecycle.keep import nfs_client_records
from millrace.lifecycle.keep.generation_store import make_directory
from millrace.lifecycle.keep.model import RecordsRoom
from millrace.system import nfsd, paths
from millrace.system.errors import Failed
from millrace.system.files import sync, write_blocks
from millrace.system.heartbeat import Heartbeat
from millrace.system.mounts import mounted
from millrace.system.run import Runner, last_words, must
from millrace.system.text import size

IMAGE = f"{nfs_client_records.DIRECTORY}.img"
DAMAGED = [f"{IMAGE}.damaged{number}" for number in ("", "-2", "-3")]
"""Damaged images that stay; further ones replace the last."""
UNIT = "srv-pool-.millrace-nfsdcld.mount"
BYTES = 32 << 20
"""At least: records of some 5,500 owners of a size that a client chooses (1 KiB), and SQLite's journal."""
LARGEST = 256 << 20
PART = 1000
"""An image above BYTES takes this part of the pool at most."""
LEAST = 1 << 20
"""Bytes that a restart of nfsd needs: tables of a new epoch and SQLite's journal."""
PATIENCE = 600.0
"""Seconds for e2fsck: drives that are busy or recover make it slow, and ended early it says nothing of the image."""
RESTART = (
    "systemctl restart nfsdcld.service (it restarts the NFS server, and clients wait for about a minute and a half)"
)

_MIB = 1 << 20
# Without extents, see the mount unit. The inode tables are written at once: what is zeroed later would be a hole.
_FORMAT = [
    *("mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-m", "0", "-L", "millrace-records"),
    *("-E", "nodiscard,lazy_itable_init=0"),
]
# e2fsck(8), a sum: 1 and 2 are errors that were corrected, 4 those that were not, 8 is an error of the tool itself
_CORRECTED, _DAMAGED, _FAILED = 3, 4, 8
# ext4 of kernel 6.15 and later shows the two latter: it is no longer mounted "ro" after an error, and takes no write
_READ_ONLY = {"ro", "emergency_ro", "shutdown"}
_MAGIC = (1024 + 56, b"\x53\xef")


def release(mountpoint: Path, run: Runner) -> None:
    """Unmount records that an error made read-only, so that they are checked and mounted again; others stay mounted.

    It is for nfsdcld's start, outside of the sandbox. Failed: something uses them.
    """
    where = mountpoint / paths.POOL_OWN / nfs_client_records.DIRECTORY
    if not is_read_only(where):
        return
    done = run(["umount", str(where)])
    if done.status != 0:
        raise Failed(
            f"{where} is read-only after an error and cannot be unmounted ({last_words(done)}): end what uses it, "
            "then: systemctl restart nfsdcld.service"
        )


def make(mountpoint: Path, run: Runner) -> RecordsRoom:
    """Make the image of the records on the mounted pool, with the records that are there; check the one that is there.

    A damaged image is set aside. A pool that is full already takes none: the records stay where they are. Failed: the
    directory is another user's, the image cannot be checked or formatted, or it is mounted and read-only.
    """
    where = mountpoint / paths.POOL_OWN / nfs_client_records.DIRECTORY
    image = where.parent / IMAGE
    room = RecordsRoom(image=str(image))
    if is_mounted(where):
        if is_read_only(where):
            raise Failed(f"{where} is mounted and read-only after an error: systemctl restart nfsdcld.service")
        return room
    make_directory(mountpoint, nfs_client_records.DIRECTORY)
    if image.exists() and _is_outdated(image, where):
        # The records below the mount take its place, and its blocks are free for the new one.
        image.unlink()
        sync(image.parent)
    if image.exists() and _is_damaged(image, run):
        room = room.model_copy(update={"set_aside": str(set_aside(image))})
    if image.exists():
        _fill(image)
    else:
        try:
            _format(where, image, room_bytes(_pool_size(mountpoint)), run)
        except OSError as error:
            return room.model_copy(update={"problem": f"{image}: {error.strerror or error}"})
    # The image has them now; what a version without the mount leaves here later is newer than the image.
    nfs_client_records.remove(where)
    return room


def settle(mountpoint: Path, run: Runner) -> str | None:
    """Return where a damaged image that cannot be mounted was set aside; None where it is mounted, or there is none.

    Failed: a sound image is not mounted, for want of memory or time, or in a server that is shutting down.
    """
    where = mountpoint / paths.POOL_OWN / nfs_client_records.DIRECTORY
    image = where.parent / IMAGE
    if is_mounted(where):
        # mke2fs leaves it readable; only root reaches it in any case
        where.chmod(0o700)
        return None
    if not image.exists():
        return None
    result = must(run, ["systemctl", "show", "--property=Result", "--value", UNIT]).strip()
    # mount(8) exits with the same status for an image that is damaged and for a loop device that is not there
    if result != "exit-code" or not _is_damaged(image, run, "-f"):
        raise Failed(f"{image} is not mounted; see `systemctl status {UNIT}`")
    return str(set_aside(image))


def lines(room: RecordsRoom) -> Iterator[str]:
    """Return the result as text."""
    image = Path(room.image)
    has = image.stat().st_size if image.exists() else 0
    yield f"{room.image}: {size(has)} for the records of NFS clients"
    if room.set_aside:
        yield f"the image before cannot be used and is set aside in {room.set_aside}: clients lose their locks once"
    if room.problem:
        yield f"the records have no room of their own: {room.problem}"


def is_mounted(where: Path) -> bool:
    """Whether the records have a file system of their own. OSError: the mounts cannot be read."""
    return mounted(f"/{where.relative_to(paths.ROOT)}") is not None


def is_read_only(where: Path) -> bool:
    """Whether the records' own file system takes no write, as after an error. OSError: the mounts cannot be read."""
    there = mounted(f"/{where.relative_to(paths.ROOT)}")
    return there is not None and not _READ_ONLY.isdisjoint(there.options)


def room_bytes(pool: int) -> int:
    """Return the bytes of the image for a pool of so many bytes."""
    return max(BYTES, min(LARGEST, pool // PART // _MIB * _MIB))


def set_aside(image: Path) -> Path:
    """Give a damaged image another name, durably, and return it; the first one that was set aside stays."""
    names = [image.parent / name for name in DAMAGED]
    target = next((name for name in names if not name.exists()), names[-1])
    image.replace(target)
    sync(image.parent)
    return target


def endangered(beat: Heartbeat | None) -> str | None:
    """Return why a restart of nfsd would take the locks of clients now, in a sentence with the remedy; None else.

    It is asked of the last heartbeat, as nothing else touches the pool. Without clients there is nothing to lose.
    """
    if beat is None or beat.problem or not nfsd.has_clients():
        return None
    why = problem(beat)
    return f"{why[0].rstrip('.')}; {why[1]}" if why else None


def problem(beat: Heartbeat) -> tuple[str, str] | None:
    """Return why nfsdcld cannot record a client, and the remedy; None where it can."""
    where = paths.ROOT / "srv/pool" / paths.POOL_OWN / nfs_client_records.DIRECTORY
    if is_read_only(where):
        why, remedy = "their file system is read-only after an error", f"journalctl -k; then: {RESTART}"
    elif beat.records_free is not None:
        if beat.records_free >= LEAST:
            return None
        why = "their file system is full: a client may have filled it"
        remedy = f"Find and stop that client: nfsdclddb -p /{where.relative_to(paths.ROOT)}/main.sqlite print"
    elif (beat.free or 0) >= LEAST:
        return None
    else:
        why = "the pool is full, and they have no room of their own"
        remedy = f"Free {size(2 * room_bytes(beat.size or 0))} on the pool first; then: {RESTART}"
    return (
        f"nfsdcld cannot write the records of NFS clients ({why}): a restart of the NFS server takes their locks.",
        remedy,
    )


def _is_outdated(image: Path, where: Path) -> bool:
    """Whether a version without the mount has served since: it wrote newer records below the mount."""
    newest = nfs_client_records.newest(where)
    return newest is not None and newest > image.stat().st_mtime_ns


def _pool_size(mountpoint: Path) -> int:
    space = os.statvfs(mountpoint)
    return space.f_blocks * space.f_frsize


def _is_damaged(image: Path, run: Runner, *options: str) -> bool:
    """Replay its journal and repair it; return whether errors are left. Failed: it cannot be checked now."""
    result = run(["e2fsck", *options, "-p", str(image)])
    # a time limit, a tool that is not there and a signal have their own numbers, in which bits mean nothing
    said = 0 <= result.status < 2 * _FAILED
    if said and not result.status & ~_CORRECTED:
        return False
    if said and (result.status & _DAMAGED or not _has_superblock(image)):
        return True
    raise Failed(
        f"{image} cannot be checked (e2fsck, status {result.status}): {last_words(result)}. It is tried again by "
        f"itself; if it never succeeds, clients lose their locks once with: mv {image} {image}.old"
    )


def _has_superblock(image: Path) -> bool:
    offset, magic = _MAGIC
    with image.open("rb") as file:
        file.seek(offset)
        return file.read(len(magic)) == magic


def _fill(image: Path) -> None:
    """Allocate blocks again that were lost, to whatever. OSError: they cannot be."""
    descriptor = os.open(image, os.O_RDWR | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_blocks * 512 < status.st_size:
            try:
                os.posix_fallocate(descriptor, 0, status.st_size)
            except OSError as error:
                # as before: it serves with the blocks that it has
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _format(where: Path, image: Path, length: int, run: Runner) -> None:
    """Make the image in memory, and write all of it: a hole, or a block that was never written, is no room."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / IMAGE
        result = run([*_FORMAT, "-d", str(where), str(made), f"{length // 1024}k"])
        if result.status != 0:
            raise Failed(f"the file system of the records of NFS clients cannot be made: {last_words(result)}")
        write_blocks(image, _blocks(made), mode=0o600)


def _blocks(made: Path) -> Iterator[bytes]:
    with made.open("rb") as file:
        while block := file.read(_MIB):
            yield block
