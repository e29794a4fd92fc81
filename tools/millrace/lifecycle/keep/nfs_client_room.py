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
from millrace.lifecycle.keep.generations import make_directory
from millrace.lifecycle.keep.model import RecordsRoom
from millrace.system import nfsd, paths
from millrace.system.errors import Failed
from millrace.system.files import sync, write_blocks
from millrace.system.heartbeat import Heartbeat
from millrace.system.mounts import mounted
from millrace.system.run import Runner, last_words, must
from millrace.system.text import size

IMAGE = f"{nfs_client_records.DIRECTORY}.img"
DAMAGED = f"{IMAGE}.damaged"
UNIT = "srv-pool-.millrace-nfsdcld.mount"
BYTES = 32 << 20
"""Records of some 50,000 clients, of this epoch and the one before, and SQLite's journal."""
LEAST = 1 << 20
"""Bytes that a restart of nfsd needs: tables of a new epoch and SQLite's journal."""

_MIB = 1 << 20
# Without extents, see the mount unit. The inode tables are written at once: what is zeroed later would be a hole.
_FORMAT = [
    *("mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-m", "0", "-L", "millrace-records"),
    *("-E", "nodiscard,lazy_itable_init=0"),
]
# e2fsck(8): 1 and 2 are errors that were corrected
_CORRECTED = 3


def make(mountpoint: Path, run: Runner) -> RecordsRoom:
    """Make the image of the records on the mounted pool, with the records that are there; check the one that is there.

    A damaged image is set aside. A pool that is full already takes none: the records stay where they are. Failed: the
    directory is another user's, or the image cannot be formatted.
    """
    where = mountpoint / paths.POOL_OWN / nfs_client_records.DIRECTORY
    image = where.parent / IMAGE
    room = RecordsRoom(image=str(image))
    if is_mounted(where):
        return room
    make_directory(mountpoint, nfs_client_records.DIRECTORY)
    if image.exists() and not _is_sound(image, run):
        set_aside(image)
        room = room.model_copy(update={"set_aside": str(image.parent / DAMAGED)})
    if not image.exists():
        try:
            _format(where, image, run)
        except OSError as error:
            return room.model_copy(update={"problem": f"{image}: {error.strerror or error}"})
    # What is below the mount is never read again: not by a version without the mount, either.
    nfs_client_records.remove(where)
    return room


def settle(mountpoint: Path, run: Runner) -> str | None:
    """Return where an image that cannot be mounted was set aside; None where it is mounted, or there is none.

    Failed: it is not mounted although no mount failed, as in a server that is shutting down.
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
    if result in ("", "success"):
        raise Failed(f"{image} is not mounted; see `systemctl status {UNIT}`")
    set_aside(image)
    return str(image.parent / DAMAGED)


def lines(room: RecordsRoom) -> Iterator[str]:
    """Return the result as text."""
    yield f"{room.image}: {size(BYTES)} for the records of NFS clients"
    if room.set_aside:
        yield f"the image before cannot be used and is set aside in {room.set_aside}: clients lose their locks once"
    if room.problem:
        yield f"the records have no room of their own: {room.problem}"


def is_mounted(where: Path) -> bool:
    """Whether the records have a file system of their own. OSError: the mounts cannot be read."""
    return mounted(f"/{where.relative_to(paths.ROOT)}") is not None


def set_aside(image: Path) -> None:
    """Give a damaged image another name, durably; one that was set aside before is replaced."""
    image.replace(image.parent / DAMAGED)
    sync(image.parent)


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
    if beat.records_free is not None:
        if beat.records_free >= LEAST:
            return None
        why = "their file system is full or read-only"
        remedy = f"journalctl -u nfsdcld.service; systemctl status {UNIT}"
    elif (beat.free or 0) >= LEAST:
        return None
    else:
        why = "the pool is full, and they have no room of their own"
        again = "systemctl restart nfsdcld.service"
        remedy = f"Do not restart the NFS server. Free {size(2 * BYTES)} on the pool, then: {again}"
    return (
        f"nfsdcld cannot write the records of NFS clients ({why}): a restart of the NFS server takes their locks.",
        remedy,
    )


def _is_sound(image: Path, run: Runner) -> bool:
    """Replay its journal and repair it; blocks that were lost, to whatever, are allocated again.

    OSError: they cannot be.
    """
    if run(["e2fsck", "-p", str(image)]).status & ~_CORRECTED:
        return False
    descriptor = os.open(image, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_blocks * 512 < BYTES:
            try:
                os.posix_fallocate(descriptor, 0, BYTES)
            except OSError as error:
                # as before: it serves with the blocks that it has
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def _format(where: Path, image: Path, run: Runner) -> None:
    """Make the image in memory, and write all of it: a hole, or a block that was never written, is no room."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / IMAGE
        result = run([*_FORMAT, "-d", str(where), str(made), f"{BYTES // 1024}k"])
        if result.status != 0:
            raise Failed(f"the file system of the records of NFS clients cannot be made: {last_words(result)}")
        write_blocks(image, _blocks(made), mode=0o600)


def _blocks(made: Path) -> Iterator[bytes]:
    with made.open("rb") as file:
        while block := file.read(_MIB):
            yield block
