# SPDX-License-Identifier: Apache-2.0
"""The rooms of bench import each other downwards only, functions included."""

import ast
from pathlib import Path

from millrace import bench

HOME = Path(bench.__file__).parent
ROOMS = ("result", "plan", "report", "run")
"""Each may import those before it: a run is planned, and ends with a report."""


def imported(source: Path) -> set[str]:
    """The rooms of bench that a file imports."""
    prefix = "millrace.bench"
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[2] for name in names if name.startswith(f"{prefix}.")}


def test_every_file_of_bench_is_in_a_room() -> None:
    assert {path.name for path in HOME.glob("*.py")} == {"__init__.py", "verbs.py"}
    assert {path.parent.name for path in HOME.glob("*/__init__.py")} == set(ROOMS)


def test_no_room_imports_one_above_it() -> None:
    wrong = []
    seen = set()
    for source in HOME.glob("*/**/*.py"):
        room = source.relative_to(HOME).parts[0]
        found = imported(source)
        seen |= found
        wrong += [f"{source.relative_to(HOME)} imports {other}" for other in found - {*ROOMS[: ROOMS.index(room) + 1]}]
    assert wrong == []
    # it has looked at imports
    assert seen == set(ROOMS)
