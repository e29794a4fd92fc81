# SPDX-License-Identifier: Apache-2.0
"""The table of mounts is read one way."""

from pathlib import Path

import pytest

from millrace.system import paths
from millrace.system.mounts import Mount, mounted, parse, table
from tests.fakes.mounts import mount

# proc_pid_mountinfo(5): the optional fields before the dash vary in number
ROOT = "22 1 8:3 / / rw,relatime shared:1 - ext4 /dev/sda3 rw,discard"
NONE = "1 2 0:1 / /a ro - xfs /dev/a rw"
TWO = "90 22 9:127 / /srv/pool rw,noatime shared:50 master:1 - xfs /dev/md127 rw,logdev=/dev/md126,prjquota"


@pytest.fixture(autouse=True)
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def test_optional_fields_vary_in_number() -> None:
    assert parse("\n".join([ROOT, NONE, TWO])) == [
        Mount("8:3", "/", "ext4", "/dev/sda3", ["rw", "relatime", "rw", "discard"]),
        Mount("0:1", "/a", "xfs", "/dev/a", ["ro", "rw"]),
        Mount("9:127", "/srv/pool", "xfs", "/dev/md127", ["rw", "noatime", "rw", "logdev=/dev/md126", "prjquota"]),
    ]


def test_names_are_as_they_were_given() -> None:
    [found] = parse(r"1 2 0:1 / /mnt/a\040b\134c\011d rw - cifs //server/a\040share rw")
    assert (found.point, found.source) == ("/mnt/a b\\c\td", "//server/a share")


def test_a_source_may_be_empty() -> None:
    [found] = parse("1 2 0:1 / /run rw - tmpfs  rw,mode=755")
    assert (found.kind, found.source, found.options) == ("tmpfs", "", ["rw", "rw", "mode=755"])


def test_the_last_mount_of_a_point_hides_the_others(tmp_path: Path) -> None:
    mount(tmp_path, "/dev/a", "/srv/pool", "ext4")
    mount(tmp_path, "/dev/b", "/srv/pool", "xfs", "rw,noatime")
    mount(tmp_path, "/dev/c", "/srv/pool/below", "xfs")
    found = mounted("/srv/pool")
    assert found is not None
    assert (found.source, found.options[:2]) == ("/dev/b", ["rw", "noatime"])
    assert mounted("/srv") is None


def test_a_table_that_cannot_be_read_is_not_an_empty_one() -> None:
    with pytest.raises(FileNotFoundError):
        mounted("/")


def test_the_table_of_this_process_is_another(tmp_path: Path) -> None:
    mount(tmp_path, "/dev/a", "/a", "xfs")
    mount(tmp_path, "/dev/b", "/b", "xfs", process="self")
    assert [one.point for one in table()] == ["/a"]
    assert [one.point for one in table(process="self")] == ["/b"]
