# SPDX-License-Identifier: Apache-2.0
"""ZFS is built from Debian's packages for the kernel that is measured, and given to the guest."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.layout import Caches
from host.modules import environment
from host.perf import benchmarks, emulator, zfs
from millrace.system.errors import BadInput, Failed

ABI = "7.2.12+deb14-amd64"
DEBS = ("zfs-dkms_2.4.4-1_all.deb", "zfsutils-linux_2.4.4-1_amd64.deb", "libzfs7linux_2.4.4-1_amd64.deb")


class Host:
    """apt, dpkg and the compiler of an environment; `broken` is the first word of what fails."""

    def __init__(self, packages: Path) -> None:
        self.packages = packages
        self.calls: list[list[str]] = []
        self.broken = ""

    def run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        words = list(argv)
        self.calls.append(words)
        if self.broken and self.broken in words:
            return subprocess.CompletedProcess(words, 1, "", "E: it is not there\n")
        if "download" in words or "--download-only" in words:
            for name in DEBS:
                (self.packages / name).write_bytes(name.encode())
        elif words[0] == "dpkg-deb":
            self._unpack(Path(words[3]))
        elif words[0] == "unshare" and "make" in words:
            (Path(words[words.index("sh") + 3]) / "build/zfs/module").mkdir(parents=True)
            for name in zfs.MODULES:
                (self.packages.parent / f"environment/build/zfs/module/{name}.ko").write_bytes(b"module")
        elif words[0] not in ("apt-get", "unshare"):
            raise AssertionError(f"unexpected: {words}")
        return subprocess.CompletedProcess(words, 0, "", "")

    @staticmethod
    def _unpack(root: Path) -> None:
        for name in ("usr/src/zfs-2.4.4", "usr/sbin", "usr/lib/x86_64-linux-gnu"):
            (root / name).mkdir(parents=True, exist_ok=True)
        for name in zfs.PROGRAMS:
            (root / "usr/sbin" / name).write_bytes(b"program")
        library = root / "usr/lib/x86_64-linux-gnu/libzfs.so.7.0.0"
        library.write_bytes(b"library")
        link = library.with_name("libzfs.so.7")
        link.unlink(missing_ok=True)
        link.symlink_to(library.name)


@pytest.fixture
def cache(tmp_path: Path) -> Caches:
    return Caches(tmp_path)


@pytest.fixture
def host(cache: Caches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(cache.root / "zfs/packages")
    kernel = environment.Packages(tmp_path, (), ABI, "7.2.12-1", "7.2")
    monkeypatch.setattr(environment, "fetch", lambda *_: kernel)
    monkeypatch.setattr(environment, "unpack", lambda _found, root, _run: (root / "build").mkdir(parents=True))
    monkeypatch.setattr(zfs, "OUTPUT", tmp_path / "output")
    (tmp_path / "output").mkdir()
    (tmp_path / "output/dpkg.status").write_text("")
    return found


def test_programs_libraries_and_modules_are_kept_for_the_next_time(host: Host, cache: Caches) -> None:
    directory = zfs.prepared(cache, "http://debian.example", host.run)
    made = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
    assert made == ["bin/zfs", "bin/zpool", "lib/libzfs.so.7", "modules/spl.ko", "modules/zfs.ko"]
    (configured,) = [words for words in host.calls if "./configure" in words]
    assert "--with-linux-obj=/usr/src/linux-headers-7.2.12+deb14-amd64" in configured
    assert "--with-linux=/usr/src/linux-headers-7.2.12+deb14-common" in configured
    host.calls.clear()
    assert zfs.prepared(cache, "http://debian.example", host.run) == directory
    assert not [words for words in host.calls if words[0] != "apt-get" and "apt-get" not in words]
    assert sorted(path.name for path in directory.parent.iterdir()) == sorted([".lock", "packages", directory.name])


@pytest.mark.parametrize(
    ("broken", "said"),
    [("update", "ZFS cannot be fetched: it is not there."), ("make", "ZFS does not build for this kernel")],
)
def test_what_fails_is_one_sentence_and_leaves_nothing(host: Host, cache: Caches, broken: str, said: str) -> None:
    host.broken = broken
    with pytest.raises(Failed, match=said):
        zfs.prepared(cache, "http://debian.example", host.run)
    assert [path.name for path in (cache.root / "zfs").iterdir() if path.name not in (".lock", "packages")] == []


def test_without_sources_or_image_there_is_nothing_to_build(host: Host, cache: Caches) -> None:
    with pytest.raises(Failed, match="set MILLRACE_APT_URI to one"):
        zfs.prepared(cache, None, host.run)
    (zfs.OUTPUT / "dpkg.status").unlink()
    with pytest.raises(BadInput, match="run tools/build first"):
        zfs.prepared(cache, "http://debian.example", host.run)


def test_guest_gets_it_for_the_benchmark_of_the_peers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    zfs.files.cache_clear()
    monkeypatch.setattr(zfs, "prepared", lambda *_: Path(__file__).parent)
    monkeypatch.setattr(zfs.apt, "archive_uri", lambda: None)
    name = f"zfs/{Path(__file__).name}"
    assert name in emulator.files(benchmarks.job("peers"))
    assert name not in emulator.files(benchmarks.job("log"))
    zfs.files.cache_clear()
