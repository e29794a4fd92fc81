# SPDX-License-Identifier: Apache-2.0
"""The library that smbd preloads hides names that are not UTF-8, and no others."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from host.modules import preload


def test_library_lists_a_directory_without_names_that_are_not_utf_8(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    library, program = tmp_path / "names.so", tmp_path / "list"
    subprocess.run([*preload.COMPILE, "-o", library, preload.SOURCE], check=True)
    source = "#include <dirent.h>\n#include <stdio.h>\nint main(int n, char **v) { DIR *d = opendir(v[n - 1]);"
    source += "for (struct dirent *e; d && (e = readdir(d));) puts(e->d_name); return 0; }"
    subprocess.run(["gcc", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
    good = [
        b"plain",
        "\u00e9t\u00e9".encode(),
        "\U0001f600".encode(),
        "\uf022".encode(),
        "\u20ac".encode(),
        b"a:b",
        b"\x7f",
    ]
    bad = [b"\xe9t\xe9", b"x\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
    (tmp_path / "top").mkdir()
    for name in (*good, *bad):
        (tmp_path / "top" / os.fsdecode(name)).touch()
    listed = subprocess.run(
        [program, tmp_path / "top"], env={"LD_PRELOAD": str(library)}, capture_output=True, check=True
    )
    assert set(listed.stdout.split(b"\n")) - {b"", b".", b".."} == set(good)
