# SPDX-License-Identifier: Apache-2.0
"""apt and npm get the files of a lock from loopback, and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from host.locked import shelf
from tests.unit.host.test_model import CONTENT, DIGEST, lock

CONTROL = "Package: mdadm\nVersion: 4.6-3\nArchitecture: amd64\n"


@pytest.fixture
def uri(tmp_path: Path) -> Iterator[str]:
    for name in lock().files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CONTENT)
    (tmp_path / "packages.lock").write_text("{}")
    with shelf.served(shelf.Shelf(tmp_path, lock(), lambda deb: CONTROL)) as uri:
        yield uri


def fetched(url: str) -> bytes:
    with urlopen(url, timeout=10) as answer:
        found: bytes = answer.read()
    return found


def test_apt_gets_a_list_with_digests_and_the_files_in_it(uri: str) -> None:
    listed = fetched(f"{uri}/apt/Packages").decode()
    assert listed == (f"{CONTROL}Filename: mdadm_4.6-3_amd64.deb\nSize: {len(CONTENT)}\nSHA256: {DIGEST}\n")
    assert fetched(f"{uri}/apt/mdadm_4.6-3_amd64.deb") == CONTENT


def test_npm_gets_the_version_of_the_lock(uri: str) -> None:
    document = json.loads(fetched(f"{uri}/@a%2fb"))
    (version,) = document["versions"].values()
    assert (document["name"], version["version"], version["dist"]["integrity"]) == ("@a/b", "1.0.0", "sha512-x")
    assert fetched(version["dist"]["tarball"]) == CONTENT


@pytest.mark.parametrize("path", ["packages.lock", "apt/packages.lock", "apt/Release", "lodash", "debs/"])
def test_nothing_else_is_served(uri: str, path: str) -> None:
    with pytest.raises(HTTPError, match="404"):
        fetched(f"{uri}/{path}")


def test_source_of_apt_is_the_shelf_alone() -> None:
    (text,) = shelf.sources("http://127.0.0.1:1").values()
    assert "URIs: http://127.0.0.1:1/apt/" in text and text.count("URIs") == 1
