# SPDX-License-Identifier: Apache-2.0
"""Whether the pool comes home from another server: its newest kept state is not of this boot drive, and is newer.

The machine ID does not help: it is kept on the pool, and adopted with it. Each boot drive has an identity of its own
that is never kept, and records the number of a generation before it writes that. A generation above the last number
was therefore written by another boot drive, or by this one before an old copy of it was put back: in both cases what
this boot drive has is the past.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from uuid import uuid4

from millrace.lifecycle.keep import generation_store, trust
from millrace.lifecycle.keep.generation_store import LaterState, Newest
from millrace.lifecycle.keep.model import KeepStatus, KeptElsewhere
from millrace.serve.config.model import Config
from millrace.system import paths
from millrace.system.documents import Contract, parse_model, read_model, write_model
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.printing import notes
from millrace.system.text import moment, one_line

CONFIG = "var/lib/millrace/config.json"
DECIDE = (
    "Decide: `millrace pool adopt` takes over the state on the pool, `millrace keep use-local` goes on with that of "
    "this boot drive"
)


class Written(Contract):
    """The identity of this boot drive, the highest generation that it began to write, and the one of others that it
    adopted or decided to replace.
    """

    schema_version: Literal[1] = 1
    writer: str
    generation: int = 0
    settled: int = 0


class ElsewhereError(Refused):
    """The pool was used with another boot drive since, and nobody decided yet which state counts."""


def written() -> Written:
    """Return the record of this boot drive; a new identity without a generation where it has none."""
    try:
        return read_model(paths.keep_writer_file(), Written)
    except BadInput:
        return Written(writer=uuid4().hex)


def record(number: int) -> str:
    """Record that this boot drive is about to write generation `number`; return its identity.

    OSError: the boot drive does not take it; then nothing may be written to the pool.
    """
    found = written()
    write_model(paths.keep_writer_file(), found.model_copy(update={"generation": max(number, found.generation)}))
    return found.writer


def settle(number: int) -> None:
    """Record that generation `number` of another boot drive was adopted or is to be replaced. OSError: it cannot be."""
    found = written()
    write_model(paths.keep_writer_file(), found.model_copy(update={"settled": max(number, found.settled)}))


def elsewhere(where: Path, pool: str) -> KeptElsewhere | None:
    """Return the newest state on the mounted pool with this UUID, where another boot drive wrote it; else None.

    `where` is the directory of the generations. What cannot be read is another check's concern.
    """
    if not generation_store.numbers(where):
        return None
    mine, status = written(), _last_status()
    known = max(mine.generation, mine.settled, status)
    try:
        newest = generation_store.newest(where)
    except LaterState as error:
        number = int(error.path.name.partition("-")[2].partition(".")[0])
        release = one_line(error.release) if error.release else None
        return KeptElsewhere(pool=pool, generation=number, release=release) if number > known else None
    except BadInput:
        return None
    if newest is None or newest.generation.manifest.pool != pool:
        return None
    writer = newest.generation.manifest.writer
    if writer is None:
        # An earlier release records a generation after it was written: the power may have failed in between.
        known += 1
    elif writer != mine.writer:
        # One that this boot drive began to write and that did not come to be may be one of another now.
        known = max(mine.settled, status)
    return _described(newest, mine.writer, pool) if newest.number > known else None


def found(mountpoint: Path, pool: str) -> KeptElsewhere | None:
    """Return what `elsewhere` finds on a mounted pool, and record it for status and health.

    OSError: it cannot be recorded.
    """
    kept = elsewhere(generation_store.directory(mountpoint), pool)
    if kept is None:
        paths.kept_elsewhere_file().unlink(missing_ok=True)
    else:
        write_model(paths.kept_elsewhere_file(), kept)
    return kept


def recorded() -> KeptElsewhere | None:
    """Return what this boot found; None where the pool is served."""
    try:
        return read_model(paths.kept_elsewhere_file(), KeptElsewhere)
    except MillraceError:
        return None


def refuse(mountpoint: Path, pool: str) -> None:
    """Verify that the state on a mounted pool is that of this boot drive. ElsewhereError: it is newer, and not."""
    if one := elsewhere(generation_store.directory(mountpoint), pool):
        raise ElsewhereError(f"{sentence(one)}; {DECIDE}")


def sentence(one: KeptElsewhere) -> str:
    """Return who wrote the newest state, and when."""
    if one.same_drive:
        by = "this boot drive, of which an older copy was put back,"
    else:
        by = f"another boot drive ({one.host})" if one.host else "another boot drive"
    when = f" on {moment(one.written)}" if one.written else ""
    return f"the newest state on the pool, generation {one.generation}, was written by {by}{when}"


def lines(one: KeptElsewhere) -> Iterator[str]:
    """Return what is confirmed before a decision."""
    yield f"{sentence(one)}"
    yield from notes([f"shares: {', '.join(one.shares) or 'none'}"])
    yield from notes([f"users: {', '.join(one.users) or 'none'}"])


def _last_status() -> int:
    """The generation that was written or verified last, also by an earlier release."""
    try:
        return read_model(paths.keep_file(), KeepStatus).generation or 0
    except BadInput:
        return 0


def _described(newest: Newest, mine: str, pool: str) -> KeptElsewhere:
    manifest = newest.generation.manifest
    try:
        config = parse_model(newest.generation.readable().get(CONFIG, b"{}"), Path(CONFIG), Config)
    except BadInput:
        config = Config()
    return KeptElsewhere(
        pool=pool,
        generation=newest.number,
        written=one_line(manifest.written),
        host=one_line(manifest.host),
        release=one_line(manifest.release),
        sealed=manifest.seal is not None,
        same_drive=manifest.writer == mine,
        shares=[share.name for share in config.shares],
        users=[user.name for user in config.users],
        trusted=trust.trusted(newest.generation),
    )
