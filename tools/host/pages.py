# SPDX-License-Identifier: Apache-2.0
"""The web pages: bundled for the image, and checked."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from host import node, stage
from host.layout import REPO, Caches, caches
from millrace.system.errors import Failed

PAGES = Path("cockpit-plugin")
INSTALLED = Path("mkosi.extra/usr/share/cockpit/millrace")
"""Where mkosi takes files from that end up in /usr/share/cockpit/millrace."""
CHECKS = (
    ("tsc", ("typescript/bin/tsc", "--noEmit")),
    ("eslint", ("eslint/bin/eslint.js", "--max-warnings=0", ".")),
    ("stylelint", ("stylelint/bin/stylelint.mjs", "--max-warnings=0", "src/**/*.css")),
)
# dist directories of other trees and older commits
KEPT = 8


def bundle(cache: Caches, tree: Path, out: Path) -> None:
    """Bundle the pages of `tree` into `out`; Failed with the bundler's words, also where they are over their budget."""
    with tempfile.TemporaryDirectory(prefix="bundling-", dir=_directory(cache)) as work:
        # Of their own: what lies in a checkout (node_modules, dist) must not get in.
        root = Path(work) / "pages"
        inputs = [path.relative_to(PAGES) for path in stage.page_inputs()]
        stage.stage(tree / PAGES, inputs, root, {})
        node.link(node.packages(cache, root), root)
        argv = node.node("build.mjs", str(out))
        done = subprocess.run(argv, cwd=root, env=node.environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"The web pages cannot be bundled: {done.stderr.strip() or done.stdout.strip()}")


def install(cache: Caches, tree: Path) -> None:
    """Put the pages of the staged tree `tree` to the files of its image, bundled now or before."""
    dist = _directory(cache) / f"dist-{stage.key(tree, stage.page_inputs())[:16]}"
    if not dist.is_dir():
        with tempfile.TemporaryDirectory(prefix="dist-of-", dir=cache.pages) as new:
            bundle(cache, tree, Path(new) / "dist")
            if not dist.is_dir():
                (Path(new) / "dist").rename(dist)
    for old in sorted(cache.pages.glob("dist-????????????????"), key=lambda p: p.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    stage.place(dist, tree / INSTALLED)


def install_afresh(cache: Caches, tree: Path, work: Path) -> None:
    """Like install(), but bundled now, for a comparison of two builds."""
    bundle(cache, tree, work)
    stage.place(work, tree / INSTALLED)


def prepare(cache: Caches | None = None) -> Path:
    """Return the directory of the pages with their packages in place, for the checks and for work by hand."""
    root = REPO / PAGES
    node.link(node.packages(cache or caches(), root), root)
    return root


def check(name: str) -> bool:
    """Run one of CHECKS; return whether it passed."""
    root = REPO / PAGES
    script, *arguments = dict(CHECKS)[name]
    argv = node.node(f"{node.MODULES}/{script}", *arguments)
    return subprocess.run(argv, cwd=root, env=node.environment(), check=False).returncode == 0


def run_tests(report: Path) -> int:
    """Run vitest, which writes its count to `report` (JUnit); return its exit status."""
    argv = node.node(
        f"{node.MODULES}/vitest/vitest.mjs",
        "run",
        "--reporter=default",
        "--reporter=junit",
        f"--outputFile.junit={report}",
    )
    return subprocess.run(argv, cwd=REPO / PAGES, env=node.environment(), check=False).returncode


def _directory(cache: Caches) -> Path:
    cache.pages.mkdir(parents=True, exist_ok=True)
    return cache.pages
