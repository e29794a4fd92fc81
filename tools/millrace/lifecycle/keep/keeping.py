# SPDX-License-Identifier: Apache-2.0
"""Keep the state: write a generation where something changed, verify the newest where nothing did."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace import __version__
from millrace.lifecycle.keep import gather, generation, generation_store, home, seal
from millrace.lifecycle.keep.gather import Content, Gathered
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.kept_files import has
from millrace.lifecycle.keep.model import Forgotten, KeepStatus, KeyFile, Manifest
from millrace.serve.config.reset_journal import refuse_if_reset
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.system import ages, locks, paths, sysfs
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError
from millrace.system.mounts import mounted
from millrace.system.run import Runner

DAILY = timedelta(hours=23)
"""So old is a generation when records that changed by themselves are kept again."""

SPACING = 30.0
"""Seconds after a copy in which changes wait for each other: a script that makes a hundred users is few generations."""


def status() -> KeepStatus:
    """Return how the state was kept last. Refused: there is no pool. BadInput: a file of it cannot be read."""
    where = str(generation_store.directory(Path(load_pool().filesystem.mountpoint)))
    if not paths.keep_file().exists():
        return KeepStatus(directory=where)
    return read_model(paths.keep_file(), KeepStatus)


def keep(run: Runner, pause: Callable[[float], None] | None = None, again: bool = False) -> KeepStatus:
    """Keep the state of this server on its pool; return how that ended, which `status` returns as well.

    `again` writes a generation in any case. Refused: there is no pool, a factory reset is under way, or the caller is
    not root. BadInput: pool.json cannot be read. OSError: the result cannot be recorded. That the pool does not take it
    is a result.
    """
    pool = load_pool()
    with lock():
        # What is forgotten is not kept again, and what was kept for the reset is the state of now.
        refuse_if_reset()
        before = _before()
        try:
            outcome = _kept(pool, before, run, pause or time.sleep, again)
        except OSError as error:
            outcome = before.model_copy(
                update={"problem": f"{error.filename or 'the pool'}: {error.strerror or error}"}
            )
        except MillraceError as error:
            outcome = before.model_copy(update={"problem": str(error)})
        write_model(paths.keep_file(), outcome)
    return outcome


def wait_for_more(pause: Callable[[float], None] = time.sleep) -> None:
    """Wait while the last copy is younger than SPACING. Refused: there is no pool."""
    verified = _before().verified
    age = ages.age(verified, datetime.now(UTC)) if verified else None
    if age is not None and age.total_seconds() < SPACING:
        pause(SPACING - age.total_seconds())


def mounted_pool(pool: Pool) -> Path:
    """Return where the pool is mounted. Failed: it is not, so that nothing is written to the boot drive below it."""
    mountpoint = pool.filesystem.mountpoint
    if mounted(mountpoint) is None:
        raise Failed(f"{mountpoint} is not mounted")
    return paths.ROOT / mountpoint.lstrip("/")


def lock() -> AbstractContextManager[None]:
    """Hold the lock of everything that writes generations, waiting for it. Refused: the caller is not root."""
    return locks.held(paths.run_dir() / "keep.lock")


def _before() -> KeepStatus:
    try:
        return status()
    except BadInput:
        return KeepStatus(directory=str(generation_store.directory(Path(load_pool().filesystem.mountpoint))))


def _kept(pool: Pool, before: KeepStatus, run: Runner, pause: Callable[[float], None], again: bool) -> KeepStatus:
    mountpoint = mounted_pool(pool)
    # not even a directory is made in the state of another boot drive
    home.refuse(mountpoint, pool.filesystem_uuid)
    where = generation_store.make_directory(mountpoint)
    key = seal.current()
    now = datetime.now(UTC)
    read, damaged = _last(where)
    last = read.manifest if read else None
    everything = _completed(gather.settled(run, pause), read, key)
    digests = _digests(everything, key)
    # of an earlier release, in which a passphrase was no proof of who wrote the state
    unproven = key is not None and read is not None and read.authentication is None
    if last is None or damaged or again or unproven or _is_due(last, digests, key, everything, now):
        number = max(generation_store.numbers(where), default=0) + 1
        made, data = packed(pool, everything, key, number, now, writer=home.record(number))
        generation_store.write(where, number, data)
    else:
        made = last
    generation_store.prune(where)
    if key is not None and before.seal != key.seal:
        # What no key or an earlier one leaves readable is not kept beside what is sealed now. Recorded when it is done.
        generation_store.remove_others(where, key.seal)
    there = [name for name in before.damaged if (paths.ROOT / name.lstrip("/")).exists()]
    return before.model_copy(
        update={
            "generation": made.generation,
            "written": made.written,
            "verified": now.isoformat(timespec="seconds"),
            "problem": None,
            "unread": everything.problems,
            "damaged": sorted({*there, *(f"/{path.relative_to(paths.ROOT)}" for path in damaged)}),
            "sealed": made.seal is not None,
            "seal": made.seal,
        }
    )


def _completed(everything: Gathered, last: Generation | None, key: KeyFile | None) -> Gathered:
    """Everything, with what cannot be read now as it was kept last: the newest generation is the one that counts."""
    if last is None or not everything.failed or (last.manifest.seal and last.manifest.seal != (key and key.seal)):
        return everything
    again = []
    for member in last.manifest.members:
        of = next((candidate for candidate in everything.failed if has(candidate, member.path)), None)
        if of is not None:
            stored = last.stored[member.path]
            data = seal.opened(bytes.fromhex(key.key), stored, member.path) if member.sealed and key else stored
            again.append(Content(member.path, member.mode, data, of, member.link))
    return replace(everything, contents=sorted([*everything.contents, *again], key=lambda content: content.path))


def _last(where: Path) -> tuple[Generation | None, list[Path]]:
    """The newest generation that can be read, and the files of those after it that cannot.

    One of a later release, which was rolled back here, stays as it is; that of this release comes after it.
    """
    try:
        newest = generation_store.newest(where)
    except generation_store.LaterState as error:
        files = [generation_store.file(where, number) for number in generation_store.numbers(where)]
        return None, files[: files.index(error.path)]
    except BadInput:
        return None, [generation_store.file(where, number) for number in generation_store.numbers(where)]
    return (newest.generation, list(newest.damaged)) if newest else (None, [])


def _is_due(last: Manifest, digests: tuple[str, str], key: KeyFile | None, everything: Gathered, now: datetime) -> bool:
    if last.seal != (key.seal if key else None) or last.decided != digests[0]:
        return True
    age = ages.age(last.written, now)
    return (last.records != digests[1] or last.problems != everything.problems) and (age is None or age >= DAILY)


def _digests(everything: Gathered, key: KeyFile | None) -> tuple[str, str]:
    """Digests of what was decided and of the records."""
    digests = []
    for decided in (True, False):
        rows = [
            "\0".join((content.path, oct(content.mode), content.link or "", seal.digest(key, content.data)))
            for content in everything.contents
            if content.kept.decided is decided
        ]
        digests.append(seal.digest(key, "\n".join(rows).encode()))
    return digests[0], digests[1]


def packed(
    pool: Pool,
    everything: Gathered,
    key: KeyFile | None,
    number: int,
    now: datetime,
    forgotten: Forgotten | None = None,
    writer: str | None = None,
) -> tuple[Manifest, bytes]:
    """Return a generation of these contents as its manifest and its bytes."""
    members = [generation.member(content, key) for content in everything.contents]
    decided, records = _digests(everything, key)
    manifest = Manifest(
        generation=number,
        written=now.isoformat(timespec="seconds"),
        release=__version__,
        host=sysfs.text(paths.ROOT / "proc/sys/kernel/hostname") or "",
        pool=pool.filesystem_uuid,
        pool_generation=pool.generation,
        seal=key.seal if key else None,
        decided=decided,
        records=records,
        members=[about for about, _ in members],
        problems=everything.problems,
        forgotten=forgotten,
        writer=writer,
    )
    return manifest, generation.pack(manifest, {about.path: stored for about, stored in members}, key)
