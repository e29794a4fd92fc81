# SPDX-License-Identifier: Apache-2.0
"""The wings of tools/millrace/ import downwards only, and no rooms in them import each other.

Every import counts, also one inside a function or for the types alone, and a module that a string names.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from millrace.cli import program
from tests.unit.wings import LINE, PACKAGE, PAGE, part, table

# Verbs whose name is not that of their room.
VERBS_OF = {
    "lifecycle/access": {"access", "admin"},
    "cli/worker": {"answer"},
    "lifecycle/keep": {"keep"},
    "observe/health": {"health", "status"},
    "observe/jobs": {"job"},
    "observe/live": {"watch"},
    "serve/account": {"user", "group"},
    "serve/join": {"domain"},
    "serve/log_forward": {"journal"},
    "serve/network": {"network"},
    "serve/revision": {"config"},
    "serve/share": {"share", "session"},
    "storage/provision": {"approve", "provision"},
    "storage/fabrics": {"backend"},
}

# It names the verbs, to be loaded when one is asked for; `cli/worker` and `cli/schema` are among these.
TABLES = {"millrace.cli.program"}

_NAMED = re.compile(r"(millrace(?:\.[a-z_0-9]+)+)(?::\w+)?")

Arrows = Mapping[tuple[str, str], list[str]]


def modules(package: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = path
    return found


def imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """What a module imports or names, as modules of the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _NAMED.fullmatch(node.value)
            if match and match[1] in known:
                yield match[1]


def wing(room: str) -> str:
    """The wing of a room."""
    return room.partition("/")[0]


def room(module: str, known: Mapping[str, Path]) -> str | None:
    """The room of a module, as a path: a directory of its wing, else the wing itself; None for one in no wing."""
    parts = module.split(".")[1:]
    if not parts or parts[0] not in LINE:
        return None
    package = ".".join(("millrace", *parts[:2]))
    in_room = len(parts) > 2 or (len(parts) == 2 and known[package].name == "__init__.py")
    return "/".join(parts[:2]) if in_room else parts[0]


def arrows(package: Path) -> dict[tuple[str, str], list[str]]:
    """Room -> room, with the imports that draw the arrow; the tables of verbs draw none within their wing."""
    known = modules(package)
    imports: dict[tuple[str, str], list[str]] = {}
    for module, path in known.items():
        origin = room(module, known)
        for target in imported(ast.parse(path.read_text()), known):
            other = room(target, known)
            if origin and other and origin != other and not (module in TABLES and wing(origin) == wing(other)):
                imports.setdefault((origin, other), []).append(f"{module} -> {target}")
    return imports


@cache
def ours() -> dict[tuple[str, str], list[str]]:
    return arrows(PACKAGE)


def upwards(found: Arrows) -> list[str]:
    """The imports that do not go down: to a wing above, or to another one of the same line."""
    return [
        each
        for (one, other), imports in found.items()
        if wing(one) != wing(other) and LINE[wing(one)] >= LINE[wing(other)]
        for each in imports
    ]


def circle(found: Arrows) -> list[str]:
    """The rooms, or modules, of a cycle; none where there is none."""
    below: dict[str, set[str]] = {}
    for one, other in found:
        below.setdefault(one, set()).add(other)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_wing_has_its_line() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LINE)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert len(ours()) > 200


def test_imports_go_down() -> None:
    assert upwards(ours()) == []


def test_no_rooms_import_each_other() -> None:
    assert circle(ours()) == []


def test_no_modules_import_each_other() -> None:
    known = modules(PACKAGE)
    found: dict[tuple[str, str], list[str]] = {}
    for module, path in known.items():
        for target in imported(ast.parse(path.read_text()), known):
            if module != target and module not in TABLES:
                found[module, target] = []
    assert len(found) > 500 and circle(found) == []


def test_the_floor_imports_no_wing() -> None:
    assert [imports for (one, other), imports in ours().items() if wing(one) == "system" != wing(other)] == []


def test_what_every_module_imports_imports_none() -> None:
    known = modules(PACKAGE)
    for name in ("millrace", "millrace.system.errors", "millrace.system.paths"):
        assert list(imported(ast.parse(known[name].read_text()), known)) == []


def test_no_two_modules_of_storage_have_one_name() -> None:
    names = Counter(path.stem for path in PACKAGE.glob("storage/**/*.py") if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_verbs_live_in_the_room_of_their_noun() -> None:
    known = modules(PACKAGE)
    found: dict[str, set[str]] = {}
    for verb, (module, _) in program.VERBS.items():
        found.setdefault(str(room(module, known)), set()).add(verb)
    assert found == {name: VERBS_OF.get(name, {name.rpartition("/")[2]}) for name in found}


def test_verbs_below_others_are_in_the_table_by_their_own_names() -> None:
    for words in program.BELOW:
        above, name = words.split()
        assert program.command(above).commands[name].name == name  # type: ignore[attr-defined]
    assert len(program.BELOW) > 20


def test_the_architecture_page_has_the_table_of_the_wings() -> None:
    assert part(PAGE.read_text()) == table(), "run tools/docs --write"


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("from millrace.serve.share import nfs", True),
        ("from millrace.serve.share.nfs import EXPORTS", True),
        ("import millrace.serve.share.nfs", True),
        ("def late():\n    from millrace.serve.share import nfs", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace.serve.share.nfs import EXPORTS", True),
        ("VERBS = {'share': 'millrace.serve.share.nfs:EXPORTS'}", True),
        ("from millrace.plan import model", False),
        ("'see millrace.serve.share.nfs for more'", False),
    ],
)
@pytest.mark.parametrize("where", ["system/text.py", "tune/text.py"])
def test_an_import_that_goes_up_is_found(tmp_path: Path, source: str, seen: bool, where: str) -> None:
    package = tmp_path / "millrace"
    for name in ("serve", "serve/share", "plan", "tune", "system"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "serve/share/nfs.py").write_text("from millrace.plan import model\n")
    (package / "plan/model.py").touch()
    (package / where).write_text(source)
    graph = arrows(package)
    up = f"millrace.{where.removesuffix('.py').replace('/', '.')} -> millrace.serve.share.nfs"
    assert (up in upwards(graph)) is seen
    assert set(circle(graph | {("plan", "serve/share"): ["back"]})) >= {"plan", "serve/share"}


def test_an_import_of_another_wing_of_the_same_line_is_found() -> None:
    found = {("measure/bench", "lifecycle/update"): ["aside"], ("storage/scrub", "storage/array"): ["inside"]}
    assert upwards(found) == ["aside"]
