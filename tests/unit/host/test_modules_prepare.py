# SPDX-License-Identifier: Apache-2.0
"""Modules are compiled once for a kernel, and the image has no others of these names."""

from pathlib import Path

import pytest

from host.layout import Caches
from host.modules import compile as compiler
from host.modules import environment, image, package, prepare, verify
from host.modules.environment import Packages
from millrace.system.errors import Failed
from tests.unit.host.modules_of import ABI, MODULES, VERSION, Tools, module, packages_of, rebuilt, with_daemon


class Built:
    """How often the modules were compiled, by a build that leaves them where they belong."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(environment, "fetch", lambda work, uri, run: packages_of())
        monkeypatch.setattr(Packages, "key", property(lambda one: "a key"))
        monkeypatch.setattr(environment, "unpack", lambda one, root, run: with_daemon(root))
        monkeypatch.setattr(compiler, "build", self.build)
        monkeypatch.setattr(verify, "debian_modules", lambda deb: {"fs/nfsd/nfsd": module()})

    def build(self, root: Path, one: Packages, new: Path, jobs: int, run: environment.Run) -> list[Path]:
        self.times += 1
        return rebuilt(new)


def test_modules_are_compiled_once_for_the_same_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(monkeypatch)
    cache, tools = Caches(tmp_path), Tools()
    first = prepare.prepare(cache, "http://mirror.example/", tools)
    assert [first] == list(first.parent.iterdir())
    assert (prepare.prepare(cache, "http://mirror.example/", tools), built.times) == (first, 1)
    monkeypatch.setattr(Packages, "key", property(lambda packages: "of newer packages"))
    assert prepare.prepare(cache, "http://mirror.example/", tools) != first
    assert built.times == 2
    assert not (tmp_path / "modules/environment").exists()
    first.unlink()
    monkeypatch.setattr(Packages, "key", property(lambda packages: "a key"))
    with pytest.raises(Failed, match="has 0 packages instead of 1; remove it"):
        prepare.prepare(cache, "http://mirror.example/", tools)


def test_builds_that_were_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Built(monkeypatch)
    cache, tools = Caches(tmp_path), Tools()

    def of(key: str) -> Path:
        monkeypatch.setattr(Packages, "key", property(lambda one: key))
        return prepare.prepare(cache, None, tools).parent

    first, second, *_ = (of(f"packages {number}") for number in range(prepare.KEPT))
    assert of("packages 0") == first
    last = of("packages of today")
    left = {directory for directory in (tmp_path / "modules").iterdir() if directory.is_dir()}
    assert len(left) == prepare.KEPT and {first, last} < left and second not in left


def status(*packages: tuple[str, str]) -> str:
    return "\n".join(f"Package: {name}\nVersion: {version}\n" for name, version in packages)


OWN = ("millrace-modules", f"{VERSION}+millrace1")
KERNEL = (f"linux-image-{ABI}", VERSION)


def test_image_has_one_kernel_and_the_modules_for_it(tmp_path: Path) -> None:
    file = tmp_path / "dpkg.status"
    file.write_text(status(KERNEL, ("linux-image-amd64", VERSION), OWN))
    assert image.kernel(file) == ABI
    file.write_text(status(KERNEL, ("linux-image-7.2.13+deb14-amd64", "7.2.13-1"), OWN))
    with pytest.raises(Failed, match=r"2 kernels \(7\.2\.12\+deb14-amd64, 7\.2\.13\+deb14-amd64\)"):
        image.kernel(file)
    file.write_text(status((KERNEL[0], "7.2.12-2"), OWN))
    with pytest.raises(Failed, match=r"kernel 7\.2\.12-2 and millrace-modules 7\.2\.12-1\+millrace1"):
        image.kernel(file)
    file.write_text(status(KERNEL))
    with pytest.raises(Failed, match="millrace-modules not at all"):
        image.kernel(file)


LISTED = [f"{package.installed(name)}: kernel/fs/netfs/netfs.ko.xz" for name in MODULES]


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        ([line.replace("updates/millrace", "kernel") for line in LISTED], "kernel/fs/nfs/blocklayout/blocklayoutdr"),
        (LISTED[1:], "load no blocklayoutdriver.ko"),
        ([*LISTED, "kernel/fs/x/x.ko.xz: kernel/fs/nfsd/nfsd.ko.xz"], "kernel/fs/nfsd/nfsd.ko.xz, updates"),
    ],
)
def test_image_that_would_load_modules_of_debian_is_refused(lines: list[str], chosen: str) -> None:
    image.verify([*LISTED, f"kernel/fs/nfs_common/nfs_acl.ko.xz: {package.installed('net/sunrpc/sunrpc')}"])
    with pytest.raises(Failed, match=chosen):
        image.verify(lines)
