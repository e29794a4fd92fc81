# SPDX-License-Identifier: Apache-2.0
"""Whether the data of a wrong drive may be newer than its parity: what was changed since a check found no mismatch.

raid5.c handle_stripe_dirtying may compute a new parity from the difference of a block's old and new content. Where the
old content on the drive was wrong, the new one is right and both parities are wrong by the same error: P and Q name the
drive, and what they restore is not what a client wrote. That cannot have happened to a file which was not changed since
the beginning of a check that found no mismatch. XFS sets the time of the last change by itself, and no client can.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import load
from millrace.storage.scrub.damage import located
from millrace.storage.scrub.lost_rows import owners
from millrace.system import ages
from millrace.system.mounts import mounted
from millrace.system.run import Runner
from millrace.system.text import moment

_INODE = re.compile(r"inode (\d+)\b")
_CTIME = re.compile(r"^\s*bs_ctime\s*=\s*(\d+)\.", re.MULTILINE)


def changed_since(pool: Pool, arrays: Sequence[ArrayRecord], run: Runner) -> list[str]:
    """Return why data that would be written back may be older than those on the wrong drive, in sentences.

    Failed: xfs_io fails.
    """
    record, notes = load(), list[str]()
    for array in arrays:
        kept = record.of(array.uuid, array.array.name)
        areas = located(pool, array.array, kept.last) if kept.last else []
        if not areas:
            continue
        title, where = f"array {array.array.name}", pool.filesystem.mountpoint
        if mounted(where) is None:
            notes.append(f"{title}: {where} is not mounted, so what was changed since the last check is not known")
            continue
        owned = {each.what for area in areas for each in owners(area, where, run) if not each.is_free}
        if owned and (kept.clean is None or ages.age(kept.clean, datetime.now(UTC)) is None):
            notes.append(f"{title}: no check before this one found all of it to match")
            continue
        clean = ages.when(kept.clean).timestamp() if kept.clean else 0.0
        newer = sum(not _is_older(what, clean, where, run) for what in owned)
        if newer:
            notes.append(
                f"{title}: {newer} of {len(owned)} files or metadata there changed since "
                f"{moment(kept.clean or '')}, when the last check without a mismatch began"
            )
    return notes


def _is_older(what: str, clean: float, mountpoint: str, run: Runner) -> bool:
    """Whether a file was last changed before; metadata of XFS has no time."""
    inode = _INODE.match(what)
    if inode is None:
        return False
    said = run(["xfs_io", "-r", "-c", f"bulkstat_single {inode[1]}", mountpoint])
    found = _CTIME.search(said.out) if said.status == 0 else None
    return found is not None and int(found[1]) < clean
