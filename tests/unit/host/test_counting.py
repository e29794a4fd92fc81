# SPDX-License-Identifier: Apache-2.0
"""`tools/test` ends with a count that leaves nothing out."""

from pathlib import Path

from host.test import MEMORY_OF_TWO, PROCESSORS_OF_TWO, Count, counted, selections

REPORT = """<?xml version="1.0"?><testsuites>
<testsuite name="a" tests="10" failures="2" errors="1" skipped="3"/></testsuites>"""


def test_errors_are_failures_and_skips_are_not_passes(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert counted(report) == Count(passed=4, failed=3, skipped=3)


def test_parts_add_up_to_a_plain_line() -> None:
    assert str(Count(4, 3, 3) + Count(1)) == "5 passed, 3 failed, 3 skipped"
    assert str(Count(7)) == "7 passed, 0 failed"


def test_two_virtual_servers_at_once_need_a_larger_host_and_leave_no_story_out() -> None:
    shares, rest = selections("vm", MEMORY_OF_TWO, PROCESSORS_OF_TWO)
    assert (shares, rest) == (["tests/vm/shares"], ["tests/vm", "--ignore=tests/vm/shares"])
    assert selections("vm", MEMORY_OF_TWO - 1, PROCESSORS_OF_TWO) == [["tests/vm"]]
    assert selections("vm", MEMORY_OF_TWO, PROCESSORS_OF_TWO - 1) == [["tests/vm"]]
    assert selections("unit", MEMORY_OF_TWO, PROCESSORS_OF_TWO) == [["tests/unit"]]
