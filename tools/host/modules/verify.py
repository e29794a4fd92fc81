# SPDX-License-Identifier: Apache-2.0
"""Verify that rebuilt modules fit Debian's kernel.

Without CONFIG_MODVERSIONS the kernel compares nothing but the vermagic: what does not fit is found here or never.
"""

import lzma
import re
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from host.modules.sets import KEPT, SETS
from millrace.system.errors import Failed

# MODULE_VERMAGIC: release and flags of the kernel, in one string of the section .modinfo
VERMAGIC = re.compile(rb"vermagic=([^\0]+)\0")
# Modules of these directories share the structures that a set changes.
SHARED = ("fs/nfs", "fs/nfsd", "fs/smb")


def vermagic(name: str, module: bytes) -> str:
    """Return which kernel a module, not compressed, is for. Failed: it does not name one."""
    match = VERMAGIC.search(module)
    if match is None:
        raise Failed(f"{name} does not name the kernel that it is for.")
    return match[1].decode(errors="replace").strip()


def debian_modules(deb: Path) -> dict[str, bytes]:
    """Return Debian's own modules of SHARED, and those that patches change, from its package linux-modules.

    By path without suffix.

    Failed: the package cannot be read, or has none of them.
    """
    modules: dict[str, bytes] = {}
    patched = [path for module_set in SETS if module_set.patches for path in module_set.modules]
    argv = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for entry in archive:
                    path = entry.name.partition("/kernel/")[2].removesuffix(".ko.xz")
                    shared = path.startswith(tuple(f"{directory}/" for directory in SHARED))
                    if entry.isfile() and (shared or path in patched):
                        content = archive.extractfile(entry)
                        assert content is not None
                        modules[path] = lzma.decompress(content.read())
        except (tarfile.TarError, lzma.LZMAError) as error:
            raise Failed(f"{deb.name} cannot be read ({error}); remove it and run host.modules again.") from error
    if not modules:
        raise Failed(f"{deb.name} has no modules of {', '.join(SHARED)}; report this as a bug.")
    return modules


def verify(modules: Sequence[Path], target: Path, debian: dict[str, bytes]) -> None:
    """Verify rebuilt modules below `target` against Debian's.

    Failed: Debian has a module that shares structures with a set and is not in it, or a module is for another kernel.
    """
    if missing := sorted(debian.keys() - {path for module_set in SETS for path in module_set.modules} - {*KEPT}):
        raise Failed(f"{missing[0]} of Debian's kernel is not rebuilt with its neighbours; report this as a bug.")
    expected = {vermagic(path, module) for path, module in debian.items()}
    for path in modules:
        name = str(path.relative_to(target))
        if (magic := vermagic(name, path.read_bytes())) not in expected:
            raise Failed(f"{name} is for the kernel {magic!r}; the kernel of the image is {min(expected)!r}.")
