# SPDX-License-Identifier: Apache-2.0
"""All packages that a build took are kept, with their digests, or nothing is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from host import artefacts, build
from host.layout import Caches
from host.locked import collect, trees
from host.locked.model import Package
from host.locked.trees import Installed
from millrace.system.errors import BadInput, Failed

MDADM = Installed("mdadm", "4.6-3", "amd64")
OWN = Installed("millrace-modules", "7.2.12-1+millrace1", "amd64")
KEY = "1" * 64


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[Installed]]:
    """The trees of a build that is not run; its packages lie in the cold cache."""
    packages = {"image": {MDADM}, "initrd": set[Installed](), "tools": {MDADM}}

    def cold(cache: Caches, modules: Path | None) -> str:
        (cache.packages / collect.ARCHIVES).mkdir(parents=True)
        for one in set().union(*packages.values()) - {OWN}:
            (cache.packages / collect.ARCHIVES / one.file).write_text(one.version)
        cache.mkosi.mkdir()
        (cache.mkosi / "27.1-1.deb").write_text("mkosi")
        return KEY

    wheel = Package(name="click", version="8", file="wheels/click-8-any.whl", sha256=KEY)
    deb = tmp_path / "cache/modules/key" / OWN.file
    deb.parent.mkdir(parents=True)
    deb.write_text("rebuilt")
    monkeypatch.setattr(build, "rebuilt_modules", lambda cache, stock: None if stock else deb)
    monkeypatch.setattr(build, "build_cold", cold)
    monkeypatch.setattr(trees, "built", lambda output, cache: packages)
    monkeypatch.setattr(collect, "made", lambda output: {"root_hash": KEY, "image": KEY})
    monkeypatch.setattr(collect, "_npm", lambda cache, new: [])
    monkeypatch.setattr(collect, "_wheels", lambda new: [_written(new, wheel)])
    return packages


def _written(new: Path, package: Package) -> Package:
    (new / package.file).write_text("wheel")
    return package.model_copy(update={"sha256": artefacts.sha256(new / package.file)})


def test_packages_are_kept_with_where_they_were_installed(built: object, tmp_path: Path) -> None:
    lock = collect.collect(tmp_path / "lock", cache=Caches(tmp_path / "cache"))
    assert [(deb.name, deb.used_in) for deb in lock.debs] == [("mdadm", ["image", "tools"]), ("mkosi", [])]
    assert (tmp_path / "lock/debs/mdadm_4.6-3_amd64.deb").read_text() == "4.6-3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "lock"]
    assert not (tmp_path / "cache/lock").exists()


def test_rebuilt_modules_are_kept_with_the_packages(built: dict[str, set[Installed]], tmp_path: Path) -> None:
    built["image"] = {MDADM, OWN}
    lock = collect.collect(tmp_path / "lock", cache=Caches(tmp_path / "cache"))
    assert (tmp_path / "lock/debs" / OWN.file).read_text() == "rebuilt"
    assert [(deb.name, deb.used_in) for deb in lock.debs][:2] == [
        ("mdadm", ["image", "tools"]),
        ("millrace-modules", ["image"]),
    ]


def test_existing_directory_is_left_alone(built: object, tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(BadInput, match="exists: name a new directory"):
        collect.collect(tmp_path / "lock", cache=Caches(tmp_path / "cache"))


def test_sources_that_changed_during_the_build_leave_nothing(built: dict[str, set[Installed]], tmp_path: Path) -> None:
    built["tools"] = {MDADM._replace(version="4.7-1")}
    with pytest.raises(Failed, match=r"changed during the build \(mdadm\)"):
        collect.collect(tmp_path / "lock", cache=Caches(tmp_path / "cache"))
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    ("entry", "taken"),
    [
        ({}, True),
        ({"os": ["linux"], "cpu": ["x64"]}, True),
        ({"os": ["darwin"]}, False),
        ({"cpu": ["!x64"]}, False),
        ({"os": ["!win32"]}, True),
        ({"libc": ["musl"]}, False),
        ({"link": True}, False),
    ],
)
def test_packages_of_other_platforms_are_not_kept(entry: Mapping[str, Any], taken: bool) -> None:
    about = {"version": "1.0.0", "integrity": "sha512-x", **entry}
    found = list(collect.wanted({"packages": {"": {"name": "pages"}, "node_modules/a/node_modules/@b/c": about}}))
    assert found == ([("@b/c", "1.0.0", "sha512-x")] if taken else [])
