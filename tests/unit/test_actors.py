# SPDX-License-Identifier: Apache-2.0
"""Each promise of the manual to an actor names tests, and each of them exists."""

import ast
import re

import pytest

from host.layout import REPO

MANUAL = REPO / "docs/security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
# the actors that a review asks for, as the first column begins
ACTORS = ["Client", "Tenant", "Console user", "Operator", "Network peer", "Thief of a pool", "Thief of the", "Supplier"]


def rows() -> list[list[str]]:
    section = MANUAL.read_text().partition("## Who can do what\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def named() -> list[tuple[str, str]]:
    return [match for row in rows() for match in NAMED.findall(row[-1])]


@pytest.mark.parametrize("actor", ACTORS)
def test_actor_has_a_row_with_a_test(actor: str) -> None:
    cells = [row for row in rows() if row[0].startswith(actor)]
    assert cells and all(len(row) == 4 and NAMED.search(row[-1]) for row in cells)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_row_names_a_test(row: list[str]) -> None:
    assert len(row) == 4 and all(row) and NAMED.search(row[-1])


@pytest.mark.parametrize(("file", "test"), named())
def test_test_that_the_manual_names_exists(file: str, test: str) -> None:
    tree = ast.parse((REPO / file).read_text())
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
