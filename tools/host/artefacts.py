# SPDX-License-Identifier: Apache-2.0
"""What a build leaves: names, checksums, and the move into place that is all or nothing."""

import hashlib
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from host.version import current
from millrace.system.errors import Failed

SUMS = "SHA256SUMS"
KEY = ".key"
APPLIANCE = (
    ".raw",
    ".efi",
    ".esp.raw",
    ".usr-x86-64.raw",
    ".usr-x86-64-verity.raw",
    ".manifest",
    ".roothash",
    ".cdx.json",
    ".notes.md",
)
BLOCK = 1 << 20


def image_name(repo: Path) -> str:
    """Return the common beginning of the artefacts' names: `millrace_<version>_x86-64`."""
    return f"millrace_{current(repo)}_x86-64"


def day(file: Path) -> str:
    """Return the day on which a file of a build was made, UTC, as 2026-11-21."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()


def missing(output: Path, name: str) -> list[str]:
    """Return the artefacts of the appliance image that `output` lacks."""
    return [name + suffix for suffix in APPLIANCE if not (output / (name + suffix)).is_file()]


def sha256(path: Path) -> str:
    """Return the sha256 of a file; holes are read as the zeroes they stand for."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def write_sums(output: Path) -> None:
    """Write SHA256SUMS over the plain files of `output`, in the format of sha256sum(1)."""
    files = sorted(p for p in output.iterdir() if p.is_file() and not p.is_symlink() and p.name != SUMS)
    lines = [f"{sha256(p)}  {p.name}\n" for p in files if not p.name.startswith(".") and p.suffix != ".log"]
    (output / SUMS).write_text("".join(lines))


def up_to_date(output: Path, key: str, needed: list[str]) -> bool:
    """Tell whether `output` holds a whole build of exactly `key`."""
    file = output / KEY
    return (
        file.is_file()
        and file.read_text().strip() == key
        and (output / SUMS).is_file()
        and all((output / name).is_file() for name in needed)
    )


def publish(built: Path, output: Path, keep: tuple[str, ...] = ()) -> None:
    """Replace the content of `output` by that of `built`, except for the names in `keep`.

    `output` loses its key first and gains the new one last, so that a break in between is seen as out of date.
    """
    output.mkdir(parents=True, exist_ok=True)
    (output / KEY).unlink(missing_ok=True)
    for old in output.iterdir():
        if old.name in keep:
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    for new in sorted(built.iterdir(), key=lambda p: p.name == KEY):
        _move(new, output / new.name)
    built.rmdir()


def _move(source: Path, target: Path) -> None:
    try:
        os.rename(source, target)
    except OSError:
        # Another file system: a plain copy would fill the holes of the raw image.
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        else:
            _copy_sparse(source, target)
        source.unlink()


def _copy_sparse(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        while block := old.read(BLOCK):
            if block.count(0) == len(block):
                new.seek(len(block), os.SEEK_CUR)
            else:
                new.write(block)
        new.truncate()


def need_space(path: Path, wanted: int) -> None:
    """Verify that the file system of `path` has `wanted` bytes free. Failed: it has less."""
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    if free < wanted:
        raise Failed(
            f"{path} has {free / 2**30:.1f} GiB free and {wanted / 2**30:.0f} GiB are needed; free some space first."
        )
