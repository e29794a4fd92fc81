# SPDX-License-Identifier: Apache-2.0
"""A public function that raises one of our exceptions names it in its docstring; a class does so for its `__init__`.

Raised in its own body, or in a private function of the same module that it calls. A command is exempt: its docstring is
its help text, and every error of a command is one sentence on stderr and exit status 1 or 2. Ruff (D1) checks that
docstrings exist.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from host.layout import REPO

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Decorators that make a function a command.
COMMANDS = {"command", "group", "json_verb"}
OWN = {"self", "cls"}


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of tools/ by their path."""
    return {str(path.relative_to(REPO)): ast.parse(path.read_text()) for path in sorted(REPO.glob("tools/**/*.py"))}


@cache
def exceptions() -> Mapping[str, frozenset[str]]:
    """The exceptions that tools/ defines, each with what an `except` may call it."""
    classes = [node for tree in sources().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names = {"Exception": frozenset({"Exception", "BaseException"})}
    while more := {
        node.name: frozenset({node.name}).union(*(names.get(name_of(base), ()) for base in node.bases))
        for node in classes
        if node.name not in names and any(name_of(base) in names for base in node.bases)
    }:
        names |= more
    del names["Exception"]
    return names


def name_of(node: ast.expr | None) -> str:
    """The last part of a dotted name; empty for another expression."""
    return getattr(node, "attr", getattr(node, "id", ""))


def caught(node: ast.AST) -> frozenset[str]:
    """What the handlers of a `try` name."""
    kinds = [one.type for one in getattr(node, "handlers", [])]
    named = [part for kind in kinds for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
    return frozenset(name_of(part) if part else "BaseException" for part in named)


class Module:
    """The functions of a module, each with the class that it is in."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = list(self._functions(tree.body, None))
        self._by_name = {(inside and inside.name, function.name): function for function, inside in self.functions}

    def _functions(
        self, body: list[ast.stmt], inside: ast.ClassDef | None
    ) -> Iterator[tuple[Function, ast.ClassDef | None]]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from self._functions(node.body, node)
            elif isinstance(node, Function):
                yield node, inside

    def raised(self, function: Function, inside: ast.ClassDef | None, hops: int = 1) -> Iterator[str]:
        """The exceptions of tools/ that come out of a function: from its body, and from private ones that it calls."""
        for node in function.body:
            yield from self._raised(node, inside, frozenset(), hops)

    def _raised(self, node: ast.AST, inside: ast.ClassDef | None, stopped: frozenset[str], hops: int) -> Iterator[str]:
        here: list[str] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            # A private function that returns an exception has its class as annotation.
            helper = self._helper(node.exc.func, inside)
            here = [name_of(helper.returns if helper else node.exc.func)]
        elif isinstance(node, ast.Call) and hops and (helper := self._helper(node.func, inside)):
            here = list(self.raised(helper, inside, hops - 1))
        yield from (name for name in here if name in exceptions() and not exceptions()[name] & stopped)
        for child in ast.iter_child_nodes(node):
            within = isinstance(node, ast.Try) and child in node.body
            yield from self._raised(child, inside, stopped | caught(node) if within else stopped, hops)

    def _helper(self, called: ast.expr, inside: ast.ClassDef | None) -> Function | None:
        """The private function of the same module, or method of the same class, that is called; None for another."""
        if not name_of(called).startswith("_"):
            return None
        if isinstance(called, ast.Attribute):
            return self._by_name.get((inside.name, called.attr)) if inside and name_of(called.value) in OWN else None
        return self._by_name.get((None, name_of(called)))


def silent(path: str, tree: ast.Module) -> Iterator[str]:
    """The public functions whose docstring does not name what they raise."""
    module = Module(tree)
    for function, inside in module.functions:
        made = function.name == "__init__"
        public = made or not function.name.startswith("_")
        decorators = {
            name_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
            for decorator in function.decorator_list
        }
        if not public or (inside and inside.name.startswith("_")) or decorators & COMMANDS:
            continue
        words = (ast.get_docstring(function) or "") + ((inside and made and ast.get_docstring(inside)) or "")
        for name in sorted(set(module.raised(function, inside))):
            if not re.search(rf"\b{name}\b", words):
                yield f"{path}:{function.lineno} {function.name}: {name}"


@pytest.mark.parametrize("path", sources())
def test_public_functions_name_what_they_raise(path: str) -> None:
    assert list(silent(path, sources()[path])) == []


def test_the_exceptions_of_every_part_are_known() -> None:
    assert {"Refused", "Failed", "BadInput", "InapplicablePolicy", "Wrong"} <= set(exceptions())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('def f():\n    """Do it."""\n    raise Failed("x")', ["m:1 f: Failed"]),
        ('def f():\n    """Do it. Failed: x."""\n    raise Failed("x")', []),
        ('def f():\n    """Do it. Failed: x."""\n    raise errors.Refused("x")', ["m:1 f: Refused"]),
        ('def f():\n    """Do it."""\n    _g()\ndef _g():\n    raise Failed("x")', ["m:1 f: Failed"]),
        ('def f():\n    """Do it."""\n    g()\ndef g():\n    """Do. Failed: x."""\n    raise Failed("x")', []),
        ('def f():\n    """Do it."""\n    raise _g()\ndef _g() -> Failed:\n    return Failed("x")', ["m:1 f: Failed"]),
        ('def f():\n    """Do it."""\n    def g():\n        raise Failed("x")\n    use(g)', ["m:1 f: Failed"]),
        ('def f():\n    """Do it."""\n    try:\n        _g()\n    except MillraceError:\n        pass\n'
         'def _g():\n    raise Failed("x")', []),
        ('def f():\n    """Do it."""\n    try:\n        g()\n    except Failed:\n        raise Failed("x")',
         ["m:1 f: Failed"]),
        ('class A:\n    """One."""\n    def f(self):\n        """Do it."""\n        self._g()\n'
         '    def _g(self):\n        raise Failed("x")', ["m:3 f: Failed"]),
        ('class A:\n    """One. BadInput: x."""\n    def __init__(self):\n        raise BadInput("x")', []),
        ('class A:\n    """One."""\n    def __init__(self):\n        raise BadInput("x")', ["m:3 __init__: BadInput"]),
        ('@group.command()\ndef f():\n    """Help."""\n    raise Failed("x")', []),
        ('def _f():\n    raise Failed("x")', []),
        ('def f():\n    """Do it."""\n    raise ValueError("x")', []),
    ],
)  # fmt: skip
def test_an_exception_that_no_docstring_names_is_found(code: str, expected: list[str]) -> None:
    assert list(silent("m", ast.parse(code))) == expected
