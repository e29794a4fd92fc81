# SPDX-License-Identifier: Apache-2.0
"""Releases of different commits have versions in the commits' order, and no clock has a say in it."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from host import artefacts, build, stage, version
from host.layout import Caches
from millrace.lifecycle.update.model import Version
from millrace.lifecycle.update.release import number
from millrace.system.errors import BadInput, Failed


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SOURCE_DATE_EPOCH", version.RELEASE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mkosi.version").write_text("0.1.0\n")
    return tree


def git(tree: Path, *words: str, date: str = "2026-11-24T14:56:34+0100") -> None:
    who = {"NAME": "a", "EMAIL": "a@b", "DATE": date}
    given = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}
    subprocess.run(["git", "-C", tree, *words], check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", **given})


@pytest.fixture
def clone(tree: Path) -> Path:
    git(tree, "init")
    git(tree, "add", ".")
    git(tree, "commit", "-m", "one")
    return tree


def test_release_has_the_time_of_its_commit_in_utc(clone: Path) -> None:
    assert version.dated(clone) == "0.1.0.20261124.1356"


def test_later_commit_gives_a_later_version_in_the_same_slot(clone: Path) -> None:
    first = version.dated(clone)
    git(clone, "commit", "--allow-empty", "-m", "two", date="2026-11-24T14:57:00+0100")
    second = version.dated(clone)
    assert number("0.1.0") < number(first) < number(second) < number("0.1.1")
    # "first" is the running one: systemd compares part by part, as numbers (strverscmp_improved())
    for one in (first, second):
        assert TypeAdapter(Version).validate_python(one) == one
        assert len(f"millrace_{one}") <= 36


def test_files_beside_the_clone_do_not_matter_and_changed_ones_do(clone: Path) -> None:
    (clone / "update-keys.pgp").write_text("a key of the owner")
    assert version.dated(clone) == "0.1.0.20261124.1356"
    (clone / "mkosi.version").write_text("0.2.0\n")
    with pytest.raises(BadInput, match="not committed; commit them"):
        version.dated(clone)


def test_source_date_epoch_counts_instead(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795046400")
    assert version.dated(clone) == "0.1.0.20261119.0000"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(BadInput, match="SOURCE_DATE_EPOCH=yesterday is no number"):
        version.dated(clone)


def test_tree_that_is_no_clone_has_its_own_version(tree: Path) -> None:
    assert version.dated(tree) == "0.1.0"


def test_clone_that_git_cannot_read_is_no_release(tree: Path) -> None:
    (tree / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(Failed, match="git cannot read"):
        version.dated(tree)


def test_only_a_release_is_built_for_its_commit(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [Path("mkosi.version")]
    appliance = replace(build.appliance(Caches(tmp_path)), root=tree, inputs=inputs, with_program=False)
    client = replace(appliance, slots=None)
    plain, other = build.up_to_date(appliance)[1], build.up_to_date(client)[1]
    assert (plain, artefacts.image_name(tree)) == (other, "millrace_0.1.0_x86-64")
    monkeypatch.setenv(version.RELEASE, "0.1.0.20261124.1356")
    assert artefacts.image_name(tree) == "millrace_0.1.0.20261124.1356_x86-64"
    assert build.up_to_date(appliance)[1] != plain
    assert build.up_to_date(client)[1] == other
    stage.stage(tree, inputs, tmp_path / "stage", build.release_files(appliance))
    assert (tmp_path / "stage/mkosi.version").read_text() == "0.1.0.20261124.1356\n"


def test_tag_is_that_of_the_version_which_news_describe(clone: Path) -> None:
    (clone / "NEWS.md").write_text("# News\n\n## 0.1.0 (not released)\n")
    with pytest.raises(BadInput, match=r"The tag v0\.2\.0 is not v0\.1\.0"):
        version.tagged(clone, "v0.2.0")
    with pytest.raises(BadInput, match="describe the version there without"):
        version.tagged(clone, "v0.1.0")
    (clone / "NEWS.md").write_text("# News\n\n## 0.1.0\n")
    assert version.tagged(clone, "v0.1.0") == version.dated(clone)
