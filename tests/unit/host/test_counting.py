# SPDX-License-Identifier: Apache-2.0
"""`tools/test` ends with a count that leaves nothing out."""

from pathlib import Path

from host.test import Count, counted

REPORT = """<?xml version="1.0"?><testsuites>
<testsuite name="a" tests="10" failures="2" errors="1" skipped="3"/></testsuites>"""


def test_errors_are_failures_and_skips_are_not_passes(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert counted(report) == Count(passed=4, failed=3, skipped=3)


def test_parts_add_up_to_a_plain_line() -> None:
    assert str(Count(4, 3, 3) + Count(1)) == "5 passed, 3 failed, 3 skipped"
    assert str(Count(7)) == "7 passed, 0 failed"
