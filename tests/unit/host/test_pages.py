# SPDX-License-Identifier: Apache-2.0
"""The web pages get into the image as they are in the tree, or the build says why not."""

import os
import shutil
from pathlib import Path

import pytest

from host import node, pages, stage
from host.layout import Caches
from millrace.system.errors import Failed


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caches:
    modules = tmp_path / "modules"
    modules.mkdir()
    monkeypatch.setattr(node, "packages", lambda cache, root: modules)
    return Caches(tmp_path / "cache")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "cockpit-plugin/src").mkdir(parents=True)
    (root / "cockpit-plugin/dist").mkdir()
    (root / "cockpit-plugin/src/index.html").write_text("one")
    (root / "mkosi.extra/usr").mkdir(parents=True)
    return root


def bundler(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(node, "node", lambda *arguments: ["sh", "-c", script, *arguments])


COPY = 'mkdir -p "$1" && cp src/index.html "$1" && ls > "$1/seen"'


def test_pages_are_bundled_from_a_clean_copy_and_again_after_a_change(
    cache: Caches, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundler(monkeypatch, COPY)
    pages.install(cache, tree)
    installed = tree / "mkosi.extra/usr/share/cockpit/millrace"
    assert (installed / "index.html").read_text() == "one"
    assert (installed / "seen").read_text().split() == ["node_modules", "src"]
    (tree / "cockpit-plugin/src/index.html").write_text("two")
    shutil.rmtree(installed)
    pages.install(cache, tree)
    assert (installed / "index.html").read_text() == "two"


def test_an_unchanged_tree_is_not_bundled_again(cache: Caches, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundler(monkeypatch, COPY)
    pages.install(cache, tree)
    bundler(monkeypatch, "exit 1")
    installed = tree / "mkosi.extra/usr/share/cockpit/millrace"
    shutil.rmtree(installed)
    pages.install(cache, tree)
    assert (installed / "index.html").read_text() == "one"


def test_modes_and_times_in_the_image_do_not_depend_on_the_umask(
    cache: Caches, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundler(monkeypatch, COPY)
    before = os.umask(0o077)
    try:
        pages.install_afresh(cache, tree, tree / "work")
    finally:
        os.umask(before)
    installed = tree / "mkosi.extra/usr/share/cockpit/millrace"
    assert installed.stat().st_mode & 0o777 == 0o755
    assert (installed / "index.html").stat().st_mode & 0o777 == 0o644
    assert (installed / "index.html").stat().st_mtime == stage.STAMP


def test_what_the_bundler_complains_of_stops_the_build(
    cache: Caches, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundler(monkeypatch, "echo 'millrace: index.js is too large.' >&2; exit 1")
    with pytest.raises(Failed, match=r"index\.js is too large"):
        pages.install(cache, tree)
    assert not (tree / "mkosi.extra/usr/share").exists()
