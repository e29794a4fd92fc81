# SPDX-License-Identifier: Apache-2.0
"""The manual in the image: pages without scripts, as a part of the Cockpit package of the web pages."""

import tempfile
from pathlib import Path

from host import docs, pages, stage
from host.layout import Caches
from millrace.system.errors import Failed

CONFIG = Path("tools/host/manual.yml")
INSTALLED = pages.INSTALLED / "manual"
NOT_SHIPPED = ("sitemap.xml", "sitemap.xml.gz")
"""For search engines, and with the day of the build."""


def install(cache: Caches, tree: Path) -> None:
    """Put the manual of the staged tree to the files of its image. Failed: a link in it leads nowhere."""
    with tempfile.TemporaryDirectory(prefix="manual-") as made:
        site = Path(made) / "manual"
        make(cache, tree, site)
        stage.place(site, tree / INSTALLED)


def make(cache: Caches, tree: Path, site: Path) -> None:
    """Build the manual of a tree into the directory `site`. Failed: a link in it leads nowhere."""
    if complaint := docs.build(docs.generator(cache), site, tree / CONFIG):
        raise Failed(f"The manual cannot be built:\n{complaint}")
    for name in NOT_SHIPPED:
        (site / name).unlink(missing_ok=True)
