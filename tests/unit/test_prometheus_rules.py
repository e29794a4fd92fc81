# SPDX-License-Identifier: Apache-2.0
"""The alert rules that docs/examples offers, read and tried by Prometheus' own promtool."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from host import layout, promtool

RULES = "prometheus-rules.yml"
CASES = Path(__file__).parent / "observe/metrics/rules-cases.yml"


@pytest.fixture(scope="module")
def program() -> str:
    return needed(promtool.command(layout.caches()))


def needed(found: str | None) -> str:
    """The program; where there is none, the rules are not tried, which is a failure where CI is set."""
    if found is None:
        why = "promtool is not installed and cannot be fetched: apt install prometheus"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


@pytest.mark.parametrize(("where", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_promtool_is_a_failure_where_ci_is_set(
    monkeypatch: pytest.MonkeyPatch, where: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", where)
    with pytest.raises(outcome, match="apt install prometheus"):
        needed(None)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Rules and cases side by side, as promtool wants them."""
    shutil.copy(layout.REPO / "docs/examples" / RULES, tmp_path)
    shutil.copy(CASES, tmp_path)
    return tmp_path


def run(program: str, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], cwd=directory, capture_output=True, text=True, check=False)


def test_prometheus_accepts_the_rules(program: str, directory: Path) -> None:
    done = run(program, directory, "check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_say_what_is_wrong_and_nothing_else(program: str, directory: Path) -> None:
    done = run(program, directory, "test", "rules", CASES.name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_cases_notice_a_rule_that_changed(program: str, directory: Path) -> None:
    """promtool is seen to fail: a threshold that is moved is found."""
    rules = directory / RULES
    text = rules.read_text()
    rules.write_text(text.replace("survivable_failures == 0\n", "survivable_failures == 5\n"))
    assert run(program, directory, "test", "rules", CASES.name).returncode != 0
