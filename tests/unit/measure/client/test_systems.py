# SPDX-License-Identifier: Apache-2.0
"""Windows and macOS open a share over SMB, and can check that it worked."""

import shlex

import pytest

from millrace.measure.client.systems import lines, systems


def steps(host: str, user: str) -> dict[str, dict[str, str]]:
    return {system.name: {step.kind: step.text for step in system.steps} for system in systems(host, "lab", user)}


def test_windows_opens_a_path_and_powershell_asks_for_the_password() -> None:
    windows = steps("10.0.0.2", "lena")["windows"]
    assert windows["path"] == r"\\10.0.0.2\lab"
    assert r"-Root '\\10.0.0.2\lab'" in windows["command"] and "(Get-Credential 'lena')" in windows["command"]
    assert windows["check"].startswith("Get-SmbConnection -ServerName '10.0.0.2' |")


def test_macos_opens_an_address_in_the_finder() -> None:
    macos = steps("nas.example.com", "LAB\\eve")["macos"]
    assert macos["path"] == "smb://LAB;eve@nas.example.com/lab"
    assert "//LAB;eve@nas.example.com/lab" in shlex.split(macos["command"])
    assert macos["check"] == 'smbutil statshares -m "$HOME"/lab'


def test_address_with_colons_is_written_as_each_system_reads_it() -> None:
    found = steps("fd00::1", "lena")
    assert found["windows"]["path"] == r"\\fd00--1.ipv6-literal.net\lab"
    assert found["macos"]["path"] == "smb://lena@[fd00::1]/lab"


@pytest.mark.parametrize("system", ["Windows", "macOS"])
def test_each_system_has_a_check_in_text(system: str) -> None:
    text = lines(systems("10.0.0.2", "lab", "lena"))
    comments = [line for line in text if line.startswith(f"# {system}, ")]
    assert len(comments) == 3 and "3.1.1" in comments[-1]
