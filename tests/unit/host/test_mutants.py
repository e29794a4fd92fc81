# SPDX-License-Identifier: Apache-2.0
"""`tools/test mutants`: what mutmut is asked, and what counts as found."""

import configparser
from pathlib import Path

import pytest

from host import mutants

RESULTS = """
    millrace.plan.legs.x_a__mutmut_1: survived
    millrace.plan.legs.x_a__mutmut_2: timeout
    millrace.plan.legs.x_a__mutmut_3: no tests
    millrace.plan.legs.x_a__mutmut_5: not checked
"""


def test_what_no_test_found_or_ran_survives_and_the_rest_was_found() -> None:
    sample = [f"millrace.plan.legs.x_a__mutmut_{number}" for number in range(1, 5)]
    assert mutants.survivors(RESULTS, sample) == {sample[0]: "survived", sample[2]: "no tests"}


def test_a_row_of_the_table_and_its_survivors() -> None:
    row, *rest = mutants.report(
        "2026-11-22 | c72531c", "plan", 7, 5900, ["a", "b", "c"], {"b": "survived"}
    ).splitlines()
    assert row == "| 2026-11-22 | c72531c | plan | 7 | 5900 | 3 | 2 | 66 % |"
    assert rest == ["- `b`: survived"]


def test_one_room_is_mutated_and_its_own_tests_run(tmp_path: Path) -> None:
    for name in ("src", "tests", "README.md"):
        (tmp_path / name).mkdir()
    mutants.configure(tmp_path, "plan")
    read = configparser.ConfigParser()
    read.read(tmp_path / "setup.cfg")
    assert read["mutmut"]["only_mutate"].split() == ["src/millrace/plan/*.py", "src/millrace/plan/policy/*.py"]
    assert read["mutmut"]["pytest_add_cli_args_test_selection"].split() == ["tests/unit/plan"]
    assert read["mutmut"]["also_copy"].split() == ["README.md", "tests"]
    assert (tmp_path / "mutants/tools").readlink() == Path("src")


def test_parts_are_tested_by_the_tests_of_their_rooms(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    mutants.configure(tmp_path, "etc")
    read = configparser.ConfigParser()
    read.read(tmp_path / "setup.cfg")
    assert read["mutmut"]["only_mutate"].split() == [
        "src/millrace/serve/render/*.py",
        "src/millrace/lifecycle/etc/*.py",
    ]
    tests = read["mutmut"]["pytest_add_cli_args_test_selection"].split()
    assert tests == ["tests/unit/serve/render", "tests/unit/lifecycle/etc"]


def test_what_prints_the_results_of_the_benchmark_is_not_mutated(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    mutants.configure(tmp_path, "bench")
    read = configparser.ConfigParser()
    read.read(tmp_path / "setup.cfg")
    assert read["mutmut"]["only_mutate"].split() == [
        "src/millrace/measure/bench/plan/*.py",
        "src/millrace/measure/bench/run/*.py",
        "src/millrace/measure/bench/result/*.py",
    ]


@pytest.mark.parametrize("arguments", [["nowhere"], ["plan", "--sample", "0"], []])
def test_a_wrong_command_line_is_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        mutants.main(arguments)
    assert ended.value.code == 2
    assert "tools/test mutants" in capsys.readouterr().err
