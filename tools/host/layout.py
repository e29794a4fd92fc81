# SPDX-License-Identifier: Apache-2.0
"""Where things are on a build host."""

import os
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OUTPUT = REPO / "mkosi.output"
CLIENT_OUTPUT = OUTPUT / "client"
SERVERS = REPO / "tests" / "servers"


def cache_root() -> Path:
    """Return the directory that holds everything which can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "millrace"


@dataclass(frozen=True)
class Caches:
    """The directories that builds share."""

    root: Path

    @property
    def images(self) -> Path:
        """mkosi's incremental images and package metadata."""
        return self.root / "cache"

    @property
    def packages(self) -> Path:
        """Downloaded .deb files."""
        return self.root / "pkgcache"

    @property
    def mkosi(self) -> Path:
        """Unpacked mkosi releases."""
        return self.root / "mkosi"

    @property
    def stages(self) -> Path:
        """Normalised copies of the tree, one for each image; mkosi runs in them."""
        return self.root / "build"

    @property
    def pages(self) -> Path:
        """Packages and bundles of the web pages."""
        return self.root / "pages"

    @property
    def lock(self) -> Path:
        """Held while mkosi runs."""
        return self.root / "build.lock"


def caches() -> Caches:
    """Return the caches of this user."""
    return Caches(cache_root())
