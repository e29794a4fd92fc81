# SPDX-License-Identifier: Apache-2.0
"""`tools/build --lock DIR`: builds with empty caches and keeps all packages that this took."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from host import artefacts, build, mkosi, node
from host.layout import OUTPUT, REPO, Caches, caches
from host.locked import trees
from host.locked.model import DEBS, LOCK, NPM, WHEELS, Deb, Lock, Package, read
from host.locked.trees import Installed, Tree
from host.modules import package
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed

ARCHIVES = Path("cache/apt/archives")
MKOSI = "mkosi"
# The platform of a build host, as npm names it.
PLATFORM = {"os": "linux", "cpu": "x64", "libc": "glibc"}


def collect(directory: Path, stock: bool = False, cache: Caches | None = None) -> Lock:
    """Build the image with empty caches; `directory` becomes its lock with all files, or stays as it was.

    The package of rebuilt kernel modules is one of them, but with `stock`.

    BadInput: it exists. Failed: a package cannot be had, or the sources changed during the build.
    """
    if directory.exists():
        raise BadInput(f"{directory} exists: name a new directory for the lock.")
    usual = cache or caches()
    cold = Caches(usual.root / "lock")
    new = directory.with_name(f".{directory.name}.new")
    for left in (cold.root, new):
        shutil.rmtree(left, ignore_errors=True)
    for room in (DEBS, NPM, WHEELS):
        (new / room).mkdir(parents=True)
    try:
        modules = build.rebuilt_modules(usual, stock)
        key = build.build_cold(cold, modules)
        lock = Lock(
            image_name=artefacts.image_name(REPO),
            day=datetime.now(UTC).date().isoformat(),
            tree=key,
            debs=_debs(trees.built(OUTPUT, cold), cold, modules, new),
            npm=_npm(usual, new),
            wheels=_wheels(new),
            **made(OUTPUT),
        )
        write_model(new / LOCK, lock)
        read(new)
        new.rename(directory)
    finally:
        for left in (cold.root, new):
            shutil.rmtree(left, ignore_errors=True)
    return lock


def made(output: Path) -> dict[str, str]:
    """Return by what an image is known: the root hash of its /usr, and the SHA-256 of all of it."""
    name = artefacts.image_name(REPO)
    root_hash = (output / f"{name}.roothash").read_text().strip()
    return {"root_hash": root_hash, "image": artefacts.sha256(output / f"{name}.raw")}


def wanted(lock: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and integrity of each package in package-lock.json that a build host installs."""
    for path, one in lock["packages"].items():
        if not path or one.get("link") or not all(_suits(one.get(kind), own) for kind, own in PLATFORM.items()):
            continue
        yield one.get("name") or path.rpartition(f"{node.MODULES}/")[2], one["version"], one["integrity"]


def _suits(names: list[str] | None, own: str) -> bool:
    if not names:
        return True
    return own in names or (all(name.startswith("!") for name in names) and f"!{own}" not in names)


def _debs(installed: Mapping[Tree, set[Installed]], cold: Caches, modules: Path | None, new: Path) -> list[Deb]:
    debs = []
    for installed_package in sorted(set().union(*installed.values())):
        own = modules is not None and installed_package.name == package.NAME
        source = modules if own and modules else cold.packages / ARCHIVES / installed_package.file
        if not source.is_file():
            raise Failed(
                f"{installed_package.file} was installed and is not in the package cache; run the command again."
            )
        used_in = [tree for tree, packages in installed.items() if installed_package in packages]
        debs.append(_deb(installed_package, source, new, used_in))
    by_name: dict[tuple[str, str], str] = {}
    for deb in debs:
        if by_name.setdefault((deb.name, deb.architecture), deb.version) != deb.version:
            raise Failed(f"The package sources changed during the build ({deb.name}); run the command again.")
    tool = Installed(MKOSI, mkosi.VERSION, "all")
    return [*debs, _deb(tool, cold.mkosi / f"{mkosi.VERSION}.deb", new, [])]


def _deb(one: Installed, source: Path, new: Path, used_in: list[Tree]) -> Deb:
    shutil.copyfile(source, new / DEBS / one.file)
    return Deb(
        name=one.name,
        version=one.version,
        architecture=one.architecture,
        file=f"{DEBS}/{one.file}",
        sha256=artefacts.sha256(source),
        used_in=used_in,
    )


def _npm(cache: Caches, new: Path) -> list[Package]:
    root = REPO / "cockpit-plugin"
    integrities = {
        f"{name}@{version}": integrity
        for name, version, integrity in wanted(json.loads((root / "package-lock.json").read_text()))
    }
    npm = node.npm("pack", "--json", "--ignore-scripts", f"--cache={cache.root / 'npm'}")
    argv = [*npm, f"--pack-destination={new / NPM}", *sorted(integrities)]
    done = subprocess.run(argv, cwd=new, env=node.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"npm could not fetch the packages of the web pages: {done.stderr.strip().splitlines()[-1]}")
    packages = []
    for tarball in json.loads(done.stdout):
        if integrities.pop(tarball["id"]) != tarball["integrity"]:
            raise Failed(f"The registry's {tarball['id']} is not the one of package-lock.json; it was not used.")
        file = f"{NPM}/{tarball['filename']}"
        packages.append(
            Package(
                name=tarball["name"],
                version=tarball["version"],
                file=file,
                sha256=artefacts.sha256(new / file),
                integrity=tarball["integrity"],
            )
        )
    if integrities:
        raise Failed(f"npm did not fetch {next(iter(integrities))}; run the command again.")
    return sorted(packages, key=lambda package: package.file)


def _wheels(new: Path) -> list[Package]:
    requirements = REPO / "tools/host/requirements.lock"
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary", ":all:"]
    argv += ["--no-deps", "--dest", str(new / WHEELS), "--requirement", str(requirements)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"pip could not fetch the tools' packages: {done.stderr.strip().splitlines()[-1]}")
    packages = []
    for path in sorted((new / WHEELS).iterdir()):
        name, version, *_ = path.name.split("-")
        packages.append(
            Package(name=name, version=version, file=f"{WHEELS}/{path.name}", sha256=artefacts.sha256(path))
        )
    return packages
