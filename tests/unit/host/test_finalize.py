# SPDX-License-Identifier: Apache-2.0
"""mkosi.finalize builds no image with a web console that is known to be open."""

import os
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO

REFUSED = "372 is the first without CVE-2026-91150"


def finalize(root: Path, status: str) -> str:
    """Run it on an image that is nothing but a package database; what it printed on stderr."""
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(status)
    environment = os.environ | {"BUILDROOT": str(root), "OUTPUTDIR": str(root)}
    done = subprocess.run([REPO / "mkosi.finalize"], env=environment, capture_output=True, text=True, check=False)
    # there is much more that this image lacks
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("version", ["371-1", "", "1:371-1", "1:372", "unknown", "372.bpo"])
def test_version_of_cockpit_decides(tmp_path: Path, version: str) -> None:
    said = finalize(tmp_path, f"Package: cockpit-ws\nVersion: {version}\n\nPackage: x\nVersion: 999\n")
    assert (REFUSED in said) == (not version.startswith(("1:372", "372"))), said


def test_version_of_the_next_package_is_not_taken(tmp_path: Path) -> None:
    assert REFUSED in finalize(tmp_path, "Package: cockpit-ws\nStatus: half-installed\n\nPackage: x\nVersion: 999\n")


def test_image_without_cockpit_is_refused(tmp_path: Path) -> None:
    assert f"cockpit-ws is not in the image, and {REFUSED}" in finalize(tmp_path, "Package: bash\nVersion: 999\n")
