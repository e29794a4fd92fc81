# SPDX-License-Identifier: Apache-2.0
"""A used credential does not stay on the ESP, and others do."""

import subprocess
from pathlib import Path

import pytest

from host.layout import REPO

SCRIPT = REPO / "mkosi.extra/usr/lib/millrace/forget-credential"
NAME = "millrace.admin-password"
PLACES = ("boot/loader/credentials", "boot/EFI/Linux/millrace_0.1.0.efi.extra.d")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for place in PLACES:
        (tmp_path / place).mkdir(parents=True)
        for name in (NAME, "millrace.policy"):
            (tmp_path / place / f"{name}.cred").touch()
    (tmp_path / "run/credentials/@encrypted").mkdir(parents=True)
    return tmp_path


def forget(root: Path) -> list[str]:
    subprocess.run([str(SCRIPT), NAME, str(root)], check=True)
    return sorted(path.name for path in root.rglob("*.cred"))


def test_a_used_credential_is_deleted_wherever_it_was(root: Path) -> None:
    (root / "run/credentials/@encrypted" / NAME).touch()
    assert forget(root) == ["millrace.policy.cred"] * 2


def test_what_this_boot_did_not_read_is_left_alone(root: Path) -> None:
    assert len(forget(root)) == 4


def test_an_esp_without_credentials_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "run/credentials/@encrypted").mkdir(parents=True)
    (tmp_path / "run/credentials/@encrypted" / NAME).touch()
    assert forget(tmp_path) == []
