# SPDX-License-Identifier: Apache-2.0
"""Names of the stories of soak are those that pytest collects."""

from pathlib import Path

import pytest

from host.layout import REPO
from host.stories import Module, exists, modules

FILES = {
    "tests/soak/test_long.py": "def test_all() -> None: ...\ndef helper() -> None: ...",
    "tests/vm/test_file.py": "pytestmark = [pytest.mark.usefixtures('x'), pytest.mark.soak]\ndef test_a() -> None: ...",
    "tests/vm/test_some.py": "@pytest.mark.soak\ndef test_long() -> None: ...\ndef test_short() -> None: ...",
    "tests/vm/test_none.py": "pytestmark = pytest.mark.usefixtures('soak')\ndef test_short() -> None: ...",
    "tests/vm/test_star.py": "from tests.vm.told import *\npytestmark = pytest.mark.soak",
    "tests/vm/told.py": "def test_told() -> None: ...\nfrom tests.vm.deeper import test_deep, other",
    "tests/vm/deeper.py": "def test_deep() -> None: ...\ndef test_not_taken() -> None: ...",
    "tests/perf/test_ways.py": (
        "WAYS = [pytest.param(1, marks=[pytest.mark.soak])]\nOTHERS = [1]\n"
        "@pytest.mark.parametrize('way', WAYS)\ndef test_way(way: int) -> None: ...\n"
        "@pytest.mark.parametrize('other', OTHERS)\ndef test_other(other: int) -> None: ..."
    ),
    "tests/kernel/test_given.py": (
        "@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.soak)])\ndef test_given(n: int) -> None: ..."
    ),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_stories_have_the_mark_with_their_file_by_themselves_or_in_a_parameter(repo: Path) -> None:
    assert modules(repo) == [
        Module("tests/soak/test_long.py", ("test_all",)),
        Module("tests/vm/test_file.py", ("test_a",)),
        Module("tests/vm/test_some.py", ("test_long",)),
        Module("tests/vm/test_star.py", ("test_told", "test_deep")),
        Module("tests/kernel/test_given.py", ("test_given",)),
        Module("tests/perf/test_ways.py", ("test_way",)),
    ]


def test_selection_runs_stories_of_soak_and_those_that_they_go_on_from() -> None:
    assert Module("tests/soak/test_long.py", ()).selection == ("tests/soak/test_long.py",)
    assert Module("tests/vm/test_some.py", ()).selection == ("tests/vm/test_some.py",)
    assert Module("tests/perf/test_some.py", ()).selection == ("tests/perf/test_some.py", "-m", "soak")


def test_story_file_or_directory_of_the_tree_exists(repo: Path) -> None:
    for node in (
        "tests/vm/test_some.py::test_short",
        "tests/vm/test_star.py::test_deep",
        "tests/vm/told.py",
        "tests/vm",
    ):
        assert exists(node, repo)
    for node in ("tests/vm/test_some.py::test_gone", "tests/vm/test_star.py::test_not_taken", "tests/vm/test_gone.py"):
        assert not exists(node, repo)


def test_every_file_of_soak_has_stories() -> None:
    found = {module.path for module in modules()}
    marked = [path for path in (REPO / "tests").glob("*/**/test_*.py") if "mark.soak" in path.read_text()]
    booted = {str(path.relative_to(REPO)) for path in marked if not path.is_relative_to(REPO / "tests/unit")}
    assert len(booted) > 40 and booted <= found
