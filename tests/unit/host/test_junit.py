# SPDX-License-Identifier: Apache-2.0
"""The count of a report, and which of its tests are run again: those whose server had no timer, and no others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from host import test as whole
from host.junit import Count, cases, counted, dearest, without_timer
from vm.machine import NO_TIMER

REPORT = """<?xml version="1.0"?><testsuites>
<testsuite name="a" tests="10" failures="2" errors="1" skipped="3"/></testsuites>"""

STORIES = f"""
import pytest
LOST = "the guest hangs. {NO_TIMER} box"

@pytest.fixture
def server(): raise OSError(LOST)

@pytest.fixture
def broken(): yield; raise OSError("it cannot be stopped")

@pytest.mark.parametrize("way", ["nfs[tcp]", "smb"])
def test_lost(way): raise OSError(LOST)
def test_never_begun(server): pass
def test_lost_and_broken(broken): raise OSError(LOST)
def test_wrong(): assert 1 == 2
def test_right(): pass
"""


def reported(directory: Path) -> Path:
    """Run the stories with pytest, in a directory as deep as theirs; return the report."""
    stories = directory / "tests/vm/shares/test_stories.py"
    stories.parent.mkdir(parents=True)
    stories.write_text(STORIES)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--junit-xml=report.xml"]
    environment = os.environ | {"PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([*argv, "tests"], cwd=directory, env=environment, capture_output=True, check=False)
    return directory / "report.xml"


def test_errors_are_failures_and_skips_are_not_passes(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert counted(report) == Count(passed=4, failed=3, skipped=3)


def test_parts_add_up_to_a_plain_line() -> None:
    assert str(Count(4, 3, 3) + Count(1)) == "5 passed, 3 failed, 3 skipped"
    assert str(Count(7)) == "7 passed, 0 failed"


def test_dearest_files_are_named_with_their_seconds(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [("tests.vm.one", "a", 3), ("tests.vm.two", "b", 4), ("tests.vm.one", "c[x::y]", 2)]
    lines = "".join(f'<testcase classname="{file}" name="{name}" time="{time}"/>' for file, name, time in cases)
    report.write_text(f"<testsuites><testsuite>{lines}</testsuite></testsuites>")
    assert dearest(report, 1) == [("tests/vm/one.py", 5.0)]
    assert dearest(report, 3) == [("tests/vm/one.py", 5.0), ("tests/vm/two.py", 4.0)]


def test_result_of_each_test_is_its_worst(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ended = {"a": "", "b": "<failure>no</failure>", "c": "<error>no</error>", "d": "<skipped/>", "e[x]": ""}
    # a test that passed, and whose end failed
    elements = [*ended.items(), ("e[x]", "<error>no</error>")]
    lines = "".join(f'<testcase classname="tests.vm.one" name="{n}" time="2">{text}</testcase>' for n, text in elements)
    report.write_text(f"<testsuites><testsuite>{lines}</testsuite></testsuites>")
    results = ["passed", "failed", "failed", "skipped", "failed"]
    seconds = [2.0, 2.0, 2.0, 2.0, 4.0]
    expected = zip(ended, results, seconds, strict=True)
    assert cases(report) == {f"tests/vm/one.py::{name}": (result, time) for name, result, time in expected}


def test_only_tests_whose_server_had_no_timer_are_run_again(tmp_path: Path) -> None:
    report = reported(tmp_path)
    again = without_timer(report)
    where = "tests/vm/shares/test_stories.py::"
    assert again == {f"{where}test_lost[nfs[tcp]]", f"{where}test_lost[smb]", f"{where}test_never_begun"}
    everything = counted(report)
    assert everything.failed == 6
    left = counted(report, again)
    assert (left.failed, left.passed) == (3, everything.passed)


@pytest.mark.parametrize(("second", "failed"), [("passes", 3), ("fails", 6)])
def test_second_run_counts_in_place_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], second: str, failed: int
) -> None:
    first = reported(tmp_path).read_bytes()
    selections: list[list[str]] = []
    begin = subprocess.Popen

    def start(argv: list[str], **more: object) -> "subprocess.Popen[bytes]":
        (report,) = [Path(one.partition("=")[2]) for one in argv if one.startswith("--junit-xml=")]
        selections.append(argv[argv.index(f"--junit-xml={report}") + 1 :])
        failures = 3 if second == "fails" else 0
        again = f'<testsuites><testsuite tests="3" failures="{failures}"/></testsuites>'.encode()
        report.write_bytes(again if len(selections) == 2 else first)
        return begin(["sh", "-c", f"exit {1 if failures or len(selections) == 1 else 0}"])

    monkeypatch.setattr("host.test.subprocess.Popen", start)
    reports: list[str] = []
    step = whole.Step("vm", ("tests/vm/shares", "-m", "not soak"))
    total = whole.tested(step, seen=lambda report: reports.append(report.read_text()))
    assert [report.encode() == first for report in reports] == [True, False]
    assert (total.failed, total.passed) == (failed, counted(tmp_path / "report.xml").passed + 6 - failed)
    assert selections == [["tests/vm/shares", "-m", "not soak"], sorted(without_timer(tmp_path / "report.xml"))]
    assert f"3 tests are run again: {NO_TIMER} their server" in capfd.readouterr().out


@pytest.mark.parametrize("status", [2, 3])
def test_nothing_is_run_again_where_pytest_did_not_get_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    first = reported(tmp_path).read_bytes()
    begun: list[str] = []
    begin = subprocess.Popen

    def start(argv: list[str], **more: object) -> "subprocess.Popen[bytes]":
        (report,) = [one.partition("=")[2] for one in argv if one.startswith("--junit-xml=")]
        begun.append(report)
        Path(report).write_bytes(first)
        return begin(["sh", "-c", f"exit {status}"])

    monkeypatch.setattr("host.test.subprocess.Popen", start)
    assert whole.tested(whole.Step("vm", ("tests/vm/shares",))) == counted(tmp_path / "report.xml")
    assert len(begun) == 1
