# SPDX-License-Identifier: Apache-2.0
"""Every test asserts something whatever the program returns: an assert below `for` or `if` alone may never run."""

import ast
from collections.abc import Iterator, Mapping

import pytest

from host.layout import REPO

Function = ast.FunctionDef | ast.AsyncFunctionDef

# `expect` is playwright's: it fails by itself
EXPECTING = {"pytest.raises", "expect"}


def never_empty(loop: ast.expr) -> bool:
    """Whether a loop over this runs at least once: written out, a range, or a constant, whose name is in capitals."""
    match loop:
        case ast.Tuple() | ast.List() | ast.Set():
            return any(not isinstance(element, ast.Starred) or never_empty(element.value) for element in loop.elts)
        case ast.Dict():
            return any(key is not None for key in loop.keys)
        case ast.Constant(value=str() | bytes() as text):
            return bool(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.Call(func=ast.Attribute(value=over, attr="items" | "values" | "keys"), args=[]):
            return never_empty(over)
        case ast.Call(func=ast.Name(id="enumerate" | "sorted" | "reversed"), args=[over, *_]):
            return never_empty(over)
        case ast.Call(func=ast.Name(id="zip" | "product"), args=args):
            return all(never_empty(over) for over in args)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
            return count > 0
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(low)), ast.Constant(value=int(high))]):
            return high > low
    return False


class Module:
    """A file of the tests: its functions, and the tests' modules and functions that it imports, by their local name."""

    def __init__(self, name: str, source: str) -> None:
        tree = ast.parse(source)
        self.functions = [one for one in ast.walk(tree) if isinstance(one, Function)]
        self.known = {one.name: f"{name}.{one.name}" for one in self.functions}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                self.known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}

    def target(self, call: ast.Call) -> str:
        """The full name of a function that is called, as far as it is one of the tests; else its name as written."""
        match call.func:
            case ast.Name(id=name):
                return self.known.get(name, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self.known.get(name, name)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return f"{self.known.get(module, module)}.{name}"
        return ""

    def asserts(self, body: list[ast.stmt], helpers: set[str]) -> bool:
        """Whether one of the statements certainly asserts, itself or through a helper."""
        return any(self._asserts(one, helpers) for one in body)

    def _asserts(self, statement: ast.stmt, helpers: set[str]) -> bool:
        match statement:
            case ast.Assert():
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case ast.For(iter=over, body=body):
                return self._calls(over, helpers) or (never_empty(over) and self.asserts(body, helpers))
            case ast.If(test=test, body=body, orelse=orelse):
                both = self.asserts(body, helpers) and self.asserts(orelse, helpers)
                return both or self._calls(test, helpers)
            case ast.While(test=test):
                return self._calls(test, helpers)
            case ast.With(items=items, body=body):
                expected = any(self._calls(item.context_expr, helpers) for item in items)
                return expected or self.asserts(body, helpers)
            case ast.Try(body=body, finalbody=final):
                return self.asserts(body, helpers) or self.asserts(final, helpers)
            case ast.Match(cases=cases):
                return all(self.asserts(branch.body, helpers) for branch in cases)
        return self._calls(statement, helpers)

    def _calls(self, node: ast.AST, helpers: set[str]) -> bool:
        return any(self.target(one) in helpers for one in ast.walk(node) if isinstance(one, ast.Call))


def asserting(modules: Mapping[str, Module]) -> set[str]:
    """The full names of the functions that certainly assert, and of pytest's and playwright's."""
    found = set(EXPECTING)
    every = [(f"{name}.{one.name}", one.body, module) for name, module in modules.items() for one in module.functions]
    while new := {full for full, body, module in every if full not in found and module.asserts(body, found)}:
        found |= new
    return found


def silent(sources: Mapping[str, str]) -> Iterator[str]:
    """The full names of the tests that may end without having asserted anything; sources by the name of the module."""
    modules = {name: Module(name, text) for name, text in sources.items()}
    found = asserting(modules)
    for name, module in modules.items():
        tests = (one.name for one in module.functions if one.name.startswith("test_"))
        yield from (full for full in (f"{name}.{one}" for one in tests) if full not in found)


def sources() -> dict[str, str]:
    """All Python files of the tests by the name under which they are imported."""
    files = (REPO / "tests").rglob("*.py")
    return {".".join(path.relative_to(REPO).with_suffix("").parts): path.read_text() for path in files}


def test_every_test_asserts_something() -> None:
    found = sources()
    assert len(found) > 200
    assert list(silent(found)) == []


@pytest.mark.parametrize(
    ("body", "asserts"),
    [
        ("assert x", True),
        ("for x in found():\n  assert x", False),
        ("for x in (1, 2):\n  assert x", True),
        ("for x in (*found(),):\n  assert x", False),
        ("for x, y in enumerate(SIZES):\n  assert x", True),
        ("for x in SIZES.items():\n  assert x", True),
        ("for x in range(0):\n  assert x", False),
        ("if x:\n  assert x", False),
        ("if x:\n  assert x\nelse:\n  assert y", True),
        ("while x:\n  assert x", False),
        ("with pytest.raises(OSError):\n  open(x)", True),
        ("with open(x) as y:\n  y.read()", False),
        ("try:\n  x()\nexcept OSError:\n  assert x", False),
        ("def inner():\n  assert x", False),
        ("helper(x)", True),
        ("other(x)", False),
        ("x.helper()", False),
    ],
)
def test_a_body_asserts_or_is_found(body: str, asserts: bool) -> None:
    indented = "".join(f"  {line}\n" for line in body.splitlines())
    helper = "def helper(x):\n  assert x\ndef other(x):\n  return x\n"
    assert list(silent({"m": f"{helper}def test_it():\n{indented}"})) == ([] if asserts else ["m.test_it"])
