# SPDX-License-Identifier: Apache-2.0
"""The packages of image, initrd and tools tree are read from what a build leaves."""

from pathlib import Path

import pytest

from host.layout import Caches
from host.locked import trees
from host.locked.trees import Installed
from millrace.system.errors import Failed

STATUS = """Package: mdadm
Status: install ok installed
Architecture: amd64
Version: 4.6-3

Package: nano
Status: deinstall ok config-files
Architecture: amd64
Version: 9
"""
INITRD = "cache/debian~forky~x86-64~default-initrd.cache/var/lib/dpkg/status"


@pytest.fixture
def cache(tmp_path: Path) -> Caches:
    tools = tmp_path / "build/image/mkosi.tools/var/lib/dpkg"
    tools.mkdir(parents=True)
    (tools / "status").write_text(STATUS.replace("mdadm", "mtools"))
    (tmp_path / INITRD).parent.mkdir(parents=True)
    (tmp_path / INITRD).write_text(STATUS.replace("mdadm", "file").replace("4.6-3", "1:5.47-4"))
    (tmp_path / "dpkg.status").write_text(STATUS)
    return Caches(tmp_path)


def test_installed_packages_of_all_trees(cache: Caches, tmp_path: Path) -> None:
    assert trees.built(tmp_path, cache) == {
        "image": {Installed("mdadm", "4.6-3", "amd64")},
        "initrd": {Installed("file", "1:5.47-4", "amd64")},
        "tools": {Installed("mtools", "4.6-3", "amd64")},
    }


def test_file_has_the_name_that_apt_gives_it() -> None:
    assert Installed("file", "1:5.47-4", "amd64").file == "file_1%3a5.47-4_amd64.deb"


def test_build_without_a_list_of_the_initrd_is_an_error(cache: Caches, tmp_path: Path) -> None:
    (tmp_path / INITRD).unlink()
    with pytest.raises(Failed, match="mkosi left 0 lists of the initrd's packages"):
        trees.built(tmp_path, cache)
