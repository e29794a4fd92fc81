# SPDX-License-Identifier: Apache-2.0
"""`millrace pool scrub files`: which files have data in areas that are damaged, through the reverse mapping of XFS."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from millrace.plan.model import Role
from millrace.storage.array.area import Area
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import FileSearch, change, load, stamp
from millrace.storage.scrub import file_names
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.damage import damage
from millrace.storage.scrub.scrub_watch import now_here
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.errors import Refused
from millrace.system.run import Runner, must

KEPT = 10
"""How many names are kept: the verb lists them all."""

_ROW = re.compile(r"\[\d+\.\.\d+\]: (.+)")
_INODE = re.compile(r"inode (\d+)\b")
_LENGTH = re.compile(r"( \d+\.\.\d+)?( \d+)?( blocks)?\s*$")


class DamagedFiles(Contract):
    """Files in doubt, relative to the pool. `others` is what else is in these areas: free space, metadata of XFS.

    `notes` is what is damaged and has no known place, and which names are not listed. `complete` is false where not all
    names could be searched.
    """

    schema_version: Literal[1] = 1
    sectors: int
    files: list[str]
    others: list[str]
    notes: list[str]
    complete: bool


def search(pool: Pool, run: Runner) -> DamagedFiles:
    """Find the files by the lists of md and the last check, and keep which of them do not match.

    Refused: the pool is not mounted. Failed: a tool fails.
    """
    mountpoint, top = pool.filesystem.mountpoint, mounted_at(pool)
    damaged = damage(pool, load())
    # not before the checks, also where their clock was ahead: what is searched for is of them
    ended = [array.last.ended for array in load().arrays if array.last]
    began = max([stamp(now_here()), *ended])
    inodes, others = owners(damaged.areas, mountpoint, run)
    differ, _ = owners(damaged.mismatched, mountpoint, run)
    named = file_names.names(top, inodes)
    doubtful = [name for inode, each in named.files.items() if inode in differ for name in each]
    kept = FileSearch(at=began, count=len(doubtful), names=sorted(doubtful)[:KEPT], complete=named.complete)
    change(lambda old: old.model_copy(update={"files": kept}))
    return DamagedFiles(
        sectors=sum(area.end - area.begin for area in damaged.areas),
        files=sorted(name for each in named.files.values() for name in each),
        others=[*others, *named.others],
        notes=[*damaged.notes, *named.notes],
        complete=named.complete,
    )


def mounted_at(pool: Pool) -> Path:
    """Return the directory at which the pool is mounted. Refused: it is not."""
    mountpoint = pool.filesystem.mountpoint
    top = paths.ROOT / mountpoint.lstrip("/")
    if not os.path.ismount(top):
        raise Refused(f"{mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    return top


def is_due(pool: Pool) -> bool:
    """Whether a check has found places whose files were not searched for since."""
    record = load()
    kept = [record.of(one.uuid, one.array.name) for one in due.arrays(pool) if one.array.role is not Role.LOG]
    return any(one.last and one.last.ranges and record.files_of(one) is None for one in kept)


def owners(areas: Sequence[Area], mountpoint: str, run: Runner) -> tuple[set[int], list[str]]:
    """Return inodes with data in these areas, and what else is there, in the words of xfs_io. Failed: xfs_io fails."""
    inodes, others = set[int](), set[str]()
    for area in areas:
        asked = f"fsmap -d {area.begin} {area.end - 1}"
        for row in must(run, ["xfs_io", "-r", "-c", asked, mountpoint]).splitlines():
            owner = _ROW.search(row)
            inode = _INODE.search(owner[1]) if owner else None
            if inode:
                inodes.add(int(inode[1]))
            elif owner:
                others.add(_LENGTH.sub("", owner[1]))
    return inodes, sorted(others)


def lines(found: DamagedFiles) -> Iterator[str]:
    """Return text for a terminal: the names alone, a line each."""
    yield from found.files
    if not found.files:
        yield "no file is known to be damaged"


def notes(found: DamagedFiles) -> list[str]:
    """Return what is not a file, in sentences."""
    return [*(f"{one} is in a damaged area" for one in found.others), *found.notes]
