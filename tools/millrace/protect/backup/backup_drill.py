# SPDX-License-Identifier: Apache-2.0
"""A drill: a random sample of a version is restored into a private directory, and compared with the snapshot."""

import os
import random
import stat
import sys
from collections.abc import Iterator

from millrace.protect.backup.backup_job import BackupWriter
from millrace.protect.backup.backup_place import BackupPlace
from millrace.protect.backup.restic_pattern import lines as pattern_lines
from millrace.protect.backup.restic_unit import SNAPSHOT, WORK, ResticAccess
from millrace.serve.clone import clone_place
from millrace.serve.clone.clone_place import ClonePlace
from millrace.system.errors import Failed
from millrace.system.files import write_blocks
from millrace.system.text import printable_name, size
from millrace.system.trees import nofollow
from millrace.system.trees.descend import below, descend, entries
from millrace.system.trees.opener import Opener, Place

FILES = 100
"""Files of a sample at most."""
BYTES = 1 << 30
"""Bytes of a sample at most; one file is in it all the same."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK = 1 << 20

Names = tuple[str, ...]


class SampleDiffers(Failed):
    """What was restored is not what the snapshot has."""


def drill(place: BackupPlace, snapshot: str, version: str, writer: BackupWriter) -> list[str]:
    """Restore a sample and compare it. SampleDiffers: a file differs or is missing. Failed: there is no file.

    ResticFailed: restic cannot restore it.
    """
    writer.begin("chooses files")
    share = place.backup.share
    with clone_place.opened(ClonePlace(share, (), snapshot), place.mountpoint) as tree:
        chosen = sample(tree, random.SystemRandom())
        if not chosen:
            raise Failed(f"{share}@{snapshot} has no file that could be restored")
        writer.begin("restores")
        private = place.work / "work"
        write_blocks(private / "sample", [pattern_lines(names for names, _ in chosen)], 0o644)
        place.must(
            *("restore", f"{version}:{SNAPSHOT}/tree", "--target", f"{WORK}/restored"),
            # what only root may set
            *("--include-file", f"{WORK}/sample", "--exclude-xattr", "*"),
            access=ResticAccess(writes={WORK: private}),
        )
        writer.begin("compares")
        with nofollow.directory(private / "restored") as restored:
            differing = [names for names, _ in chosen if not equal(tree, restored, names)]
    for names in differing:
        print(f"differs from the snapshot: {printable_name(os.fsencode('/'.join(names)))}", file=sys.stderr, flush=True)
    if differing:
        raise SampleDiffers(
            f"{len(differing)} of {len(chosen)} restored files differ from {share}@{snapshot}: the repository or this "
            "pool is damaged; the names are in the journal: journalctl -u millrace-reflink@backup.service"
        )
    total = sum(count for _, count in chosen)
    return [f"{len(chosen)} files ({size(total)}) were restored and are equal to those of {share}@{snapshot}"]


def sample(tree: int, chance: random.Random) -> list[tuple[Names, int]]:
    """Return files of an open directory at random, each as likely as the others, with their sizes in bytes.

    Failed, OSError: a directory cannot be read.
    """
    chosen: list[tuple[Names, int]] = []
    seen = 0
    with Opener(tree) as opener:

        def visit(path: Place) -> list[str]:
            nonlocal seen
            inner = []
            with opener.below(path) as directory:
                for name, state in entries(directory):
                    if stat.S_ISDIR(state.st_mode):
                        inner.append(name)
                    if not stat.S_ISREG(state.st_mode):
                        continue
                    seen += 1
                    at = len(chosen) if len(chosen) < FILES else chance.randrange(seen)
                    if at < FILES:
                        chosen[at : at + 1] = [((*path, name), state.st_size)]
            return inner

        # one thread: each file counts once
        descend(visit, 1, lambda: None)
    chance.shuffle(chosen)
    return list(_within(chosen))


def equal(ours: int, theirs: int, names: Names) -> bool:
    """Whether a file has the same content below two open directories; not where it is missing in one of them.

    OSError: it cannot be read in the first one, which is the snapshot.
    """
    with below(ours, names[:-1]) as directory:
        left = os.open(names[-1], _READ, dir_fd=directory)
    try:
        try:
            with below(theirs, names[:-1]) as directory:
                right = os.open(names[-1], _READ, dir_fd=directory)
        except (Failed, OSError):
            return False
        try:
            return _same(left, right)
        finally:
            os.close(right)
    finally:
        os.close(left)


def _same(left: int, right: int) -> bool:
    if not stat.S_ISREG(os.fstat(right).st_mode) or os.fstat(left).st_size != os.fstat(right).st_size:
        return False
    blocks = iter(lambda: os.read(left, _BLOCK), b"")
    return all(ours == os.read(right, len(ours)) for ours in blocks)


def _within(chosen: list[tuple[Names, int]]) -> Iterator[tuple[Names, int]]:
    left = BYTES
    for number, (names, count) in enumerate(chosen):
        if count <= left or number == 0:
            left -= count
            yield names, count
