# SPDX-License-Identifier: Apache-2.0
"""The files of a release come to this server: from a directory, from an archive, or from the owner's web server.

Signature first, then what describes the release, then the files that it lists, each verified before it counts.
"""

import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from millrace.lifecycle.update import layout, records, release, root_signature, secure_boot, update_paths
from millrace.lifecycle.update.model import Fetch, Release, ReleaseFile, UpdateProgress
from millrace.lifecycle.update.obstacles import of_space
from millrace.lifecycle.update.update_job import PROGRESS
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import write_blocks
from millrace.system.run import Runner

FETCHER = "millrace-update-fetch.service"
# One entry of an archive is a block of 512 bytes and a name; a release has seven files.
MOST_ENTRIES = 64

Bring = Callable[[str, int, Path], None]
"""Bring the file of a name, of at most so many bytes, to a path. BadInput: it is not there, or larger."""


@contextmanager
def origin(path: Path | None, run: Runner) -> Iterator[Bring]:
    """Yield what brings the files of a release from a directory or an archive, or from the owner's URL.

    Refused: no URL is set. BadInput: there is no such file, or it is no archive. Failed: a download fails.
    """
    if path is None:
        url = records.source()
        if url is None:
            raise Refused("no source of updates is set: millrace update source URL, or name a file")
        yield lambda name, limit, to: _download(url, name, limit, to, run)
    elif path.is_dir():
        yield lambda name, limit, to: _copied(path / name, limit, to)
    else:
        try:
            archive = tarfile.open(path, "r:")  # noqa: SIM115
        except FileNotFoundError as error:
            raise BadInput(f"{path} does not exist") from error
        except (OSError, tarfile.TarError) as error:
            raise BadInput(f"{path} is not a release: neither a directory nor an archive of one") from error
        with archive:
            yield lambda name, limit, to: _unpacked(archive, path, name, limit, to)


def describe(bring: Bring, run: Runner) -> Release:
    """Stage what describes a release and return it; what was staged before is removed.

    BadInput: the signature is wrong, or a file. Refused: this server has no key.
    """
    directory = _empty()
    for name in (layout.SUMS, layout.SIGNATURE, layout.RELEASE, layout.NEWS):
        bring(name, layout.SMALL, directory / name)
    sums = release.signed_sums(directory, run)
    new_release = release.description(directory, sums)
    release.matches(directory / layout.NEWS, sums)
    return new_release


def news(found: Release) -> str:
    """Return what is new in the staged release."""
    text = (update_paths.staged_dir() / layout.NEWS).read_text(errors="replace")
    return release.news_of(text, found.version)


def fetch_files(new_release: Release, bring: Bring, run: Runner) -> None:
    """Stage the files of a release, for which there has to be room, and verify them.

    BadInput: one is wrong. Refused: there is no room for them, or this server would not start with the kernel image.
    """
    require_space(new_release, run)
    bring_files(new_release, bring, run)


def described(run: Runner) -> Release:
    """Return the release that was described and whose files may be missing yet.

    BadInput: none was, or its description is wrong. Refused: this server has no key.
    """
    directory = update_paths.staged_dir()
    return release.description(directory, release.signed_sums(directory, run))


def bring_files(new_release: Release, bring: Bring, run: Runner) -> None:
    """Stage the files of a release that are not there yet, and verify all.

    BadInput: one is wrong. Refused: this server would not start with the kernel image. Failed: a download fails.
    """
    directory = update_paths.staged_dir()
    sums = release.signed_sums(directory, run)
    done, total = 0, sum(file.size for file in new_release.files)
    for file in new_release.files:
        report("staging", done, total)
        if not (directory / file.name).exists():
            bring(file.name, file.size, directory / file.name)
        accept(file, directory, sums)
        done += file.size


def require_space(found: Release, run: Runner) -> None:
    """Verify that the files of a release fit. Refused: there is no room for them. Failed: that cannot be seen."""
    problem = of_space(found, run)
    if problem:
        raise Refused(problem)


def accept(one: ReleaseFile, directory: Path, sums: dict[str, str]) -> None:
    """Verify a staged file.

    BadInput: it is wrong. Refused: Secure Boot would not start the kernel image, or the TPM not open root for it.
    """
    path = directory / one.name
    release.matches(path, sums, one.size)
    problem = secure_boot.obstacle(path) or root_signature.obstacle(path) if one.kind == "kernel" else None
    if problem:
        raise Refused(problem)


def clear() -> None:
    """Remove what is staged."""
    shutil.rmtree(update_paths.staged_dir(), ignore_errors=True)
    update_paths.incoming_file().unlink(missing_ok=True)
    PROGRESS.remove()


def report(step: str, done: int | None = None, total: int | None = None) -> None:
    """Record the progress for `status`."""
    PROGRESS.write(UpdateProgress(step=step, done=done, total=total))


def _empty() -> Path:
    clear()
    directory = update_paths.staged_dir()
    directory.mkdir(mode=0o700, parents=True)
    return directory


def _copied(path: Path, limit: int, to: Path) -> None:
    try:
        with path.open("rb") as file:
            write(file, path.name, limit, to)
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing; get the release again") from error


def _unpacked(archive: tarfile.TarFile, path: Path, name: str, limit: int, to: Path) -> None:
    try:
        found = next((one for one in _entries(archive, path) if one.name.removeprefix("./") == name), None)
        file = archive.extractfile(found) if found is not None and found.isreg() else None
    except (OSError, tarfile.TarError) as error:
        raise BadInput(f"{path} is damaged; get it again") from error
    if file is None:
        raise BadInput(f"{path} has no file {name}; get it again")
    with file:
        write(file, name, limit, to)


def _entries(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    for count, one in enumerate(archive):
        if count == MOST_ENTRIES:
            raise BadInput(f"{path} has more files than a release; get it again")
        yield one


class Readable(Protocol):
    """What a file of a release is read from."""

    def read(self, most: int, /) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        ...


def write(file: Readable, name: str, limit: int, to: Path) -> None:
    """Write a file of a release to a path. BadInput: it is larger than `limit` bytes, or damaged."""

    def blocks() -> Iterator[bytes]:
        done = 0
        while block := file.read(release.BLOCK):
            done += len(block)
            if done > limit:
                raise BadInput(f"{name} is larger than the {limit} bytes that it may have; get the release again")
            yield block

    try:
        write_blocks(to, blocks(), 0o600)
    except tarfile.TarError as error:
        raise BadInput(f"{name} is damaged; get the release again") from error


def _download(url: str, name: str, limit: int, to: Path, run: Runner) -> None:
    """Let a process without rights download a file, which has it as its standard output."""
    write_model(update_paths.fetch_file(), Fetch(url=f"{url.rstrip('/')}/{quote(name)}", limit=limit), mode=0o600)
    try:
        done = run(["systemctl", "start", FETCHER])
        if done.status != 0:
            said = update_paths.fetch_error_file()
            words = said.read_text(errors="replace").strip().splitlines() if said.exists() else []
            raise Failed(words[-1].removeprefix("millrace: ") if words else f"{name} cannot be downloaded")
        update_paths.incoming_file().rename(to)
    finally:
        update_paths.fetch_file().unlink(missing_ok=True)
        update_paths.incoming_file().unlink(missing_ok=True)
