# SPDX-License-Identifier: Apache-2.0
"""A class has its name alone in the package, and a variable of a long function has the noun of what it holds."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.layout import REPO

PACKAGE = REPO / "tools" / "millrace"
WRITTEN_BY_US = ("tools", "tests")
# In a function of a few lines the loop says what they are.
SHORT_LINES = 10
NO_NOUN = {"one", "found"}


def modules(*folders: Path) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield str(path.relative_to(REPO)), ast.parse(path.read_text())


def bound(function: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable of a function, but not those of functions and classes within it."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
            yield node.lineno, node.name
        yield from bound(node)


def without_noun(tree: ast.Module) -> list[tuple[int, str]]:
    return [
        (line, name)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and (function.end_lineno or 0) - function.lineno >= SHORT_LINES
        for line, name in bound(function)
        if name in NO_NOUN
    ]


def test_class_has_its_name_alone_in_the_package() -> None:
    places = defaultdict(list)
    for path, tree in modules(PACKAGE):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    twice = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert len(places) > 500
    assert not twice


def test_variables_of_long_functions_have_a_noun() -> None:
    bad = [
        f"{path}:{line}: {name}"
        for path, tree in modules(*(REPO / folder for folder in WRITTEN_BY_US))
        for line, name in without_noun(tree)
    ]
    assert not bad


@pytest.mark.parametrize(
    "binding",
    [
        "one = 1",
        "found = one = 2",
        "for one in (): pass",
        "[one for one in ()]",
        "sorted((), key=lambda one: one)",
        "if one := 1: pass",
        "with open('') as one: pass",
    ],
)
def test_each_way_to_bind_a_variable_is_seen(binding: str) -> None:
    long = "def f():\n" + "    pass\n" * 9 + f"    {binding}\n"
    short = f"def f():\n    {binding}\n"
    assert without_noun(ast.parse(long))
    assert not without_noun(ast.parse(short))
