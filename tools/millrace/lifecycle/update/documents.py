# SPDX-License-Identifier: Apache-2.0
"""The documents of a version, as it left them: the one that boots after a rollback finds its own."""

import json
import shutil
from pathlib import Path

from millrace.system import paths
from millrace.system.files import sync, write_bytes

# Another version neither reads nor writes them, or they are of the update itself.
LEFT = ("by-version", "update", "metrics", "bench", "history", "jobs")


def keep(version: str) -> None:
    """Copy the documents of this version, which runs, aside; those of other versions are removed.

    OSError: they cannot be read or written.
    """
    where = paths.by_version_dir()
    new = where / f".{version}"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700, parents=True)
    where.chmod(0o700)
    for path in _documents(paths.state_dir()):
        copy = new / path.relative_to(paths.state_dir())
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_bytes(copy, path.read_bytes(), path.stat().st_mode & 0o777)
    for old in where.iterdir():
        if old != new:
            shutil.rmtree(old)
    new.rename(where / version)
    sync(where)


def restore(version: str) -> list[str]:
    """Give this version its documents back where a later one changed their schema; return their names.

    A document that both read stays as it is: it has what people decided since.
    """
    where, state = paths.by_version_dir() / version, paths.state_dir()
    restored = []
    for copy in _documents(where) if where.is_dir() else []:
        name = copy.relative_to(where)
        path = state / name
        mine = _schema(copy)
        if mine is None or not path.is_file():
            continue
        schema = _schema(path)
        if schema is not None and schema > mine:
            write_bytes(path, copy.read_bytes(), copy.stat().st_mode & 0o777)
            restored.append(str(name))
    return sorted(restored)


def _documents(directory: Path) -> list[Path]:
    found = []
    for path in sorted(directory.iterdir()):
        if path.name in LEFT:
            continue
        inner = path.rglob("*.json") if path.is_dir() and not path.is_symlink() else [path]
        found += [one for one in inner if one.suffix == ".json" and one.is_file() and not one.is_symlink()]
    return found


def _schema(path: Path) -> int | None:
    """The schema of a document; None where it has none or is not a document."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    found = document.get("schema_version") if isinstance(document, dict) else None
    return found if isinstance(found, int) else None
