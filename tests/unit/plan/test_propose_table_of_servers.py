# SPDX-License-Identifier: Apache-2.0
"""The manual's table of eight servers is what the planner decides."""

from tests.unit.plan.table_of_servers import PAGE, SERVERS, rows, table


def test_the_page_has_the_table_that_the_planner_makes() -> None:
    assert rows(PAGE.read_text()) == table(SERVERS).splitlines()
