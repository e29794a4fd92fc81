# SPDX-License-Identifier: Apache-2.0
"""What a lock has: `packages.lock` beside the files that it names."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from host.artefacts import sha256
from millrace.system.documents import Contract, read_model
from millrace.system.errors import BadInput

LOCK = "packages.lock"
DEBS, NPM, WHEELS = "debs", "npm", "wheels"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
# One name below the directory of the lock, never a way out of it.
File = Annotated[str, Field(pattern=rf"^({DEBS}|{NPM}|{WHEELS})/[A-Za-z0-9@_][A-Za-z0-9@%+~_.-]*$")]


class Package(Contract):
    """A package with the file that has it. `integrity` is what package-lock.json says of a package of npm."""

    name: str
    version: str
    file: File
    sha256: Sha256
    integrity: str | None = None


class Deb(Package):
    """A Debian package. `used_in` are the trees it was installed in; mkosi itself is in none."""

    architecture: str
    used_in: list[Literal["image", "initrd", "tools"]]


class Lock(Contract):
    """All packages of one build, and what it made. `day` is ISO 8601, UTC.

    `tree` is the key of the sources (`stage.key`), `root_hash` that of /usr, `image` the SHA-256 of the raw image.
    """

    schema_version: Literal[1] = 1
    kind: Literal["millrace-packages"] = "millrace-packages"
    image_name: str
    day: str
    tree: Sha256
    root_hash: Sha256
    image: Sha256
    debs: list[Deb]
    npm: list[Package]
    wheels: list[Package]

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file, by its path from the directory of the lock."""
        return {one.file: one.sha256 for one in (*self.debs, *self.npm, *self.wheels)}


def read(directory: Path) -> Lock:
    """Return the lock in a directory, once each file was read and is the one that it names.

    BadInput: there is no lock, or a file is missing or another one; nothing was changed.
    """
    if not (directory / LOCK).is_file():
        raise BadInput(f"{directory} has no {LOCK}: name a directory that tools/build --lock wrote.")
    lock = read_model(directory / LOCK, Lock)
    for name, expected in lock.files.items():
        path = directory / name
        if not path.is_file():
            raise BadInput(f"{path} is missing: copy the whole directory of the lock again.")
        if sha256(path) != expected:
            raise BadInput(f"{path} is not the file of the lock: copy it again.")
    return lock
