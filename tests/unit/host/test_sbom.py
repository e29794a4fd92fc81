# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names every package of the image by version, and is the same for the same packages."""

import json
from pathlib import Path

import pytest

from host import sbom
from millrace.system.errors import Failed

EPOCH = 1795046400
STATUS = """\
Package: openssl
Status: install ok installed
Architecture: amd64
Version: 3.6.5-1
Maintainer: Debian OpenSSL Team <openssl@example.org>
Description: TLS

Package: samba
Status: install ok installed
Architecture: amd64
Source: samba (2:4.25.1+dfsg-1)
Version: 2:4.25.1+dfsg-1
Depends: openssl
Maintainer: Samba Team <samba@example.org>
Description: SMB

"""


def made(directory: Path, text: str = STATUS) -> str:
    directory.mkdir()
    (directory / "dpkg.status").write_text(text)
    return sbom.write(directory / "dpkg.status", "millrace_0.1.0_x86-64", "0.1.0", EPOCH).read_text()


def test_every_package_is_named_with_its_version(tmp_path: Path) -> None:
    document = json.loads(made(tmp_path / "one"))
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["timestamp"] == "2026-11-19T00:00:00+00:00"
    found = {(one["name"], one["version"]) for one in document["components"]}
    assert {("openssl", "3.6.5-1"), ("samba", "2:4.25.1+dfsg-1")} <= found


def test_the_same_packages_give_the_same_bytes_and_others_another_serial_number(tmp_path: Path) -> None:
    first = made(tmp_path / "one")
    assert made(tmp_path / "two") == first
    other = made(tmp_path / "three", STATUS.replace("3.6.5-1", "3.6.6-1"))
    assert json.loads(other)["serialNumber"] != json.loads(first)["serialNumber"]


def test_a_package_database_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"^The bill of materials was not made: ") as error:
        made(tmp_path / "one", "Package: x\nVersion: \n\n")
    assert "\n" not in str(error.value)
