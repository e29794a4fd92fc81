# SPDX-License-Identifier: Apache-2.0
"""Which Debian packages the trees of a build have."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from debian.deb822 import Deb822

from host import sources
from host.layout import Caches
from millrace.system.errors import Failed

STATUS = "var/lib/dpkg/status"

Tree = Literal["image", "initrd", "tools"]


class Installed(NamedTuple):
    """A package as a tree has it."""

    name: str
    version: str
    architecture: str

    @property
    def file(self) -> str:
        """How apt names its file."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def built(output: Path, cache: Caches) -> Mapping[Tree, set[Installed]]:
    """Return the packages of an image and of what it was built with. Failed: a tree left no list of them."""
    # the tree that mkosi keeps for a later build, which it does where it builds incrementally
    initrds = sorted(cache.images.glob(f"*default-initrd.cache/{STATUS}"))
    if len(initrds) != 1:
        raise Failed(f"mkosi left {len(initrds)} lists of the initrd's packages in {cache.images} instead of one.")
    return {
        "image": set(_status(output / sources.STATUS)),
        "initrd": set(_status(initrds[0])),
        "tools": set(_status(cache.stages / "image/mkosi.tools" / STATUS)),
    }


def _status(file: Path) -> Iterator[Installed]:
    with file.open() as opened:
        for stanza in Deb822.iter_paragraphs(opened, use_apt_pkg=False):
            if stanza["Status"] == "install ok installed":
                yield Installed(stanza["Package"], stanza["Version"], stanza["Architecture"])
