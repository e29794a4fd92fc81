# SPDX-License-Identifier: Apache-2.0
"""The rooms of tools/millrace/ import downwards only.

Every import counts, also one inside a function or for the types alone, and a module that a string names.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from millrace import cli

REPO = Path(__file__).parents[2]
PACKAGE = REPO / "tools/millrace"

# From the top down. A room imports rooms of the lines below its own; rooms of one line may import each other one way.
ORDER = [
    ["answer", "schema"],  # all verbs: as requests of the pages, as JSON Schema
    # look at everything, write nothing of the server's
    ["alert", "health", "tuner", "bench", "client", "metrics", "support", "topology", "watch"],
    ["reset"],  # the boot drive as on its first day
    ["update", "install"],  # another version of the system; this one on another boot drive
    [
        "pool",
        "adopt",  # a pool that another boot drive created
        "drive",  # what each drive is; what it said of itself and what is kept of it
        "keep",  # the state of this server, kept on its pool
        "config",
        "admin",
        "encryption",  # the keys of the root file system
    ],  # verbs over what several rooms below keep
    ["rescue"],  # the way back for a pool without its log
    ["share", "user", "domain", "port", "certificate", "journal", "volume", "backend"],  # what people decide
    ["membership"],  # what a member of a domain has: `domain` joins with it, `share` serves with it
    ["etc"],  # the files that we render
    ["state"],  # the desired state and its history
    ["tune"],  # runtime settings
    ["provision"],  # the only writer of block devices
    ["plan"],  # what to build and why
    ["inventory"],  # what is in this server
    ["system"],  # the floor
]
LINE = {room: number for number, rooms in enumerate(ORDER) for room in rooms}

# Verbs whose name is not that of their room.
VERBS_OF = {
    "provision": {"approve", "provision", "assemble"},
    "share": {"share", "session"},
    "user": {"user", "group"},
    "health": {"health", "status"},
}

# It names the verbs, to be loaded when one is asked for; `answer` and `schema` are among these.
TABLES = {"millrace.cli"}

_NAMED = re.compile(r"(millrace(?:\.[a-z_0-9]+)+)(?::\w+)?")


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


def room(module: str) -> str | None:
    """The room of a module; None for one at the top of the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 or (len(parts) == 2 and parts[1] in LINE) else None


def arrows(package: Path) -> dict[tuple[str, str], list[str]]:
    """Room -> room, with the imports that draw the arrow."""
    known = modules(package)
    found: dict[tuple[str, str], list[str]] = {}
    for module, path in known.items():
        for target in imported(ast.parse(path.read_text()), known):
            one, other = room(module), room(target)
            if one and other and one != other:
                found.setdefault((one, other), []).append(f"{module} -> {target}")
    return found


@cache
def ours() -> dict[tuple[str, str], list[str]]:
    return arrows(PACKAGE)


def upwards(found: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """The imports that go up."""
    return [each for (one, other), imports in found.items() if LINE[one] > LINE[other] for each in imports]


def circle(found: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """The rooms, or modules, of a cycle; none where there is none."""
    below: dict[str, set[str]] = {}
    for one, other in found:
        below.setdefault(one, set()).add(other)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_room_has_its_line() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == set(LINE)
    assert len(ours()) > 90


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


def test_the_floor_imports_no_room() -> None:
    assert [imports for (one, _), imports in ours().items() if one == "system"] == []


def test_what_every_room_imports_imports_no_room() -> None:
    known = modules(PACKAGE)
    assert {name for name in known if room(name) is None} == {
        *("millrace", "millrace.__main__", "millrace.cli", "millrace.errors", "millrace.paths")
    }
    for name in ("millrace", "millrace.errors", "millrace.paths"):
        assert list(imported(ast.parse(known[name].read_text()), known)) == []


def test_verbs_live_in_the_room_of_their_noun() -> None:
    found: dict[str, set[str]] = {}
    for verb, (module, _) in cli.VERBS.items():
        found.setdefault(module.split(".")[1], set()).add(verb)
    assert found == {name: VERBS_OF.get(name, {name}) for name in found}


def test_the_architecture_page_names_every_room() -> None:
    text = (REPO / "docs/architecture.md").read_text()
    assert [name for name in LINE if f"`{name}/`" not in text] == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("from millrace.share import nfs", True),
        ("from millrace.share.nfs import EXPORTS", True),
        ("import millrace.share.nfs", True),
        ("def late():\n    from millrace.share import nfs", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace.share.nfs import EXPORTS", True),
        ("VERBS = {'share': 'millrace.share.nfs:EXPORTS'}", True),
        ("from millrace.plan import model", False),
        ("'see millrace.share.nfs for more'", False),
    ],
)
def test_an_import_that_goes_up_is_found(tmp_path: Path, source: str, seen: bool) -> None:
    package = tmp_path / "millrace"
    for name in ("share", "plan", "system"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "share/nfs.py").write_text("from millrace.plan import model\n")
    (package / "plan/model.py").touch()
    (package / "system/text.py").write_text(source)
    found = arrows(package)
    up = "millrace.system.text -> millrace.share.nfs"
    assert (up in upwards(found)) is seen
    found = found | {("plan", "share"): ["back"]}
    assert set(circle(found)) >= {"plan", "share"}
