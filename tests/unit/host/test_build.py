# SPDX-License-Identifier: Apache-2.0
"""An image is built again when what it is made of has changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from host import build, keys, reference
from host.layout import REPO, Caches
from millrace.system.errors import BadInput


@pytest.mark.parametrize(("with_program", "noticed"), [(True, True), (False, False)])
def test_generator_of_the_manual_belongs_to_the_image_with_the_program(
    tmp_path: Path, with_program: bool, noticed: bool
) -> None:
    assert (REPO / reference.SOURCE).samefile(reference.__file__)
    (tmp_path / reference.SOURCE).parent.mkdir(parents=True)
    (tmp_path / reference.SOURCE).write_text("one")
    target = replace(build.appliance(Caches(tmp_path)), root=tmp_path, inputs=[], with_program=with_program)
    before = build.up_to_date(target)[1]
    (tmp_path / reference.SOURCE).write_text("two")
    assert (build.up_to_date(target)[1] != before) is noticed


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the command line lets be done, in order."""
    done: list[str] = []
    monkeypatch.setattr(
        build,
        "build_appliance",
        lambda look, stock, owner: done.append(f"build{' with Debian modules' * stock}{f' for {owner}' * bool(owner)}"),
    )
    monkeypatch.setattr(build, "sign", lambda owner, cache: done.append(f"sign with {owner}"))
    monkeypatch.setattr(build.check, "check", lambda owner, stock: done.append(f"check with {owner}"))
    return done


def test_what_was_built_is_signed(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "load", lambda directory: f"keys of {directory}")
    build.main(["--sign", "/owner"])
    build.main(["--check", "--sign", "/owner"])
    build.main([])
    owner = "keys of /owner"
    assert built == [f"build for {owner}", f"sign with {owner}", f"check with {owner}", "build"]


def test_release_of_a_lock_is_made_with_the_tools_of_its_build(
    built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def rebuilt(directory: Path, owner: object) -> Iterator[Caches]:
        tools.mkdir(parents=True)
        yield cold
        tools.rmdir()

    def write(*given: object) -> Path:
        assert given[2] == tools and tools.is_dir()
        return tmp_path / "release.tar"

    cold = Caches(tmp_path / "locked")
    tools = cold.stages / "image/mkosi.tools"
    monkeypatch.setenv(build.version.RELEASE, "")
    monkeypatch.setattr(build.version, "dated", lambda root: "0.1.0")
    monkeypatch.setattr(keys, "load", lambda directory: "keys")
    monkeypatch.setattr("host.locked.rebuild.without_network", lambda arguments: None)
    monkeypatch.setattr("host.locked.rebuild.rebuilt", rebuilt)
    monkeypatch.setattr(build.release, "write", write)
    build.main(["--locked", "lock", "--release", "owner", str(tmp_path / "new")])
    assert not tools.exists()


def test_image_of_a_tag_has_the_version_of_its_release(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.version.RELEASE, "")
    monkeypatch.setattr(build.version, "tagged", lambda root, tag: f"{tag}.20261124.1456"[1:])
    build.main(["--check", "--tag", "v0.1.0"])
    assert (build.version.current(REPO), built) == ("0.1.0.20261124.1456", ["check with None"])


@pytest.mark.parametrize("other", ["--client", "--cves"])
def test_only_the_image_is_that_of_a_tag(built: list[str], other: str) -> None:
    with pytest.raises(SystemExit) as ended:
        build.main([other, "--tag", "v0.1.0"])
    assert (ended.value.code, built) == (2, [])


def test_keys_that_are_missing_are_known_before_the_build(built: list[str], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no PK\.key"):
        build.main(["--sign", str(tmp_path)])
    assert built == []


@pytest.mark.parametrize("other", ["--client", "--cves", "--lock=new"])
def test_only_the_image_is_signed(built: list[str], tmp_path: Path, other: str) -> None:
    with pytest.raises(SystemExit) as ended:
        build.main([other, "--sign", str(tmp_path)])
    assert (ended.value.code, built) == (2, [])


def test_image_with_rebuilt_modules_is_another_image(tmp_path: Path) -> None:
    deb = tmp_path / "cache/x.deb"
    deb.parent.mkdir()
    deb.write_text("one")
    stock, own = (build.appliance(Caches(tmp_path), tmp_path, modules) for modules in (None, deb))
    key = build.up_to_date(own)[1]
    assert key != build.up_to_date(stock)[1]
    deb.write_text("two")
    assert key != build.up_to_date(own)[1]
    options = ["--volatile-package=millrace-modules", f"--volatile-package-directory={deb.parent}"]
    assert build.options(own, Caches(tmp_path), tmp_path) == [
        *build.options(stock, Caches(tmp_path), tmp_path),
        *options,
    ]


def test_modules_of_debian_are_asked_for(built: list[str]) -> None:
    build.main(["--stock-modules"])
    assert built == ["build with Debian modules"]


def test_modules_are_signed_where_there_is_an_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.apt, "archive_uri", lambda: "uri")
    monkeypatch.setattr(build, "prepare", lambda cache, uri: tmp_path / "a.deb")
    monkeypatch.setattr(build.signing, "signed", lambda deb, owner, place, epoch: place / owner / deb.name)
    cache = Caches(tmp_path)
    assert build.rebuilt_modules(cache, stock=True) is None
    assert build.rebuilt_modules(cache, stock=False) == tmp_path / "a.deb"
    assert build.rebuilt_modules(cache, False, "owner") == tmp_path / "modules/owner/a.deb"  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["--client", "--cves", "--locked=old"])
def test_modules_are_not_chosen_where_they_are_given(built: list[str], other: str) -> None:
    with pytest.raises(SystemExit) as ended:
        build.main([other, "--stock-modules"])
    assert (ended.value.code, built) == (2, [])
