# SPDX-License-Identifier: Apache-2.0
"""Rebuilt modules of a kernel, and the packages that they are made from, as small files."""

import lzma
import subprocess
from collections.abc import Sequence
from pathlib import Path

from host.modules import environment, package, preload, sets
from host.modules.environment import Packages

ABI, VERSION = "7.2.12+deb14-amd64", "7.2.12-1"
MAGIC = f"{ABI} SMP preempt mod_unload modversions "
DAEMON = "ksmbd-tools_3.5.7-1_amd64.deb"
FILES = (
    DAEMON,
    f"linux-headers-{ABI}_{VERSION}_amd64.deb",
    f"linux-headers-amd64_{VERSION}_amd64.deb",
    f"linux-headers-7.2.12+deb14-common_{VERSION}_all.deb",
    f"linux-modules-{ABI}_{VERSION}_amd64.deb",
    f"linux-source-7.2_{VERSION}_all.deb",
    f"linux-source_{VERSION}_all.deb",
)
MODULES = [module for one in sets.SETS for module in one.modules]


BUILD, DEBIAN = b"\x11" * 20, b"\x22" * 20


def module(magic: str = MAGIC, build: bytes = BUILD) -> bytes:
    note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0" + build
    return b"\x7fELF\0" + note + b"license=GPL\0vermagic=" + magic.encode() + b"\0name=x\0"


def answer(argv: Sequence[str], status: int = 0, out: str = "", err: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(argv, status, out, err)


def packages_of(directory: Path = Path("/packages")) -> Packages:
    return environment.packages(FILES, directory)


def rebuilt(target: Path, magic: str = MAGIC) -> list[Path]:
    paths = [target / f"{name}.ko" for name in MODULES]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(module(magic))
    return paths


class Tools:
    """The environment's xz, and the host's own dpkg-deb."""

    def __init__(self) -> None:
        self.argv: list[Sequence[str]] = []

    def __call__(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.argv.append(argv)
        if argv[0] == "env":
            return environment.run_quietly(argv)
        if argv[:2] == ["dpkg-deb", "--field"]:
            assert argv[2:] == [str(Path("/packages") / DAEMON), "Depends"]
            return answer(argv, out="libc6 (>= 2.38), libnl-3-200 (>= 3.11.0)\n")
        root, command = Path(argv[argv.index("-c") + 2]), argv[argv.index("HOME=/") + 1 :]
        if command[0] == "gcc":
            assert tuple(command[: len(preload.COMPILE)]) == preload.COMPILE
            (root / command[command.index("-o") + 1].lstrip("/")).write_bytes(b"library")
            return answer(argv)
        assert tuple(command[:4]) == package.XZ
        for name in command[4:]:
            path = root / name.lstrip("/")
            path.with_suffix(".ko.xz").write_bytes(lzma.compress(path.read_bytes(), check=lzma.CHECK_CRC32))
            path.unlink()
        return answer(argv)


EPOCH = 1577836800


def with_daemon(root: Path) -> Path:
    for name in (package.DAEMON, Path("usr/share/doc/ksmbd-tools/copyright")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(name.name)
    return root


def packed(directory: Path) -> Path:
    built, root = directory / "new", with_daemon(directory / "root")
    return package.make(rebuilt(built), built, root, packages_of(), "the record", EPOCH, Tools())
