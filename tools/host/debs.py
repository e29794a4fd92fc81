# SPDX-License-Identifier: Apache-2.0
"""Debian packages that are unpacked into the cache; what is installed on the host stays as it is."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from host import apt

Run = Callable[[list[str], Path], None]


def quietly(argv: list[str], directory: Path) -> None:
    """Run a command in a directory without its output. CalledProcessError: it fails."""
    subprocess.run(argv, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def unpack(new: Path, uri: str | None, suite: str, names: Sequence[str], run: Run = quietly) -> None:
    """Download packages of a suite of the archive at `uri` and unpack them into `new`, which is emptied before.

    Raises OSError without a package source, what `run` raises where they cannot be had.
    """
    if uri is None or not suite:
        raise OSError("no Debian package source")
    shutil.rmtree(new, ignore_errors=True)
    lists = new / "lists"
    lists.mkdir(parents=True)
    source = new / "debs.list"
    source.write_text(f"deb [signed-by={apt.KEYRING}] {uri} {suite} main\n")
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": lists,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        # apt's own user cannot write to the cache of the one who calls.
        "APT::Sandbox::User": "root",
    }
    get = ["apt-get", *(part for key, value in options.items() for part in ("-o", f"{key}={value}"))]
    run([*get, "update"], new)
    run([*get, "download", *names], new)
    for deb in sorted(new.glob("*.deb")):
        run(["dpkg-deb", "-x", str(deb), str(new)], new)
        deb.unlink()
    shutil.rmtree(lists)
    source.unlink()
