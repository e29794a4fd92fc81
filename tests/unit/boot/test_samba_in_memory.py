# SPDX-License-Identifier: Apache-2.0
"""Samba on a boot drive that is read-only: it works on a copy in memory, except for a member of a domain."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import names, unit

SCRIPT = REPO / "mkosi.extra/usr/lib/millrace/samba-in-memory"
PLACES = ("var/lib/samba", "var/cache/samba", "var/log/samba")
NOBODY = 65534


@pytest.fixture
def root() -> Iterator[Path]:
    """A server whose directories belong to nobody: root may write into each, whatever its mode."""
    directory = Path(tempfile.mkdtemp())
    try:
        for place in (*PLACES, "var/lib/samba/private", "run/millrace", "etc/samba"):
            (directory / place).mkdir(parents=True, exist_ok=True)
        (directory / "var/lib/samba/private/passdb.tdb").write_text("users")
        (directory / "etc/samba/smb.conf").write_text("security = user\n")
        (directory / "mount").write_text(f'#!/bin/sh\necho "$@" >> {directory}/run/mounted\n')
        (directory / "mount").chmod(0o755)
        # nobody may be unable to read the tree
        shutil.copy(SCRIPT, directory / "script")
        if os.geteuid() == 0:
            for path in (directory, *directory.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield directory
    finally:
        for place in PLACES:
            (directory / place).chmod(0o755)
        shutil.rmtree(directory)


def mounted(root: Path) -> list[str]:
    user = NOBODY if os.geteuid() == 0 else None
    environment = {"PATH": f"{root}:{os.environ['PATH']}"}
    subprocess.run(["sh", root / "script", root], env=environment, check=True, user=user)
    said = root / "run/mounted"
    return said.read_text().splitlines() if said.exists() else []


def test_databases_stay_on_a_boot_drive_that_can_be_written(root: Path) -> None:
    assert mounted(root) == []


def test_samba_has_a_copy_in_memory_where_the_boot_drive_is_read_only(root: Path) -> None:
    for place in PLACES[:2]:
        (root / place).chmod(0o555)
    copies = root / "run/millrace/in-memory"
    assert mounted(root) == [f"--bind {copies}/{place} {root}/{place}" for place in PLACES[:2]]
    assert (copies / "var/lib/samba/private/passdb.tdb").read_text() == "users"


def test_member_of_a_domain_has_no_copy_that_would_lose_its_password(root: Path) -> None:
    (root / "etc/samba/smb.conf").write_text("[global]\nsecurity = ads\n")
    (root / PLACES[0]).chmod(0o555)
    assert mounted(root) == []


def test_copy_is_there_before_any_program_of_samba_and_outside_the_sandbox() -> None:
    users = unit("millrace-users.service")
    # systemd.service(5): "+" for all to see the mount, "-" as users of NFS are made all the same
    assert users["ExecStartPre"] == ["-+/usr/lib/millrace/samba-in-memory"]
    assert "smbd.service" in names(users, "Before")
    assert "millrace-users.service" in names(unit("millrace-share.service"), "After")
    assert "millrace-share.service" in names(unit("winbind.service"), "After")
