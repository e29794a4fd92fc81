# SPDX-License-Identifier: Apache-2.0
"""The image of the metadata as they were found: what a specialist needs if the repair goes wrong."""

import os
import re
from pathlib import Path

from millrace.storage.array.machine import System
from millrace.storage.record.model import Pool
from millrace.storage.rescue.placeholder_log import stand_in
from millrace.storage.rescue.repair_need import counted
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import rename, write_text
from millrace.system.run import last_words
from millrace.system.text import KIB, MIB, shown, size

PER_GROUP = 256 * KIB
"""Bytes of headers and free space of one allocation group."""
MARGIN = 64 * MIB
PLAIN = re.compile(r"/[A-Za-z0-9._+/-]*[A-Za-z0-9_+-]")
"""xfs_metadump is a shell script that takes the name apart at blanks."""
EMPTIED = ("/tmp", "/var/tmp", "/dev")
"""The unit that writes the image has a /tmp of its own, which ends with it."""


def place(pool: Pool, given: str | None, now: str, ours: str | None = None) -> Path:
    """Return the file that the image is written to; `given` by the user, else one in /var/lib/millrace.

    `now` is ISO 8601, `ours` the file that this rescue was writing. BadInput: it is no absolute path, or there is no
    such directory. Refused: it exists, or is on the pool or in a directory that is emptied.
    """
    if given is None:
        return paths.state_dir() / f"rescue-{re.sub(r'[^0-9TZ]', '', now.replace('+00:00', 'Z'))}.metadump"
    if not PLAIN.fullmatch(given):
        raise BadInput(f"{shown(given)} is not an absolute path of letters, digits, '.', '_', '-', '+' and '/'")
    target = Path(given)
    directory = paths.ROOT / str(target.parent).lstrip("/")
    if not directory.is_dir():
        raise BadInput(f"there is no directory {shown(str(target.parent))}; create it, or give another file")
    inside = directory.resolve()
    if inside.is_relative_to((paths.ROOT / pool.filesystem.mountpoint.lstrip("/")).resolve()):
        raise Refused(
            f"the image cannot be in {pool.filesystem.mountpoint}, which is what is rescued; give another file"
        )
    for emptied in EMPTIED:
        if inside.is_relative_to((paths.ROOT / emptied.lstrip("/")).resolve()):
            raise Refused(f"the image cannot be in {emptied}, which is not kept; give a file on a drive")
    if (inside / target.name).exists() and str(inside / target.name) != ours:
        raise Refused(f"{shown(given)} exists and is not overwritten; give another file with --image")
    return inside / target.name


def write(system: System, pool: Pool, target: Path) -> str:
    """Write the image to `target`; return in words what was written.

    One that is complete stays as it is. Refused: there is too little room. Failed: xfs_metadump fails, or the file
    system of the image; no part of it is left behind.
    """
    if target.exists() and target.stat().st_size:
        # it gets its name when it is complete; VFAT may have no more than the name (files.rename)
        return f"{target}, {size(target.stat().st_size)}"
    part = target.with_name(f".{target.name}.part")
    with stand_in(system, pool) as log:
        needed = _needed(system, pool, log)
        free = os.statvfs(target.parent)
        room = free.f_bavail * free.f_frsize
        if room < needed:
            raise Refused(
                f"{target.parent} has {size(room)} free, and the image may need {size(needed)}; attach another file "
                "system and give --image FILE there, or go on with --without-image"
            )
        part.unlink(missing_ok=True)
        try:
            write_text(part, "", 0o600)
            # Version 1 is without the log, of which there is nothing; -a and -o keep blocks and names as they are.
            argv = ["xfs_metadump", "-a", "-o", "-v", "1", "-l", log, pool.filesystem.device, str(part)]
            done = system.attempt(argv)
            if done.status != 0:
                raise _failed(last_words(done))
            # xfs_metadump syncs nothing
            rename(part, target)
        except OSError as error:
            target.unlink(missing_ok=True)
            raise _failed(error.strerror) from error
        finally:
            part.unlink(missing_ok=True)
    return f"{target}, {size(target.stat().st_size)}"


def _failed(why: str | None) -> Failed:
    return Failed(f"the image cannot be made ({why}); try again, or go on with --without-image")


def _needed(system: System, pool: Pool, log: str) -> int:
    """Bytes of all metadata: what an inode has in directories and extents is reckoned as much again."""
    found = counted(system, pool, log)
    return 2 * found.inodes * found.inode_size + found.groups * PER_GROUP + MARGIN
