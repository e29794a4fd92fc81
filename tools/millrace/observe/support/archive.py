# SPDX-License-Identifier: Apache-2.0
"""Collect all files, hide what must not leave the server, write the archive completely or not at all."""

from collections.abc import Sequence
from pathlib import Path

from millrace.observe.support.hide import Hider
from millrace.observe.support.model import SupportArchive, SupportPart
from millrace.observe.support.parts import SECONDS, ArchivePart
from millrace.system.archive import ArchiveEntry, new_archive, write_archive
from millrace.system.children import ChildOutcome, run_all
from millrace.system.users import only_root

# Of zstd: text of some MB, on a server that is in trouble.
LEVEL = 6


def make(file: Path, parts: Sequence[ArchivePart], seconds: float = SECONDS) -> SupportArchive:
    """Write the archive; a file that cannot be made says why instead.

    Refused: the caller is not root, or `file` exists. Failed: it cannot be written. BadInput: secrets of this server
    cannot be read, and so not be looked for.
    """
    only_root()
    with new_archive(file) as packed:
        hider = Hider()
        outcomes = run_all({part.name: part.make for part in parts}, seconds)
        content, listed = {}, []
        for part in parts:
            outcome = outcomes[part.name]
            data = _hidden(hider, part, outcome)
            content[part.name] = ArchiveEntry(part.name, data)
            problem = None if outcome.problem is None else hider.text(outcome.problem)
            listed.append(SupportPart(name=part.name, what=part.what, size=len(data), problem=problem))
        write_archive(content, packed, file, LEVEL)
    return SupportArchive(file=str(file), parts=listed)


def _hidden(hider: Hider, part: ArchivePart, outcome: ChildOutcome) -> bytes:
    if outcome.problem is not None:
        return hider.text(f"not available: {outcome.problem}\n").encode()
    return outcome.found if part.opaque else hider.text(outcome.found.decode(errors="replace")).encode()
