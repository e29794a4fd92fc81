# SPDX-License-Identifier: Apache-2.0
"""Are there newer packages than those that an image was built from? apt compares, with the sources of the image."""

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from host import apt
from millrace.system.errors import Failed

STATUS = "dpkg.status"
"""The package database of an image, which mkosi.finalize leaves beside it."""

UPGRADABLE = re.compile(r"^([a-z0-9][a-z0-9+.-]+)/\S+ (\S+) \S+ \[upgradable from: (\S+)\]$")
NAMED = 5

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Newer:
    """A package of the image that the sources have in a newer version."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old} → {self.new}"


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # What is read is apt's English.
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def newer(status: Path, uri: str | None, run: Run = _run) -> list[Newer]:
    """Packages of the image with the database `status` that a build of now would take in a newer version.

    Fetches the package lists (16 MB) to a temporary directory. Failed where they cannot be read.
    """
    if uri is None:
        raise Failed("this host has no Debian package source; set MILLRACE_APT_URI to one")
    with TemporaryDirectory(prefix="millrace-apt-") as directory:
        options = isolated(Path(directory), status, uri)
        fetched = run(["apt-get", "update", "--quiet", "--error-on=any", *options])
        if fetched.returncode != 0:
            raise Failed(reason(fetched.stderr))
        listed = run(["apt", "list", "--upgradable", *options])
        if listed.returncode != 0:
            raise Failed(reason(listed.stderr))
    rows = map(UPGRADABLE.match, listed.stdout.splitlines())
    # A package that was built again under the same version is listed, too.
    return [Newer(row[1], row[3], row[2]) for row in rows if row and row[2] != row[3]]


def in_words(found: Sequence[Newer]) -> str:
    """Return `2 packages are newer: openssl 3.6.5-1 → 3.6.6-1, samba …`; at most NAMED by name."""
    one = len(found) == 1
    named = ", ".join(map(str, found[:NAMED])) + (", …" if len(found) > NAMED else "")
    return f"{len(found)} package{'' if one else 's'} {'is' if one else 'are'} newer: {named}"


def isolated(root: Path, status: Path, uri: str) -> list[str]:
    """Return options that keep apt to the image's sources, away from the host's, and to the database `status`."""
    etc = root / "etc"
    for name, text in apt.files(uri, apt.security_uri(uri)).items():
        file = etc / name.relative_to("mkosi.sandbox/etc/apt")
        file.parent.mkdir(parents=True)
        file.write_text(text)
    for made in ("state/lists/partial", "cache/archives/partial"):
        (root / made).mkdir(parents=True)
    chosen = {
        "Dir::Etc": etc,
        "Dir::State": root / "state",
        "Dir::Cache": root / "cache",
        "Dir::State::status": status.resolve(),
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        # the directory is root's own
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
    }
    return [word for name, value in chosen.items() for word in ("-o", f"{name}={value}")]


def reason(text: str) -> str:
    """Return the first error of apt or dpkg in one line, without its mark."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line[2:].strip() for line in lines if line.startswith("E:")]
    return (errors or lines or ["apt gave no reason"])[0].rstrip(".")
