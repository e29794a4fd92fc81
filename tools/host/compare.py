# SPDX-License-Identifier: Apache-2.0
"""What differs between two builds, named as closely as possible."""

import filecmp
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from host import tools_tree

SHOWN = 20

Extract = Callable[[Path, Path, Path], None]


def _packages(manifest: Path) -> dict[str, Any]:
    found = json.loads(manifest.read_text())["packages"]
    return {f"{package['name']} ({package['architecture']})": package for package in found}


def packages(first: Path, second: Path) -> str:
    """Return which packages two manifests do not have in common."""
    ours, theirs = _packages(first), _packages(second)
    names = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return "packages " + ", ".join(names[:SHOWN]) if names else "the manifest, but no package of it"


def _entries(root: Path) -> dict[str, Path]:
    return {
        os.path.relpath(os.path.join(directory, name), root): Path(directory, name)
        for directory, directories, files in os.walk(root)
        for name in [*directories, *files]
    }


def _aspects(first: Path, second: Path) -> Iterator[str]:
    ours, theirs = first.lstat(), second.lstat()
    if stat.S_IFMT(ours.st_mode) != stat.S_IFMT(theirs.st_mode):
        yield "type"
        return
    if ours.st_mode != theirs.st_mode:
        yield f"mode {stat.filemode(ours.st_mode)} and {stat.filemode(theirs.st_mode)}"
    if (ours.st_uid, ours.st_gid) != (theirs.st_uid, theirs.st_gid):
        yield f"owner {ours.st_uid}:{ours.st_gid} and {theirs.st_uid}:{theirs.st_gid}"
    if first.is_symlink():
        if os.readlink(first) != os.readlink(second):
            yield "target"
    elif first.is_file() and not filecmp.cmp(first, second, shallow=False):
        yield "content"
    if ours.st_mtime_ns != theirs.st_mtime_ns:
        yield f"time {ours.st_mtime:.0f} and {theirs.st_mtime:.0f}"


def trees(first: Path, second: Path) -> list[str]:
    """Return what differs between two trees, one line for each path."""
    ours, theirs = _entries(first), _entries(second)
    found = []
    for path in sorted(ours.keys() | theirs.keys()):
        if path not in ours or path not in theirs:
            found.append(f"{path} (only in the {'first' if path in ours else 'second'})")
        elif aspects := list(_aspects(ours[path], theirs[path])):
            found.append(f"{path} ({', '.join(aspects)})")
    return found


def extract_erofs(image: Path, target: Path, tools: Path) -> None:
    """Extract a /usr partition to the directory `target`, which must not exist. Failed: fsck.erofs fails."""
    tools_tree.run(tools, "bin/fsck.erofs", f"--extract={target}", str(image))


def extract_fat(image: Path, target: Path, tools: Path) -> None:
    """Extract an ESP to the directory `target`, which must not exist; times are kept. Failed: mcopy fails."""
    target.mkdir()
    tools_tree.run(tools, "bin/mcopy", "-s", "-m", "-n", "-i", str(image), "::/", str(target))


def partitions(first: Path, second: Path, tools: Path, what: str, extract: Extract) -> str:
    """Return which files of two partitions differ; `what` names the partition."""
    with TemporaryDirectory(prefix="millrace-compare-") as directory:
        ours, theirs = Path(directory, "first"), Path(directory, "second")
        extract(first, ours, tools)
        extract(second, theirs, tools)
        differences = trees(ours, theirs)
    if not differences:
        return f"the {what} file system, but no file of it"
    more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    return f"in {what}: " + ", ".join(differences[:SHOWN]) + more


def compare(first: Path, second: Path, name: str, tools: Path) -> str:
    """Return what differs between two output directories, "" for nothing."""

    def same(suffix: str) -> bool:
        return filecmp.cmp(first / (name + suffix), second / (name + suffix), shallow=False)

    if not same(".manifest"):
        return packages(first / f"{name}.manifest", second / f"{name}.manifest")
    if not same(".roothash"):
        split = f"{name}.usr-x86-64.raw"
        return partitions(first / split, second / split, tools, "/usr", extract_erofs)
    if not same(".esp.raw"):
        split = f"{name}.esp.raw"
        return partitions(first / split, second / split, tools, "the ESP", extract_fat)
    if not same(".raw"):
        parts = [s for s in (".efi", ".usr-x86-64.raw", ".usr-x86-64-verity.raw") if not same(s)]
        return "in the image: " + (", ".join(name + s for s in parts) or "what lies between its partitions")
    return ""
