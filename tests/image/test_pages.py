# SPDX-License-Identifier: Apache-2.0
"""The web pages are in the image, and what they point to is there."""

import gzip
import json
import re
from pathlib import Path

import pytest

PAGES = "usr/share/cockpit/millrace"


@pytest.fixture(scope="module")
def pages(tree: Path) -> Path:
    return tree / PAGES


def text(file: Path) -> str:
    """The text of a file as cockpit-bridge serves it: NAME.gz for NAME."""
    packed = file.with_name(f"{file.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else file.read_text()


def test_cockpit_finds_the_pages_and_their_menu(pages: Path, tree: Path) -> None:
    manifest = json.loads(text(pages / "manifest.json"))
    assert manifest["menu"]["index"]["label"] == "Millrace"
    assert all((tree / one["path-exists"].lstrip("/")).exists() for one in manifest["conditions"])
    # Cockpit's own policy stays in force
    assert "content-security-policy" not in manifest


def test_what_the_page_loads_is_there(pages: Path, tree: Path) -> None:
    html = text(pages / "index.html")
    loaded = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert "index.js" in loaded
    # po.js and branding.css are answered by Cockpit itself, from what fits the language and the system
    for name in set(loaded) - {"po.js", "../../static/branding.css"}:
        target = (pages / name).resolve() if not name.startswith("../base1") else tree / "usr/share/cockpit" / name[3:]
        assert text(target), name
    assert "<script>" not in html and "style=" not in html


def test_the_bundle_brings_all_that_it_uses(pages: Path) -> None:
    # Without the automatic transform JSX becomes calls of a global that no page has.
    parts = [text(file.with_suffix("")) for file in pages.glob("*.js.gz")]
    assert len(parts) > 2 and not any(re.search(r"(?<![\w$.])React\.createElement", part) for part in parts)
    named = {name for part in parts for name in re.findall(r"""["']\./(part-\w+\.js)["']""", part)}
    assert named and [name for name in named if not (pages / f"{name}.gz").exists()] == []


def test_fonts_of_the_pages_come_with_cockpit(pages: Path, tree: Path) -> None:
    named = set(re.findall(r"url\([\"']?\.\./\.\./static/([^)\"']+)", text(pages / "index.css")))
    assert named
    assert [name for name in named if not (tree / "usr/share/cockpit/static" / name).exists()] == []


def test_licences_of_bundled_packages_are_listed(pages: Path) -> None:
    legal = text(pages / "LEGAL.txt")
    assert all(f"== {name} " in legal for name in ("react", "react-dom", "@patternfly/react-core"))
    assert "GPL" not in legal


def test_help_leads_to_the_manual_on_the_server(pages: Path, tree: Path) -> None:
    # Cockpit shows it as "Millrace documentation", in the language of the user
    (url,) = re.findall(r'^DOCUMENTATION_URL="(.+)"$', (tree / "usr/lib/os-release").read_text(), re.MULTILINE)
    assert url.startswith("/cockpit/@localhost/millrace/")
    assert "<h1" in text(pages / url.removeprefix("/cockpit/@localhost/millrace/"))


def test_manual_needs_no_script_and_nothing_from_elsewhere(pages: Path) -> None:
    """Cockpit's policy for content would stop both."""
    named = [
        path for path in (pages / "manual").rglob("*.html") if re.search(r"<script|<iframe| style=", path.read_text())
    ]
    assert named == [] and (pages / "manual/manual.css").is_file()
