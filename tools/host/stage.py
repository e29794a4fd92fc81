# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree that does not depend on its checkout: neither umask nor checkout time may change an image."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# Any fixed time before the image's SourceDateEpoch, which clamps later ones only.
STAMP = 1577836800
# What mkosi makes or what is made for it; the rest of mkosi.* is input.
GENERATED = {"mkosi.output", "mkosi.sandbox", "mkosi.tools", "mkosi.tools.manifest", "mkosi.cache", "mkosi.pkgcache"}
LEFT_OUT = {"__pycache__", ".gitkeep", ".mypy_cache", ".ruff_cache"}


def image_inputs(repo: Path) -> list[Path]:
    """Return what the appliance image is made of, relative to the repository."""
    return [
        *system_inputs(repo),
        Path("tools/millrace"),
        Path("tools/millrace_client"),
        *page_inputs(),
        *manual_inputs(),
    ]


def system_inputs(repo: Path) -> list[Path]:
    """Return what the system below our own program and pages is made of, relative to the repository."""
    named = sorted(p.relative_to(repo) for p in repo.glob("mkosi.*") if p.name not in GENERATED)
    return [*named, Path("units")]


def page_inputs() -> list[Path]:
    """Return what the web pages are bundled from, relative to the repository."""
    names = ("build.mjs", "package.json", "package-lock.json", "po", "scripts", "src")
    return [Path("cockpit-plugin") / name for name in names]


def manual_inputs() -> list[Path]:
    """Return what the manual of the image is made from, relative to the repository."""
    return [Path("docs"), *(Path("tools/host") / name for name in ("mkdocs.yml", "manual.yml", "manual-theme"))]


def client_inputs(client: Path) -> list[Path]:
    """Return what the test client's image is made of, relative to its directory."""
    return sorted(p.relative_to(client) for p in client.iterdir() if p.name not in GENERATED | {"out"})


def epoch(repo: Path) -> int:
    """Return the image's SourceDateEpoch in seconds, the time that everything in it has."""
    (line,) = [line for line in (repo / "mkosi.conf").read_text().splitlines() if line.startswith("SourceDateEpoch=")]
    return int(line.partition("=")[2])


def _walk(root: Path, inputs: Iterable[Path]) -> Iterator[Path]:
    for path in inputs:
        source = root / path
        if path.name in LEFT_OUT or path.suffix == ".pyc" or not os.path.lexists(source):
            continue
        yield path
        if source.is_dir() and not source.is_symlink():
            yield from _walk(root, sorted(path / child.name for child in source.iterdir()))


def _mode(source: Path) -> int:
    if source.is_dir():
        return 0o755
    return 0o755 if source.stat().st_mode & 0o100 else 0o644


def key(root: Path, inputs: Iterable[Path], *salt: str) -> str:
    """Return a sha256 over names, modes and contents of `inputs`, and over `salt`."""
    digest = hashlib.sha256("\0".join(salt).encode())
    for path in _walk(root, inputs):
        source = root / path
        digest.update(f"\0{path}\0".encode())
        if source.is_symlink():
            digest.update(f"link {os.readlink(source)}".encode())
        elif source.is_dir():
            digest.update(b"directory")
        else:
            digest.update(f"{_mode(source):o} ".encode() + hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def _empty(stage: Path) -> None:
    """Remove all of an earlier stage but mkosi's tools tree, which takes a minute to make."""
    for entry in stage.iterdir():
        if entry.name.startswith("mkosi.tools"):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        os.utime(target, (STAMP, STAMP), follow_symlinks=False)
    elif source.is_dir():
        target.mkdir()
        target.chmod(0o755)
    else:
        shutil.copyfile(source, target)
        target.chmod(_mode(source))
        os.utime(target, (STAMP, STAMP))


def place(source: Path, target: Path) -> None:
    """Make `target` a copy of the directory `source` with fixed modes and times, and the directories above it."""
    for parent in reversed(target.parents):
        if not parent.exists():
            parent.mkdir()
            parent.chmod(0o755)
    copied = list(_walk(source, [Path(".")]))
    for path in copied:
        _copy(source / path, target / path)
    for path in reversed(copied):
        os.utime(target / path, (STAMP, STAMP), follow_symlinks=False)


def stage(root: Path, inputs: Iterable[Path], target: Path, added: Mapping[Path, str]) -> None:
    """Make `target` a copy of `inputs` with fixed modes and times, with the files `added` that configure apt."""
    target.mkdir(parents=True, exist_ok=True)
    _empty(target)
    for path in inputs:
        (target / path.parent).mkdir(parents=True, exist_ok=True, mode=0o755)
    copied = list(_walk(root, inputs))
    for path in copied:
        _copy(root / path, target / path)
    for path in reversed(copied):
        os.utime(target / path, (STAMP, STAMP), follow_symlinks=False)
    for name, text in added.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for entry in (target / "mkosi.sandbox").rglob("*"):
        entry.chmod(0o755 if entry.is_dir() else 0o644)
