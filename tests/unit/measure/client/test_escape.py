# SPDX-License-Identifier: Apache-2.0
"""Paths become unit names as systemd spells them, and fields of fstab that mount reads back."""

import shutil
import subprocess

import pytest

from millrace.measure.client.escape import fstab_field, unit_name, unit_value

KNOWN = {
    "/mnt/data": "mnt-data.mount",
    "/mnt/my-data": "mnt-my\\x2ddata.mount",
    "/mnt//data/": "mnt-data.mount",
    "/": "-.mount",
    "/.hidden/x": "\\x2ehidden-x.mount",
    "/run/millrace/lanes/train/fd00:1::2": "run-millrace-lanes-train-fd00:1::2.mount",
    "/mnt/ä b": "mnt-\\xc3\\xa4\\x20b.mount",
}


@pytest.mark.parametrize(("path", "name"), KNOWN.items())
def test_unit_names(path: str, name: str) -> None:
    assert unit_name(path, "mount") == name


@pytest.mark.parametrize("path", KNOWN)
def test_systemd_agrees(path: str) -> None:
    program = shutil.which("systemd-escape")
    if program is None:
        pytest.skip("systemd-escape is not installed: apt install systemd")
    told = subprocess.run([program, "--path", "--suffix=mount", path], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == unit_name(path, "mount")


def test_blanks_in_fstab_are_octal() -> None:
    assert fstab_field("/mnt/a b\\c") == "/mnt/a\\040b\\134c"


def test_a_percent_sign_in_a_unit_is_no_specifier() -> None:
    assert unit_value("fe80::1%eth0") == "fe80::1%%eth0"
