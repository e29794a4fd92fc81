# SPDX-License-Identifier: Apache-2.0
"""`tools/test` ends with a count that leaves nothing out."""

from pathlib import Path

import pytest

from host.test import MEMORY_OF_TWO, PARTS, Count, Step, counted, lanes, run_beside

REPORT = """<?xml version="1.0"?><testsuites>
<testsuite name="a" tests="10" failures="2" errors="1" skipped="3"/></testsuites>"""


def test_errors_are_failures_and_skips_are_not_passes(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert counted(report) == Count(passed=4, failed=3, skipped=3)


def test_parts_add_up_to_a_plain_line() -> None:
    assert str(Count(4, 3, 3) + Count(1)) == "5 passed, 3 failed, 3 skipped"
    assert str(Count(7)) == "7 passed, 0 failed"


def test_what_is_run_beside_needs_a_larger_host_and_no_test_is_left_out() -> None:
    alone = [Step(part, (f"tests/{part}",)) for part in PARTS]
    assert lanes(PARTS, MEMORY_OF_TWO - 1, 2) == (alone, [])
    assert lanes(PARTS, MEMORY_OF_TWO, 1) == (alone, [])
    main, beside = lanes(PARTS, MEMORY_OF_TWO, 2)
    assert [step.part for step in main] == ["unit", "pages", "image", "browser", "vm"]
    assert main[-1].selection == ("tests/vm", "--ignore=tests/vm/shares")
    assert beside == [Step("vm", ("tests/vm/shares",)), Step("perf", ("tests/perf",))]


def test_a_part_that_is_named_alone_is_run_alone() -> None:
    assert lanes(["perf"], MEMORY_OF_TWO, 2) == ([Step("perf", ("tests/perf",))], [])
    assert lanes(["unit"], MEMORY_OF_TWO, 2) == ([Step("unit", ("tests/unit",))], [])


def test_what_fails_beside_is_counted(capfd: pytest.CaptureFixture[str]) -> None:
    with run_beside([Step("unit", ("tests/nowhere",)), Step("unit", ("tests/nowhere-either",))]) as counts:
        pass
    assert list(counts) == [Count(failed=1), Count(failed=1)]
    assert "nowhere-either" in capfd.readouterr().out


def test_after_an_interrupt_nothing_more_is_begun_beside() -> None:
    with pytest.raises(KeyboardInterrupt), run_beside([Step("unit", ("tests/nowhere",))] * 50) as counts:
        raise KeyboardInterrupt
    assert len(counts) < 50
