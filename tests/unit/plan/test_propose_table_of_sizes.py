# SPDX-License-Identifier: Apache-2.0
"""The manual's tables of sizing are what the planner computes."""

import pytest

from millrace.plan.constants import GIGA
from tests.unit.plan.table_of_sizes import GEN4, GEN5, PAGE, TABLES, TARGETS, cores, limit, planned, rows, smallest


@pytest.mark.parametrize("heading", TABLES)
def test_page_has_the_table_that_the_planner_makes(heading: str) -> None:
    assert rows(PAGE.read_text(), heading) == TABLES[heading]().splitlines()


def test_number_of_drives_is_the_least_that_carries_the_rate() -> None:
    count = int(smallest(25, GEN4, "write"))
    assert limit(planned(count, GEN4).prediction, "drives", "write", "tcp") >= 25 * GIGA
    assert limit(planned(count - 1, GEN4).prediction, "drives", "write", "tcp") < 25 * GIGA
    assert smallest(1000, GEN4, "read") == "more than 24"


def test_faster_drives_are_fewer_and_smb_takes_more_cores() -> None:
    for target in TARGETS:
        assert int(smallest(target, GEN5, "write")) <= int(smallest(target, GEN4, "write"))
        assert cores(target, "read", "smb") > cores(target, "read", "tcp") > 0
