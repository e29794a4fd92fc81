# SPDX-License-Identifier: Apache-2.0
"""The built image, taken apart: what is in it can be asked without booting it."""

import subprocess
from pathlib import Path

import pytest

from host import compare, layout
from vm import pe

COMPRESSED = b"\x28\xb5\x2f\xfd"


@pytest.fixture(scope="session")
def output() -> Path:
    return layout.OUTPUT


@pytest.fixture(scope="session")
def uki(output: Path) -> Path:
    return next(output.glob("millrace_*_x86-64.efi"))


@pytest.fixture(scope="session")
def tree(output: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root directory as first boot makes it: /usr from the image, /etc from the factory's."""
    root = tmp_path_factory.mktemp("image")
    split = next(output.glob("millrace_*.usr-x86-64.raw"))
    compare.extract(split, root / "usr", layout.caches().stages / "image" / "mkosi.tools")
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc").symlink_to("usr/share/factory/etc")
    for name in ("proc", "dev", "run", "tmp", "var"):
        (root / name).mkdir()
    return root


@pytest.fixture(scope="session")
def factory(tree: Path) -> Path:
    return tree / "usr/share/factory/etc"


@pytest.fixture(scope="session")
def initrd_names(uki: Path) -> str:
    """The names of everything in the initrd, one per line (cpio headers are readable as they are)."""
    data = pe.section(uki, ".initrd")
    plain = data[: data.find(COMPRESSED)].decode("latin-1")
    unpacked = []
    start = data.find(COMPRESSED)
    while start != -1:
        # each compressed cpio is one zstd frame; what follows it is the next
        done = subprocess.run(["zstd", "-dcq", "--no-check"], input=data[start:], capture_output=True, check=False)
        unpacked.append(done.stdout.decode("latin-1"))
        break
    return "\n".join([plain, *unpacked])
