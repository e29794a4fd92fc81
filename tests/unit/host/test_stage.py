# SPDX-License-Identifier: Apache-2.0
"""What goes into an image does not depend on who checked the tree out, and a change is always noticed."""

import os
from pathlib import Path

import pytest

from host import apt, stage


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for path in ("mkosi.extra/usr/lib", "units", "tools/millrace/cli/__pycache__", "mkosi.output", "tests"):
        (root / path).mkdir(parents=True)
    (root / "mkosi.conf").write_text("[Output]\n")
    (root / "mkosi.finalize").write_text("#!/bin/sh\n")
    (root / "mkosi.finalize").chmod(0o755)
    (root / "mkosi.extra/usr/lib/data").write_text("data\n")
    (root / "mkosi.extra/usr/lib/link").symlink_to("data")
    (root / "units/millrace-plan.service").write_text("[Unit]\n")
    (root / "tools/millrace/cli/program.py").write_text("pass\n")
    (root / "tools/millrace/cli/__pycache__/program.pyc").write_bytes(b"x")
    (root / "mkosi.output/old.raw").write_bytes(b"x")
    (root / "tests/test_x.py").write_text("pass\n")
    return root


def staged(repo: Path, target: Path) -> dict[str, tuple[int, int]]:
    stage.stage(repo, stage.image_inputs(repo), target, {})
    found = {}
    for path in sorted(target.rglob("*")):
        status = path.lstat()
        found[str(path.relative_to(target))] = (status.st_mode, status.st_mtime_ns)
    return found


def key(repo: Path, *salt: str) -> str:
    return stage.key(repo, stage.image_inputs(repo), *salt)


def test_only_what_the_image_is_made_of_is_staged(repo: Path, tmp_path: Path) -> None:
    files = {path for path in staged(repo, tmp_path / "stage") if not (tmp_path / "stage" / path).is_dir()}
    assert files == {
        "mkosi.conf",
        "mkosi.extra/usr/lib/data",
        "mkosi.extra/usr/lib/link",
        "mkosi.finalize",
        "tools/millrace/cli/program.py",
        "units/millrace-plan.service",
    }


def test_umask_and_checkout_time_do_not_matter(repo: Path, tmp_path: Path) -> None:
    wide = staged(repo, tmp_path / "wide")
    for path in [repo, *repo.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
            os.utime(path, (2_000_000_000, 2_000_000_000))
    old = os.umask(0o077)
    try:
        narrow = staged(repo, tmp_path / "narrow")
    finally:
        os.umask(old)
    # These themselves only hold the program, which mkosi copies from below, and what pages and manual are made from.
    above = {"tools", "tools/host", "cockpit-plugin"}
    assert {k: v for k, v in wide.items() if k not in above} == {k: v for k, v in narrow.items() if k not in above}


def test_modes_are_plain_and_links_stay_links(repo: Path, tmp_path: Path) -> None:
    found = staged(repo, tmp_path / "stage")
    assert found["mkosi.finalize"][0] & 0o7777 == 0o755
    assert found["mkosi.conf"][0] & 0o7777 == 0o644
    assert os.readlink(tmp_path / "stage/mkosi.extra/usr/lib/link") == "data"


def test_a_new_stage_forgets_the_old_one_but_keeps_the_tools_tree(repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "stage"
    staged(repo, target)
    (target / "mkosi.tools").mkdir()
    (repo / "units/millrace-plan.service").unlink()
    assert "units/millrace-plan.service" not in staged(repo, target)
    assert (target / "mkosi.tools").is_dir()


def test_the_package_source_is_in_the_stage_and_not_in_the_tree(repo: Path, tmp_path: Path) -> None:
    stage.stage(repo, stage.image_inputs(repo), tmp_path / "stage", apt.files("http://mirror.example/debian/"))
    assert "mirror.example" in (tmp_path / "stage" / apt.SOURCES).read_text()
    assert not (repo / "mkosi.sandbox").exists()


def test_the_key_is_the_same_for_the_same_tree_elsewhere(repo: Path, tmp_path: Path) -> None:
    before = key(repo)
    moved = repo.rename(tmp_path / "moved")
    (moved / "tests/test_y.py").write_text("pass\n")
    assert key(moved) == before


@pytest.mark.parametrize("change", ["content", "mode", "name", "link", "new", "salt"])
def test_every_kind_of_change_changes_the_key(repo: Path, change: str) -> None:
    before = key(repo, "27.1")
    salt = "27.1"
    match change:
        case "content":
            (repo / "units/millrace-plan.service").write_text("[Unit]\n#\n")
        case "mode":
            (repo / "mkosi.conf").chmod(0o755)
        case "name":
            (repo / "mkosi.extra/usr/lib/data").rename(repo / "mkosi.extra/usr/lib/date")
        case "link":
            (repo / "mkosi.extra/usr/lib/link").unlink()
            (repo / "mkosi.extra/usr/lib/link").symlink_to("date")
        case "new":
            (repo / "mkosi.extra/usr/lib/empty").mkdir()
        case _:
            salt = "27.2"
    assert key(repo, salt) != before


def test_the_system_is_the_image_without_our_own_program_and_pages(repo: Path) -> None:
    system, image = stage.system_inputs(repo), stage.image_inputs(repo)
    assert set(image) - set(system) == {Path("tools/millrace"), Path("tools/millrace_client")} | {
        *stage.page_inputs(),
        *stage.manual_inputs(),
    }
    assert set(system) < set(image)
    assert Path("units") in system
