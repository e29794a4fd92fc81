# SPDX-License-Identifier: Apache-2.0
"""`tools/build --check`: two builds of the same packages are the same, bit for bit.

What differs between the two: directory, umask, time zone and the time itself, which moves on by the length of a build.
The clock of one build is not set apart further: nothing short of a VM does that without reaching into apt and TLS.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from host import apt, artefacts, build, compare, keys, lock, manual, mkosi, pages, reference, secure_boot, stage
from host.layout import REPO, Caches, caches
from host.progress import clock
from millrace.system.errors import Failed

SPACE = 12 << 30
SOURCE = "source"


@dataclass(frozen=True)
class Variant:
    """How one of the two builds is made; `directory` is relative, its length differs on purpose."""

    directory: str
    umask: int
    zone: str


VARIANTS = (Variant("one", 0o022, "UTC"), Variant("the-other-build", 0o077, "Pacific/Kiritimati"))


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _build(
    variant: Variant, work: Path, cache: Caches, uri: str | None, metadata: Path | None, modules: Path | None
) -> Path:
    """Build one variant of the tree in `work` with cold image caches; return its output directory."""
    source = work / SOURCE
    place = work / variant.directory
    images, output, tree = place / "cache", place / "output", place / "tree"
    for directory in (images, output):
        directory.mkdir(parents=True)
    chosen = ["--incremental=no", f"--cache-directory={images}", f"--package-cache-directory={cache.packages}"]
    chosen += [f"--output-directory={output}", f"--tools-tree={cache.stages / 'image' / 'mkosi.tools'}"]
    chosen += build.module_options(modules)
    if metadata is not None:
        shutil.copytree(metadata, images, symlinks=True, dirs_exist_ok=True)
        chosen.append("--cache-only=metadata")
    tool = mkosi.fetch(cache, uri)
    stage.stage(source, stage.image_inputs(source), tree, apt.files(uri, apt.security_uri(uri)))
    pages.install_afresh(cache, tree, place / "pages")
    manual.install(cache, tree)
    reference.install(tree)
    seconds = mkosi.run(tool, tree, chosen, place / "build.log", zone=variant.zone)
    print(f"Built with umask {variant.umask:03o} and time zone {variant.zone} in {clock(seconds)}.", flush=True)
    return output


def _sign(outputs: tuple[Path, Path], name: str, owner: keys.Keys, tools: Path) -> str:
    """Sign two equal builds; return what differs then, "" for nothing."""
    first, second = (secure_boot.sign(output, name, owner, tools, stage.epoch(REPO)) for output in outputs)
    return compare.compare(first, second, name, tools)


def check(owner: keys.Keys | None = None, stock: bool = False) -> None:
    """Build twice and compare, and with the keys of `owner` sign both and compare again.

    Both have the same package of rebuilt kernel modules, or Debian's with `stock`: like the tools tree it is an input.
    Failed with the name of what differs.
    """
    cache = caches()
    artefacts.need_space(cache.root, SPACE)
    # Makes mkosi's tools tree, which both builds share: it is an input.
    build.build_appliance(stock=stock, owner=owner)
    uri = apt.archive_uri()
    own = build.rebuilt_modules(cache, stock, owner)
    name = artefacts.image_name(REPO)
    work = cache.root / "check"
    shutil.rmtree(work, ignore_errors=True)
    with lock.building(cache):
        # Both builds are of one moment: the tree may be edited meanwhile.
        stage.stage(REPO, stage.image_inputs(REPO), work / SOURCE, {})
        with _umask(VARIANTS[0].umask):
            first = _build(VARIANTS[0], work, cache, uri, None, own)
        with _umask(VARIANTS[1].umask):
            second = _build(VARIANTS[1], work, cache, uri, work / VARIANTS[0].directory / "cache", own)
        tools = cache.stages / "image" / "mkosi.tools"
        different = compare.compare(first, second, name, tools)
        if owner is not None and not different:
            different = _sign((first, second), name, owner, tools)
    if different:
        raise Failed(f"The two builds in {work} differ: {different}.")
    shutil.rmtree(work)
    print(f"Two builds of {name} are the same: manifest, root hash and every byte of the image.")
    if owner is not None:
        print("So are the two after they were signed.")
