# SPDX-License-Identifier: Apache-2.0
"""The built image, taken apart: what is in it can be asked without booting it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host import layout
from tests.image.tree import make
from vm import pe

ZSTD = b"\x28\xb5\x2f\xfd"


@pytest.fixture(scope="session")
def output() -> Path:
    return layout.OUTPUT


@pytest.fixture(scope="session")
def uki(output: Path) -> Path:
    return next(output.glob("millrace_*_x86-64.efi"))


@pytest.fixture(scope="session")
def tree(output: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(output, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def factory(tree: Path) -> Path:
    return tree / "usr/share/factory/etc"


def cpio_names(archive: bytes) -> Iterator[str]:
    """The names in a "newc" archive (cpio(5)): hexadecimal headers of 110 bytes, everything padded to 4."""
    at = 0
    while archive[at : at + 6] == b"070701":
        size, length = (int(archive[at + field : at + field + 8], 16) for field in (54, 94))
        yield archive[at + 110 : at + 110 + length - 1].decode()
        at += (110 + length + 3) // 4 * 4
        at += (size + 3) // 4 * 4


@pytest.fixture(scope="session")
def initrd_names(uki: Path) -> set[str]:
    """The names of everything in the initrd: a microcode archive as it is, then compressed ones, padding between."""
    data = pe.section(uki, ".initrd")
    names = set(cpio_names(data))
    at = data.find(ZSTD)
    while at != -1:
        done = subprocess.run(["zstd", "-dcq"], input=data[at:], capture_output=True, check=False)
        # the four bytes may also stand in the middle of a frame, where nothing can be unpacked
        names |= set(cpio_names(done.stdout))
        at = data.find(ZSTD, at + 4)
    return names
