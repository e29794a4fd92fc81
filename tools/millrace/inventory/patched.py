# SPDX-License-Identifier: Apache-2.0
"""Which patches the image's rebuilt modules have, and which module the kernel has loaded: told apart by build IDs.

A build ID is a digest of a module's code, which the linker adds and the kernel shows. Debian's kernel has no srcversion
for these modules, and nothing else tells two builds apart that are for one kernel.
"""

import re
from pathlib import Path
from typing import Literal

from millrace.system import paths, sysfs
from millrace.system.documents import Contract, read_model
from millrace.system.errors import MillraceError

BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)
"""An ELF note of the type NT_GNU_BUILD_ID with a SHA-1."""


class PatchedModule(Contract):
    """A module of the image that was built with patches, by their numbers (0001, ...). Build IDs are hexadecimal.

    `debian` is the build ID of Debian's own module for the same kernel, null where it is not known.
    """

    name: str
    build_id: str
    patches: list[str]
    debian: str | None


class PatchedModules(Contract):
    """The modules of the image that were built with patches (`/usr/lib/millrace/modules.json`)."""

    schema_version: Literal[1] = 1
    modules: list[PatchedModule]


def file() -> Path:
    """Return where the package of rebuilt modules has this record."""
    return paths.ROOT / "usr/lib/millrace/modules.json"


def of(name: str) -> PatchedModule | None:
    """Return what is recorded of a module; None where the image has Debian's, or the record cannot be read."""
    try:
        return next((one for one in read_model(file(), PatchedModules).modules if one.name == name), None)
    except MillraceError:
        return None


def loaded(name: str) -> str | None:
    """Return the build ID of the module that the kernel has loaded; None where it has none."""
    return build_id(sysfs.content(paths.ROOT / "sys/module" / name / "notes/.note.gnu.build-id") or b"")


def build_id(content: bytes) -> str | None:
    """Return the build ID in a module, not compressed, or in its notes; None where there is none."""
    match = BUILD_ID.search(content)
    return match[1].hex() if match else None
