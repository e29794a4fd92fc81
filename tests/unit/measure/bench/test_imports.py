# SPDX-License-Identifier: Apache-2.0
"""The rooms of bench import each other downwards only, as those of the whole package do."""

import ast

from tests.unit.test_rooms import imported, modules
from tests.unit.wings import PACKAGE

ROOMS = ("result", "plan", "report", "run", "verbs")
"""Each may import those before it: a run is planned, and ends with a report."""


def room(module: str) -> str | None:
    """The room of a module of bench; None for other modules."""
    parts = module.split(".")
    return parts[3] if parts[1:3] == ["measure", "bench"] and len(parts) > 3 else None


def test_every_file_of_bench_is_in_a_room() -> None:
    assert {path.name for path in (PACKAGE / "measure/bench").glob("*.py")} == {"__init__.py", "verbs.py"}
    assert {path.parent.name for path in PACKAGE.glob("measure/bench/*/__init__.py")} == {*ROOMS} - {"verbs"}


def test_no_room_imports_one_above_it() -> None:
    known = modules(PACKAGE)
    imports = {
        (str(room(module)), str(room(target)))
        for module, path in known.items()
        if room(module)
        for target in imported(ast.parse(path.read_text()), known)
        if room(target)
    }
    assert imports >= {("plan", "result"), ("report", "result"), ("run", "plan"), ("run", "report"), ("verbs", "run")}
    assert [pair for pair in imports if ROOMS.index(pair[0]) < ROOMS.index(pair[1])] == []
