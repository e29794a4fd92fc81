# SPDX-License-Identifier: Apache-2.0
"""What is in a snapshot comes back into a share: a file at once, a directory as a clone, which is a job of its own.

Nothing that a share has is replaced.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack

from millrace.protect.snapshot.snapshot_model import RestoredFile, RestoreLine
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.clone.clone_space import forecast
from millrace.serve.clone.clone_tree import BLOCK, Tally, dress
from millrace.serve.config import store
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.users import only_root

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOATIME


def restore(source: str, target: str | None, server: ShareServer, links: Reflinks) -> Iterator[RestoreLine]:
    """Put a file or a directory of a snapshot into a share: where it was, or at `target`; yield progress and result.

    BadInput, Refused: source or target are not as they have to be, or there is no room. Failed: it is not restored.
    """
    only_root()
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    place = snapshots.known(source)
    if target is None and snapshots.row(store.load(), place.share, str(place.snapshot)).former:
        raise Refused(f"{place} is of a former share: name the target")
    if not place.path and target is None:
        raise BadInput(f"{place} is a whole share, which exists: name another one, or a directory in a share")
    goal = ClonePlace(place.share, place.path) if target is None else clone_place.parse(target)
    with ExitStack() as stack:
        file = _file(stack, place, snapshots)
        if file is not None:
            yield _restored(file, place, goal, server, links)
            return
    order = clone_job.prepare(str(place), str(goal), False, None, server)
    clone_job.start(order, server)
    yield from clone_job.follow(order, server)


def _file(stack: ExitStack, place: ClonePlace, snapshots: SnapshotStore) -> int | None:
    """Open what is restored, if it is a file; None for a directory. Refused: it is none of them, or does not exist."""
    if not place.path:
        return None
    above = ClonePlace(place.share, place.path[:-1], place.snapshot)
    with clone_place.opened(above, snapshots.mountpoint) as directory:
        try:
            status = os.stat(place.path[-1], dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return None
            if not stat.S_ISREG(status.st_mode):
                raise Refused(f"{place} is no file and no directory: restore the directory that has it")
            descriptor = os.open(place.path[-1], _READ, dir_fd=directory)
        except FileNotFoundError as error:
            raise Refused(f"{place} does not exist: {command('millrace snapshot browse', str(above))}") from error
    stack.callback(os.close, descriptor)
    return descriptor


def _restored(file: int, place: ClonePlace, goal: ClonePlace, server: ShareServer, links: Reflinks) -> RestoredFile:
    if not goal.path:
        raise BadInput(f"{goal} is a share: name the file that is made in it, such as {goal}/{place.path[-1]}")
    mountpoint = server.pool.filesystem.mountpoint
    clone_place.refuse_shares(store.load(), place, goal, False, mountpoint)
    status = os.fstat(file)
    with clone_place.parent(goal, mountpoint) as directory:
        # no name leads to it before it is complete, and a power cut leaves none
        made = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=directory)
        try:
            tally = Tally(entries=1, bytes=status.st_blocks * BLOCK)
            project = links.project(directory)
            if obstacle := forecast(place, goal, tally, project, None, mountpoint, server.run).obstacle:
                raise Refused(obstacle)
            links.share(file, made)
            dress(file, made)
            os.fsync(made)
            os.link(f"/proc/self/fd/{made}", goal.path[-1], dst_dir_fd=directory, follow_symlinks=True)
            os.fsync(directory)
        except OSError as error:
            if error.errno == errno.EEXIST:
                raise Refused(f"{goal} already exists: choose another name") from error
            raise Failed(f"{place} is not restored: {error.strerror}") from error
        finally:
            os.close(made)
    return RestoredFile(source=str(place), target=str(goal), bytes=status.st_size)
