# SPDX-License-Identifier: Apache-2.0
"""What `millrace keep` prints."""

from collections.abc import Iterator
from pathlib import Path

from millrace.lifecycle.keep import generation_store
from millrace.lifecycle.keep.model import KeepList, KeepStatus, KeptGeneration
from millrace.system.errors import BadInput
from millrace.system.printing import Cell, table
from millrace.system.text import moment, size

GENERATIONS = ("Generation", "Written", "Size", "Contents")


def listed(where: Path) -> KeepList:
    """Return all generations in a directory; each is read completely."""
    return KeepList(
        directory=str(where), generations=[_one(where, number) for number in generation_store.numbers(where)]
    )


def _one(where: Path, number: int) -> KeptGeneration:
    path = generation_store.file(where, number)
    about = KeptGeneration(generation=number, file=path.name, size=path.lstat().st_size)
    try:
        manifest = generation_store.read(path).manifest
    except BadInput as error:
        return about.model_copy(update={"problem": str(error)})
    return about.model_copy(
        update={
            "written": manifest.written,
            "host": manifest.host,
            "pool": manifest.pool,
            "release": manifest.release,
            "members": len(manifest.members),
            "sealed": manifest.seal is not None,
            "unread": manifest.problems,
        }
    )


def lines(found: KeepList) -> Iterator[str]:
    """Yield the table of generations."""
    yield from table(GENERATIONS, map(_row, found.generations), right=("Generation", "Size"))
    if not found.generations:
        yield f"{found.directory} has no kept state yet: millrace keep now"


def _row(one: KeptGeneration) -> list[Cell]:
    if one.problem:
        return [one.generation, None, size(one.size), one.problem]
    secrets = "secrets encrypted" if one.sealed else "secrets not encrypted"
    return [one.generation, moment(one.written or ""), size(one.size), f"{one.members} files, {secrets}"]


def status_lines(found: KeepStatus) -> Iterator[str]:
    """Return the status as text."""
    if found.generation is None:
        yield f"{found.directory} has no kept state yet: millrace keep now"
    else:
        yield (
            f"generation {found.generation} in {found.directory}, written {moment(found.written or '')}, "
            f"verified {moment(found.verified or '')}"
        )
        yield "secrets are encrypted" if found.sealed else "secrets are not encrypted: millrace keep passphrase"


def warnings(found: KeepStatus) -> Iterator[str]:
    """Return what is wrong."""
    if found.problem:
        yield f"the state is not kept: {found.problem}"
    yield from (f"not kept: {one}" for one in found.unread)
    yield from (f"{one} is damaged" for one in found.damaged)
