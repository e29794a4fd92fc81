# SPDX-License-Identifier: Apache-2.0
"""Files of a tree are opened by their inode, whatever clients do with names meanwhile."""

import os
from pathlib import Path

from millrace.system.trees.walk import opened_files


def test_file_is_opened_by_its_inode_to_write(tmp_path: Path) -> None:
    for name in ("a/one", "a/two", "own/three"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    wanted = {(tmp_path / name).stat().st_ino for name in ("a/one", "own/three")}
    files = []
    for name, file in opened_files(tmp_path, "own", wanted):
        files.append((name, os.pread(file, 10, 0)))
        os.pwrite(file, b"new", 0)
    assert files == [("a/one", b"a/one")]
    assert (tmp_path / "a/one").read_bytes() == b"newne"


def test_link_that_takes_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    top = tmp_path / "top"
    top.mkdir()
    (top / "first").write_text("x")
    (top / "second").write_text("y")
    wanted = {(top / name).stat().st_ino for name in ("first", "second")}
    names = []
    for name, _ in opened_files(top, "own", wanted):
        names.append(name)
        for other in {"first", "second"} - {name}:
            (top / other).unlink()
            (top / other).symlink_to(outside)
    assert len(names) == 1
