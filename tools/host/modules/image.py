# SPDX-License-Identifier: Apache-2.0
"""Verify that an image loads the rebuilt modules, all of them, into exactly the kernel that they were built for."""

import re
from collections.abc import Iterable
from pathlib import Path

from debian.deb822 import Deb822

from host import tools_tree
from host.modules import package, sets
from millrace.system.errors import Failed

KERNEL = re.compile(r"linux-image-(\d.*)")


def kernel(status: Path) -> str:
    """Return the release of the image's only kernel, from its package database `status`.

    Failed: the image has several kernels, or lacks the rebuilt modules for its kernel.
    """
    with status.open() as opened:
        versions = {
            paragraph["Package"]: paragraph["Version"]
            for paragraph in Deb822.iter_paragraphs(opened, use_apt_pkg=False)
        }
    kernels = {match[1]: version for name, version in versions.items() if (match := KERNEL.fullmatch(name))}
    if len(kernels) != 1:
        raise Failed(f"The image has {len(kernels)} kernels ({', '.join(sorted(kernels))}); run tools/build again.")
    ((release, version),) = kernels.items()
    own = versions.get(package.NAME)
    if own != package.version_for(version):
        raise Failed(f"The image has kernel {version} and {package.NAME} {own or 'not at all'}; run tools/build again.")
    return release


def dependencies(partition: Path, release: str, tools: Path) -> str:
    """Return what modprobe reads of the modules of a /usr partition: `modules.dep`. Failed: it cannot be read."""
    path = f"--path=/lib/modules/{release}/modules.dep"
    return tools_tree.run(tools, "bin/dump.erofs", "--cat", path, str(partition))


def verify(lines: Iterable[str], module_sets: Iterable[sets.ModuleSet] = sets.SETS) -> None:
    """Verify by the lines of `modules.dep` that each module of the sets is loaded from the package, and only so.

    Failed: Debian's would be loaded, which shares structures with the rebuilt ones.
    """
    pairs = [line.partition(":")[::2] for line in lines]
    listed = {path for path, _ in pairs} | {path for _, needed in pairs for path in needed.split()}
    for module in (module for module_set in module_sets for module in module_set.modules):
        name = f"{module.rpartition('/')[2]}.ko"
        chosen = sorted(path for path in listed if path.rpartition("/")[2].startswith(name))
        if chosen != [package.installed(module)]:
            raise Failed(
                f"The kernel of the image would load {', '.join(chosen) or f'no {name}'} instead of "
                f"{package.installed(module)}; report this as a bug."
            )
