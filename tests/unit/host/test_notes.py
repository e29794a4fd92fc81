# SPDX-License-Identifier: Apache-2.0
"""Each build comes with notes: its section of NEWS.md and the versions of what matters."""

from pathlib import Path

import pytest

from host import notes
from host.layout import REPO
from millrace import __version__
from millrace.system.errors import BadInput

NEWS = """# News

## 1.2.0 (2027-01-05)

- Faster.

## 1.1.0 (2026-12-01)

- The first.
"""
STATUS = """Package: mdadm
Version: 4.6-3

Package: linux-image-7.2.12+deb14-amd64
Version: 7.2.12-1

Package: nano
Version: 9
"""


def test_notes_have_news_components_and_the_root_hash(tmp_path: Path) -> None:
    (tmp_path / "dpkg.status").write_text(STATUS)
    (tmp_path / "NEWS.md").write_text(NEWS)
    text = notes.write(tmp_path / "dpkg.status", "millrace_1.2.0_x86-64", "1.2.0", 0, "abc", tmp_path / "NEWS.md")
    lines = text.read_text().splitlines()
    assert text.name == "millrace_1.2.0_x86-64.notes.md"
    assert "1970-01-01, 3 packages of Debian, all in `millrace_1.2.0_x86-64.cdx.json`." in lines
    assert "Root hash of `/usr`: `abc`" in lines
    assert ("- Faster." in lines, "- The first." in lines) == (True, False)
    assert ("| Linux | 7.2.12-1 |" in lines, "| mdadm | 4.6-3 |" in lines) == (True, True)
    assert not any("nano" in line for line in lines)


def test_notes_name_rebuilt_modules(tmp_path: Path) -> None:
    (tmp_path / "dpkg.status").write_text(f"{STATUS}\nPackage: millrace-modules\nVersion: 7.2.12-1+millrace1\n")
    (tmp_path / "NEWS.md").write_text(NEWS)
    text = notes.write(tmp_path / "dpkg.status", "x", "1.2.0", 0, "abc", tmp_path / "NEWS.md").read_text()
    assert "3 packages of Debian and millrace-modules, all in" in text
    assert "| rebuilt modules of NFS, SMB and md | 7.2.12-1+millrace1 |" in text


def test_release_of_a_version_has_its_news() -> None:
    assert notes.news(NEWS, "1.1.0.20261201.0800") == "- The first."
    with pytest.raises(BadInput):
        notes.news(NEWS, "1.1.01")


def test_version_without_news_is_not_built() -> None:
    with pytest.raises(BadInput, match=r"NEWS\.md has no section for 1\.3\.0: write one"):
        notes.news(NEWS, "1.3.0")


def test_this_version_has_news() -> None:
    assert notes.news((REPO / "NEWS.md").read_text(), __version__).startswith("The first version.")
