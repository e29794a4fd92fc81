# SPDX-License-Identifier: Apache-2.0
"""The stories of soak as the tree has them: names of test functions, read without running pytest.

A parametrized story is one; a module of stories may take them from another one with `from … import *`.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from host.layout import REPO

MARK = "soak"
WHOLE = Path("tests/soak")
"""Every test in it is a story of soak; elsewhere those with the mark are."""
SERVERS = Path("tests/vm")
"""A story there goes on with the server that the one before it left, with the mark or without."""
MARKED = (SERVERS, Path("tests/kernel"), Path("tests/perf"))


@dataclass(frozen=True)
class Module:
    """A file of stories: its path from the root of the repository, and the names of its functions."""

    path: str
    names: tuple[str, ...]

    @property
    def nodes(self) -> list[str]:
        """The node ids of its stories (pytest(1)), without parameters."""
        return [f"{self.path}::{name}" for name in self.names]

    @property
    def selection(self) -> tuple[str, ...]:
        """The arguments with which pytest runs its stories of soak, and the stories that these need."""
        whole = any(Path(self.path).is_relative_to(directory) for directory in (WHOLE, SERVERS))
        return (self.path,) if whole else (self.path, "-m", MARK)


def modules(repo: Path = REPO) -> list[Module]:
    """Return all files that have stories of soak."""
    found = []
    for directory in (WHOLE, *MARKED):
        for path in sorted((repo / directory).rglob("test_*.py")):
            tree = ast.parse(path.read_text())
            chosen = _tests(repo, tree) if directory == WHOLE else _marked(repo, tree)
            if names := tuple(chosen):
                found.append(Module(str(path.relative_to(repo)), names))
    return found


def exists(node: str, repo: Path = REPO) -> bool:
    """Whether the tree has the test, the file of tests or the directory of tests that a node id names."""
    path, _, name = node.partition("::")
    if not (repo / path).exists():
        return False
    return not name or name in _tests(repo, ast.parse((repo / path).read_text()))


def _tests(repo: Path, tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the test functions of a module, those that it imports among them."""
    tests: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            tests[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests."):
            names = {alias.name for alias in node.names}
            if "*" in names or any(name.startswith("test_") for name in names):
                theirs = _tests(repo, ast.parse(_file(repo, node.module).read_text()))
                tests |= {name: test for name, test in theirs.items() if "*" in names or name in names}
    return tests


def _file(repo: Path, module: str) -> Path:
    path = repo / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _marked(repo: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the test functions that have the mark: with their file, in a decorator, or in a parameter of some."""
    tests = _tests(repo, tree)
    assigned = dict(_assigned(tree))
    if "pytestmark" in assigned and _has_mark([assigned["pytestmark"]]):
        yield from tests
        return
    variables = {name for name, value in assigned.items() if _has_mark([value])}
    for name, test in tests.items():
        if _has_mark(test.decorator_list) or _names(test.decorator_list) & variables:
            yield name


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _has_mark(expressions: Iterable[ast.expr]) -> bool:
    """Whether `pytest.mark.soak` is in one of the expressions."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == MARK
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "mark"
        for expression in expressions
        for node in ast.walk(expression)
    )


def _names(expressions: Iterable[ast.expr]) -> set[str]:
    return {node.id for expression in expressions for node in ast.walk(expression) if isinstance(node, ast.Name)}
