# SPDX-License-Identifier: Apache-2.0
"""`tools/test soak --due`: what has not passed for longest is run, as much as fits, and each story gets a row."""

import os
import subprocess
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from host import soak, soak_rows
from host import test as whole
from host.junit import Count, cases
from host.layout import REPO
from host.soak import BOOT_MINUTES, SHORT, STORY_MINUTES, due, expected, fitting, minutes_of, told
from host.soak_rows import FAILED, PASSED, SKIPPED, Row, line
from host.stories import Module
from millrace.system.errors import Refused

OLD, NEW, RED, NEVER = (
    Module(f"tests/vm/test_{name}.py", ("test_a", "test_b")) for name in ("old", "new", "red", "never")
)
KNOWN = [NEW, NEVER, OLD, RED]
ROWS = [
    Row(RED.path, "2026-01-01", "c1", FAILED, 7.0),
    Row(OLD.nodes[0], "2026-01-02", "c2", PASSED, 20.0),
    Row(NEW.path, "2026-01-03", "c3", PASSED, 12.0),
    Row(OLD.nodes[1], "2026-01-04", "c4", PASSED, 4.0),
]
REPORT = """<testsuites><testsuite>
<testcase classname="tests.vm.test_old" name="test_a[tcp]" time="90"/>
<testcase classname="tests.vm.test_old" name="test_a[rdma]" time="30"><failure>no</failure></testcase>
<testcase classname="tests.vm.test_old" name="test_b" time="6"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with rows and the four files of stories."""
    rows = tmp_path / "soak.jsonl"
    rows.write_text("".join(f"{line(row)}\n" for row in ROWS))
    monkeypatch.setattr(soak_rows.read, "__defaults__", (rows,))
    monkeypatch.setattr(soak_rows.append, "__defaults__", (rows,))
    monkeypatch.setattr(soak_rows, "PAGE", tmp_path / "soak.md")
    for module in (soak, soak_rows):
        monkeypatch.setattr(module, "modules", lambda: KNOWN)
    monkeypatch.setattr(soak, "revision", lambda: ("c0ffee00", ""))
    for name in SHORT:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are run: each takes 10 minutes, and passes unless it is RED's."""
    files: list[str] = []
    now = [1000.0]

    def tested(step: whole.Step, *, seen: Callable[[Path], object]) -> Count:
        files.append(step.selection[0])
        now[0] += 600
        red = step.selection[0] == RED.path
        return Count(failed=1) if red else Count(passed=2)

    @contextmanager
    def building(parts: list[str]) -> Iterator[dict[str, Future[None]]]:
        assert parts == ["soak"]
        image = Future[None]()
        now[0] += 3600
        image.set_result(None)
        yield {"soak": image}

    monkeypatch.setattr(whole, "tested", tested)
    monkeypatch.setattr(whole, "building", building)
    monkeypatch.setattr(soak, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return files


@pytest.mark.parametrize(("text", "minutes"), [("40m", 40), ("2h", 120), ("1h30m", 90)])
def test_time_is_hours_and_minutes(text: str, minutes: float) -> None:
    assert minutes_of(text) == minutes


@pytest.mark.parametrize("text", ["", "0m", "40", "-5m", "40s", "m"])
def test_other_time_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a time such as 40m"):
        minutes_of(text)


def test_never_run_comes_first_then_never_passed_then_the_oldest_success() -> None:
    assert [one.module for one in due(ROWS, KNOWN)] == [NEVER, RED, OLD, NEW]
    assert [one.oldest for one in due(ROWS, KNOWN)] == ["", "", "2026-01-02", "2026-01-03"]


def test_a_story_that_was_added_makes_its_file_due() -> None:
    told_by_themselves = [Row(node, "2026-01-05", "c5", PASSED) for node in NEW.nodes[:1]]
    assert due([*ROWS[3:], *told_by_themselves], [Module(OLD.path, OLD.names[1:]), NEW])[0].module == NEW


def test_minutes_are_those_of_the_newest_rows_or_a_guess() -> None:
    assert expected(ROWS, OLD) == 24
    assert expected(ROWS, NEW) == 12
    assert expected([*ROWS, Row(OLD.nodes[0], "2026-01-05", "c5", FAILED, 1.5)], OLD) == 5.5
    assert expected([*ROWS, Row(OLD.nodes[0], "2026-01-05", "c5", FAILED)], OLD) == 24
    assert expected(ROWS[:2], OLD) == 20 + STORY_MINUTES
    assert expected(ROWS, NEVER) == BOOT_MINUTES + 2 * STORY_MINUTES


def test_what_does_not_fit_makes_room_for_what_does() -> None:
    waiting = due(ROWS, KNOWN)
    assert [one.minutes for one in waiting] == [16, 7, 24, 12]
    assert [one.module for one in fitting(waiting, 40)] == [NEVER, RED, NEW]
    assert [one.module for one in fitting(waiting, 15)] == [RED]
    assert list(fitting(waiting, 6)) == []


def test_parametrized_story_is_one_row_and_fails_with_any_of_its_tests(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    rows = told(OLD, cases(tmp_path / "report.xml"), "2026-02-01", "c6", "dirty")
    assert rows == [
        Row(OLD.nodes[0], "2026-02-01", "c6", FAILED, 2.0, "1 of 2; dirty"),
        Row(OLD.nodes[1], "2026-02-01", "c6", SKIPPED, 0.1, "dirty"),
    ]


def test_story_that_was_not_run_gets_no_row() -> None:
    assert told(OLD, {OLD.nodes[1]: (PASSED, 60.0)}, "2026-02-01", "c6", "") == [
        Row(OLD.nodes[1], "2026-02-01", "c6", PASSED, 1.0)
    ]


def test_time_left_after_a_quick_file_is_used_and_the_build_takes_none_of_it(tree: Path, ran: list[str]) -> None:
    # 16 + 7 minutes are expected of the first two, and 24 of OLD; each takes 10 indeed
    assert [one.module for one in fitting(due(ROWS, KNOWN), 45)] == [NEVER, RED, NEW]
    assert soak.main(["soak", "--due", "45m"]) == 1
    assert ran == [NEVER.path, RED.path, OLD.path, NEW.path]
    assert {name: os.environ[name] for name in SHORT} == SHORT


def test_run_without_a_failure_succeeds(tree: Path, ran: list[str]) -> None:
    assert soak.main(["soak", "--due=16m"]) == 0
    assert ran == [NEVER.path]


def test_rows_and_page_are_written_after_each_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tested(step: whole.Step, *, seen: Callable[[Path], object]) -> Count:
        assert step.selection == OLD.selection
        (tree / "report.xml").write_text(REPORT)
        (tree / "again.xml").write_text(REPORT.replace("<failure>no</failure>", ""))
        seen(tree / "report.xml")
        seen(tree / "again.xml")
        return Count(passed=2, skipped=1)

    monkeypatch.setattr(whole, "tested", tested)
    assert soak.run(due(ROWS, [OLD])[0]) == Count(passed=2, skipped=1)
    assert [row.result for row in soak_rows.read()[4:]] == [PASSED, SKIPPED]
    assert soak_rows.read()[4].note == "2 of 2"
    assert f"c0ffee00 | `vm/{Path(OLD.path).name} test_a` | passed | 2.0 |" in soak_rows.PAGE.read_text()


def test_list_runs_nothing(tree: Path, ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["soak", "--due", "23m", "--list"]) == 0
    assert ran == []
    assert capsys.readouterr().out.splitlines() == [
        f"    16 min  never passed  {NEVER.path}",
        f"     7 min  never passed  {RED.path}",
        "Longer than 23 minutes, and not run by this:",
        f"    24 min  2026-01-02    {OLD.path}",
    ]


@pytest.mark.parametrize("more", [[], ["--list"]])
def test_time_that_is_too_short_is_refused(tree: Path, ran: list[str], more: list[str]) -> None:
    with pytest.raises(
        Refused, match=r"No file of stories fits into 5 minutes: the shortest, \S+test_red\.py, takes about 7\."
    ):
        soak.main(["soak", "--due", "5m", *more])
    assert ran == []


def test_tools_test_hands_over_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def main(arguments: list[str]) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr(soak, "main", main)
    assert whole.main(["soak", "--due=40m"]) == 0
    assert seen == [["soak", "--due=40m"]]


@pytest.mark.parametrize("arguments", [["vm", "--due", "40m"], ["--due", "40m"], ["soak", "--due", "soon"]])
def test_wrong_usage_ends_with_status_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        whole.main(arguments)
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err


def test_commit_is_that_of_the_tree_and_changes_of_the_manual_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    monkeypatch.setattr(soak, "REPO", tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("docs/soak.jsonl", "program.py"):
        (tmp_path / name).write_text("one\n")
    git("init", "--quiet")
    git("add", "-A")
    git("commit", "--quiet", "-m", "a commit")
    (tmp_path / "docs/soak.jsonl").write_text("two\n")
    commit, note = soak.revision()
    assert len(commit) == 8 and int(commit, 16) >= 0 and note == ""
    (tmp_path / "program.py").write_text("two\n")
    assert soak.revision() == (commit, soak.DIRTY)


def test_tree_of_another_user_has_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.append(argv[:3])
        return subprocess.CompletedProcess(argv, 0, "0123abcd\n", "")

    monkeypatch.setattr(subprocess, "run", run)
    soak.revision()
    assert seen == [["git", "-c", f"safe.directory={REPO}"]] * 2


def test_variables_that_shorten_stories_are_those_that_stories_read() -> None:
    read = "".join(path.read_text() for part in ("vm", "soak") for path in (REPO / "tests" / part).rglob("*.py"))
    assert all(f'environ.get("{name}"' in read or f"environ.get('{name}'" in read for name in SHORT)
