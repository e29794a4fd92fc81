# SPDX-License-Identifier: Apache-2.0
"""The manual of the image is one that Cockpit's rules for content let through, and two builds of it are equal."""

import re
from pathlib import Path

import pytest
import yaml

from host import docs, manual, stage
from host.layout import REPO, caches
from millrace.system.errors import Failed

THEME = REPO / "tools/host/manual-theme"


def test_theme_has_no_script_and_fetches_nothing() -> None:
    page = (THEME / "main.html").read_text()
    assert re.findall(r"<script|style=|https?:|\son\w+=", page) == []
    assert "url(" not in (THEME / "manual.css").read_text()


def test_it_is_the_manual_without_plugins() -> None:
    config = yaml.safe_load((REPO / manual.CONFIG).read_text())
    assert config["INHERIT"] == docs.CONFIG.name and config["plugins"] == []
    assert (REPO / manual.CONFIG.parent / config["docs_dir"]).resolve() == REPO / "docs"
    assert all((REPO / path).exists() for path in stage.manual_inputs())


@pytest.fixture
def mkdocs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The configurations that the generator is run with."""
    configs: list[Path] = []

    def build(program: Path, site: Path, config: Path) -> str:
        configs.append(config)
        site.mkdir()
        for name in ("index.html", "sitemap.xml", "sitemap.xml.gz"):
            (site / name).write_text("Shares")
        return ""

    monkeypatch.setattr(docs, "generator", lambda cache: Path("mkdocs"))
    monkeypatch.setattr(docs, "build", build)
    return configs


def test_pages_of_the_staged_tree_become_part_of_the_web_console(tmp_path: Path, mkdocs: list[Path]) -> None:
    manual.install(caches(), tmp_path)
    made = tmp_path / "mkosi.extra/usr/share/cockpit/millrace/manual"
    assert [path.name for path in made.iterdir()] == ["index.html"]
    assert made.joinpath("index.html").stat().st_mtime == stage.STAMP
    assert mkdocs == [tmp_path / "tools/host/manual.yml"]


def test_broken_link_stops_the_build_of_an_image(
    tmp_path: Path, mkdocs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "build", lambda program, site, config: "WARNING: no such page")
    with pytest.raises(Failed, match="The manual cannot be built:\nWARNING: no such page"):
        manual.install(caches(), tmp_path)
