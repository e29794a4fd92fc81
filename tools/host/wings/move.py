#!/usr/bin/env python3
"""Move all modules of tools/millrace into ten wings and rewrite every reference.

    python3 move.py TREE [--ruff RUFF]

TREE is a clean checkout. Tables beside this script: moves.tsv (modules), tests.tsv (helpers of tests), edits.py (what a
move alone does not do). A module or a helper that no table knows ends the run before anything is written.
"""

import argparse
import ast
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "tools/millrace"
UNIT = "tests/unit"
WINGS = ("cli", "observe", "measure", "lifecycle", "serve", "tune", "storage", "plan", "inventory", "system")
FLAT = ("tune", "plan", "inventory", "system")
# Two dotted parts that are modules; all others are credentials, files or words of the kernel command line.
SHORT = {"millrace.cli", "millrace.paths", "millrace.errors"}


class Stop(Exception):
    """What keeps the move from being made."""


def table(name: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        old, _, new = line.partition("\t")
        if old in found:
            raise Stop(f"{name}:{number}: {old} stands twice")
        found[old] = new.strip()
    return found


def module_names(package: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = path
    return found


def full(short: str) -> str:
    return f"millrace.{short}" if short else "millrace"


class Moves:
    """Old names to new ones: modules, packages, symbols that change their module, files of tests."""

    def __init__(
        self, root: Path, symbols: dict[tuple[str, str], tuple[str, str]], made: tuple[str, ...] = ()
    ) -> None:
        self.root = root
        self.symbols = symbols
        self.modules = {full(old): full(new) for old, new in table("moves.tsv").items()} | {"millrace": "millrace"}
        known = module_names(root / PACKAGE) | {full(one): Path(f"{one}.py") for one in made}
        is_package = {name for name, path in known.items() if path.name == "__init__.py"}
        packages = {name: self.modules.get(name) for name in is_package}
        unknown = sorted(name for name in known if name not in self.modules)
        gone = sorted(name for name in self.modules if name not in known)
        twice = defaultdict(list)
        for old in known:
            if old in self.modules and self.modules[old] != "millrace.-":
                twice[self.modules[old]].append(old)
        clash = [f"{' and '.join(olds)} both become {new}" for new, olds in twice.items() if len(olds) > 1]
        problems = [f"moves.tsv does not know {name}: enter where it belongs" for name in unknown]
        problems += [f"moves.tsv has {name}, which is not there: remove the line" for name in gone]
        if problems + clash:
            raise Stop("\n".join(problems + clash))
        self.known = known
        # packages that dissolve have "-"; their __init__ goes
        self.packages = {old: (None if new == "millrace.-" else new) for old, new in packages.items()}
        self.tests: dict[str, str] = {}
        self.test_dirs: dict[str, str | None] = {}

    def is_module(self, name: str) -> bool:
        return name in self.known or name in self.tests_modules

    tests_modules: dict[str, str] = {}
    # (old module, name under which it imports another module) -> that name now
    locals: dict[tuple[str, str], str] = {}

    def module(self, name: str) -> str:
        """The new name of a module of the package or of the tests; Stop: a package that dissolves."""
        if name in self.tests_modules:
            return self.tests_modules[name]
        new = self.modules.get(name)
        if new is None or new == "millrace.-":
            raise Stop(f"{name} has no new name")
        return new

    def symbol(self, module: str, name: str) -> tuple[str, str]:
        """Where a name of a module is now, by old names of modules."""
        return self.symbols.get((module, name), (module, name))


# ---------------------------------------------------------------------------------------------- tests


def plan_tests(moves: Moves) -> None:
    """Decide where each file of the unit tests goes."""
    root = moves.root / UNIT
    helpers = table("tests.tsv")
    rooms = {old.split(".")[1] for old in moves.known if old.count(".") >= 1}
    problems = []
    for path in sorted(root.rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        relative = str(path.relative_to(root))
        parts = relative.split("/")
        # the longest entry that is this file or a directory above it
        entry = next((at for n in range(len(parts), 0, -1) if (at := "/".join(parts[:n])) in helpers), None)
        if entry is not None:
            moves.tests[relative] = helpers[entry] + relative.removeprefix(entry)
            continue
        if len(parts) == 1:
            moves.tests[relative] = relative
            continue
        room = parts[0]
        if f"millrace.{room}" not in moves.known:
            moves.tests[relative] = relative
            continue
        if not path.name.startswith("test_") or path.suffix != ".py":
            problems.append(f"tests.tsv does not know {relative}: enter where it belongs")
            continue
        subject = path.stem.removeprefix("test_")
        below = ".".join(("millrace", *parts[:-1]))
        inside = [name for name in moves.known if name.startswith(f"{below}.")]
        fitting = [name for name in inside if f"{subject}_".startswith(f"{name.rpartition('.')[2]}_")]
        if not fitting:
            problems.append(f"{relative}: no module of its room has this name; enter it in tests.tsv")
            continue
        longest = max(len(name.rpartition(".")[2]) for name in fitting)
        fitting = [name for name in fitting if len(name.rpartition(".")[2]) == longest]
        targets = {moves.modules[name] for name in fitting if moves.modules[name] != "millrace.-"}
        # a package and a module of one name, or the same base in two packages: they must end up in one room
        places = {(room_of(new), new.rpartition(".")[2]) for new in targets}
        if len(places) != 1:
            problems.append(f"{relative}: it may test {', '.join(sorted(targets))}; enter it in tests.tsv")
            continue
        (new_room, base), old_base = places.pop(), fitting[0].rpartition(".")[2]
        # a directory below a room stays one (metrics/sources)
        deeper = "/".join(parts[1:-1])
        new = f"test_{base}{subject.removeprefix(old_base)}.py"
        moves.tests[relative] = "/".join(filter(None, (new_room, deeper, new)))
    targets = defaultdict(list)
    for old, new in moves.tests.items():
        targets[new].append(old)
    problems += [f"{' and '.join(olds)} both become {new}" for new, olds in targets.items() if len(olds) > 1]
    if problems:
        raise Stop("\n".join(problems))
    names = {}
    for old, new in moves.tests.items():
        if old.endswith(".py"):
            names["tests.unit." + old.removesuffix(".py").replace("/", ".")] = (
                "tests.unit." + new.removesuffix(".py").replace("/", ".")
            )
    moves.tests_modules = names
    places = defaultdict(set)
    for old, new in moves.tests.items():
        old_dir, new_dir = old.rpartition("/")[0], new.rpartition("/")[0]
        places[old_dir].add(new_dir)
    moves.test_dirs = {old: (next(iter(new)) if len(new) == 1 else None) for old, new in places.items()}


PACKAGES_NEW: set[str] = set()


def room_of(module: str) -> str:
    """The room of a new module, as a path: `storage/array`, or a wing without rooms."""
    parts = module.split(".")[1:]
    two = "/".join(parts[:2])
    return two if two in PACKAGES_NEW else parts[0] if parts[0] in WINGS else ""


# ------------------------------------------------------------------------------------------- python


class Offsets:
    """Positions of ast as offsets in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        """`column` in bytes, as ast counts."""
        content = self.lines[line - 1] if line <= len(self.lines) else ""
        return self.starts[line - 1] + len(content.encode()[:column].decode())

    def token(self, position: tuple[int, int]) -> int:
        """`column` in characters, as tokenize counts."""
        return self.starts[position[0] - 1] + position[1]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scopes(ast.NodeVisitor):
    """Which scope binds each name that is used: a chain of scopes for each Name, and what each scope binds."""

    def __init__(self, tree: ast.Module) -> None:
        self.bound: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        self.parents: dict[ast.AST, ast.AST | None] = {tree: None}
        self.uses: list[tuple[ast.Name, ast.AST]] = []
        self._scope: ast.AST = tree
        self.bound[tree] = {}
        self.generic_visit(tree)

    def _bind(self, name: str, node: ast.AST, scope: ast.AST | None = None) -> None:
        self.bound[scope or self._scope].setdefault(name, []).append(node)

    def _inside(self, scope: ast.AST, visit) -> None:
        before, self._scope = self._scope, scope
        self.parents[scope] = before
        self.bound.setdefault(scope, {})
        visit()
        self._scope = before

    def _function(self, node) -> None:
        arguments = node.args
        if not isinstance(node, ast.Lambda):
            self._bind(node.name, node)
            for one in node.decorator_list:
                self.visit(one)
            if node.returns:
                self.visit(node.returns)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one]
        for one in [*arguments.defaults, *filter(None, arguments.kw_defaults)]:
            self.visit(one)
        for one in every:
            if one.annotation:
                self.visit(one.annotation)

        def body() -> None:
            for one in every:
                self._bind(one.arg, one)
            for one in node.body if isinstance(node.body, list) else [node.body]:
                self.visit(one)

        self._inside(node, body)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name, node)
        for one in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(one)
        self._inside(node, lambda: [self.visit(one) for one in node.body])

    def _comprehension(self, node) -> None:
        self.visit(node.generators[0].iter)

        def inside() -> None:
            for number, one in enumerate(node.generators):
                if number:
                    self.visit(one.iter)
                self.visit(one.target)
                for test in one.ifs:
                    self.visit(test)
            for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
                self.visit(part)

        self._inside(node, inside)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.append((node, self._scope))
        else:
            self._bind(node.id, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self._scope
        while isinstance(scope, COMPREHENSIONS):
            scope = self.parents[scope]  # type: ignore[assignment]
        self._bind(node.target.id, node.target, scope)

    def _import(self, node) -> None:
        for alias in node.names:
            self._bind((alias.asname or alias.name).partition(".")[0], alias)

    visit_Import = visit_ImportFrom = _import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, node)
        self.generic_visit(node)

    def visit_Global(self, node) -> None:
        for name in node.names:
            self._bind(name, node)

    visit_Nonlocal = visit_Global

    def _match(self, node) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            self._bind(name, node)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _match

    def binding(self, name: str, scope: ast.AST) -> ast.AST | None:
        """The scope that binds a name as seen from a scope."""
        at: ast.AST | None = scope
        while at is not None:
            if name in self.bound[at] and (at is scope or not isinstance(at, ast.ClassDef)):
                return at
            at = self.parents[at]
        return None

    def every_name(self) -> set[str]:
        return {name for names in self.bound.values() for name in names} | {node.id for node, _ in self.uses}


class Report:
    """What a person should look at after the run."""

    aliased: list[str] = []
    left: list[str] = []


def source_modules(module: str, moves: Moves) -> bool:
    return module == "millrace" or module.startswith(("millrace.", "tests.unit"))


def written(module: str, name: str, local: str) -> tuple[str, str]:
    return module, name if name == local else f"{name} as {local}"


def rewrite_python(path: Path, text: str, moves: Moves, own: str | None, old_module: str = "") -> str:
    """The text with its imports, uses of imported modules, strings and comments by the new names."""
    tree = ast.parse(text)
    offsets = Offsets(text)
    scopes = Scopes(tree)
    names = scopes.every_name()
    annotations = string_annotations(tree)
    edits: list[tuple[int, int, str]] = []
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    new_locals: dict[ast.alias, str] = {}  # an import of a module -> what it is called now
    more_imports: dict[ast.alias, list[tuple[str, str]]] = defaultdict(list)
    renames: list[tuple[ast.Name, str]] = []
    gone_attributes: list[tuple[ast.Attribute, str]] = []
    attributes: list[tuple[ast.Attribute, str]] = []
    patched: list[tuple[ast.Constant, str]] = []

    def scope_of(node: ast.AST) -> ast.AST:
        at = parents[node]
        while at not in scopes.bound:
            at = parents[at]
        return at

    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    imports = [node for node in imports if source_modules(node.module, moves)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "millrace" for one in node.names):
            raise Stop(f"{path}:{node.lineno}: `import millrace.…` is not handled")
    # 1. modules that are imported as such: what they are called here
    wanted: dict[tuple[ast.AST, str], set[str]] = defaultdict(set)
    aliases: dict[tuple[ast.AST, str], list[ast.alias]] = defaultdict(list)
    for node in imports:
        for alias in node.names:
            target = f"{node.module}.{alias.name}"
            if not moves.is_module(target) or alias.asname:
                continue
            key = (scope_of(node), alias.name)
            wanted[key].add(moves.module(target))
            aliases[key].append(alias)
    for (scope, old), targets in wanted.items():
        if len(targets) > 1:
            raise Stop(f"{path}: {old} is two modules in one scope: {', '.join(targets)}")
        new = next(iter(targets)).rpartition(".")[2]
        if new == old:
            continue
        others = [node for node in scopes.bound[scope][old] if node not in aliases[scope, old]]
        uses = [node for node, at in scopes.uses if node.id == old and scopes.binding(old, at) is scope]
        taken = new in names or new in annotations
        if others or taken or old in annotations:
            Report.aliased.append(f"{path}: {new} as {old}")
            for alias in aliases[scope, old]:
                new_locals[alias] = old
            continue
        for alias in aliases[scope, old]:
            new_locals[alias] = new
        if scope is tree and old_module:
            moves.locals[old_module, old] = new
        renames += [(node, new) for node in uses]
    # two modules must not get one name in one file
    given = defaultdict(set)
    for (scope, old), targets in wanted.items():
        for alias in aliases[scope, old]:
            given[new_locals.get(alias, old)].update(targets)
    for local, targets in given.items():
        if len(targets) > 1:
            for (scope, old), one in wanted.items():
                for alias in aliases[scope, old]:
                    if new_locals.get(alias, old) == local and local != old:
                        new_locals[alias] = old
                        renames = [(node, new) for node, new in renames if not (new == local and node.id == old)]
                        moves.locals.pop((old_module, old), None)
                        Report.aliased.append(f"{path}: {local} as {old} (two modules)")
    # 2. names that left the module through which they are reached
    for node in imports:
        for alias in node.names:
            target = f"{node.module}.{alias.name}"
            if not moves.is_module(target) or target not in moves.known:
                continue
            local, scope = alias.asname or alias.name, scope_of(node)
            for use, at in scopes.uses:
                if use.id != local or scopes.binding(local, at) is not scope:
                    continue
                above = parents[use]
                if isinstance(above, ast.Call) and above.args[:1] == [use] and len(above.args) > 1:
                    second = above.args[1]
                    if getattr(above.func, "attr", "") in ("setattr", "delattr", "object") and isinstance(second, ast.Constant):
                        if (target, second.value) in moves.locals:
                            patched.append((second, moves.locals[target, second.value]))
                        elif (target, second.value) in moves.symbols:
                            Report.left.append(f"{path}:{use.lineno}: setattr({local}, {second.value!r}), which moved")
                if not isinstance(above, ast.Attribute):
                    continue
                if (target, above.attr) in moves.locals:
                    attributes.append((above, moves.locals[target, above.attr]))
                    continue
                module, symbol = moves.symbol(target, above.attr)
                if module == target and symbol == above.attr:
                    continue
                if moves.module(module) == own:
                    # it came to this very module
                    pass
                elif symbol in names:
                    raise Stop(f"{path}:{use.lineno}: {local}.{above.attr} is {module}:{symbol} now, a name that is taken here")
                elif (moves.module(module), symbol) not in more_imports[alias]:
                    more_imports[alias].append((moves.module(module), symbol))
                gone_attributes.append((above, symbol))
                renames = [(one, new) for one, new in renames if one is not use]
    # 3. the statements themselves
    for node in imports:
        begin = offsets.at(node.lineno, node.col_offset)
        end = offsets.at(node.end_lineno, node.end_col_offset)
        found: dict[str, list[str]] = {}
        for alias in node.names:
            target = f"{node.module}.{alias.name}"
            local = alias.asname or alias.name
            if moves.is_module(target):
                package, _, base = moves.module(target).rpartition(".")
                module, item = written(package, base, new_locals.get(alias, local))
            else:
                if not moves.is_module(node.module):
                    raise Stop(f"{path}:{node.lineno}: {node.module} has no module {alias.name}")
                home, symbol = moves.symbol(node.module, alias.name)
                symbol = moves.locals.get((node.module, alias.name), symbol)
                if moves.module(home) == own and symbol == local:
                    continue
                module, item = written(moves.module(home), symbol, local)
            found.setdefault(module, []).append(item)
            for extra_module, extra in more_imports[alias]:
                found.setdefault(extra_module, []).append(extra)
        if "#" in text[begin:end]:
            raise Stop(f"{path}:{node.lineno}: a comment inside of an import; put it above")
        if list(found) == [node.module] and found[node.module] == [
            one.name if not one.asname else f"{one.name} as {one.asname}" for one in node.names
        ]:
            continue
        column = begin - offsets.starts[node.lineno - 1]
        before = text[offsets.starts[node.lineno - 1] : begin]
        joint = f"\n{' ' * column}" if not before.strip() else "; "
        new_text = joint.join(f"from {module} import {', '.join(items)}" for module, items in found.items())
        edits.append((begin, end, new_text or "pass"))
    inside = f_string_spans(text, offsets)
    for node, new in renames:
        at = offsets.at(node.lineno, node.col_offset)
        if any(low <= at < high for low, high in inside) or text[at : at + len(node.id)] != node.id:
            continue  # with the token
        edits.append((at, at + len(node.id), new))
    in_tokens = [(node.id, new) for node, new in renames]
    for node, symbol in gone_attributes:
        at, end = offsets.at(node.lineno, node.col_offset), offsets.at(node.end_lineno, node.end_col_offset)
        if any(low <= at < high for low, high in inside):
            in_tokens.append((f"{node.value.id}.{node.attr}", symbol))  # type: ignore[attr-defined]
            continue
        edits.append((at, end, symbol))
    for node, attribute in attributes:
        end = offsets.at(node.end_lineno, node.end_col_offset)
        if any(low <= end <= high for low, high in inside):
            raise Stop(f"{path}:{node.lineno}: {node.attr} in an f-string is {attribute} now")
        edits.append((end - len(node.attr), end, attribute))
    strings = {(node.lineno, node.col_offset): new for node, new in patched}
    renamed = {}
    for old, new in in_tokens:
        if renamed.setdefault(old, new) != new:
            raise Stop(f"{path}: {old} has two new names in f-strings")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.STRING, tokenize.COMMENT):
            continue
        string = rewrite_text(token.string, moves, path, python=True, doc=token.type == tokenize.COMMENT or '"""' in token.string)
        if token.type == tokenize.STRING and token.start in strings:
            string = token.string[0] + strings[token.start] + token.string[-1]
        if token.type == tokenize.STRING and re.match(r"[rbRB]*[fF]", token.string):
            for old, new in sorted(renamed.items(), key=lambda one: -len(one[0])):
                string = in_braces(string, old, new)
        if string != token.string:
            edits.append((offsets.token(token.start), offsets.token(token.end), string))
    return apply_edits(text, edits, path)


def string_annotations(tree: ast.Module) -> set[str]:
    """Names in annotations that are strings: they are not renamed, so what they name keeps its name."""
    found = set()
    for node in ast.walk(tree):
        notes = []
        if isinstance(node, ast.arg):
            notes = [node.annotation]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            notes = [node.returns]
        elif isinstance(node, ast.AnnAssign):
            notes = [node.annotation]
        for note in filter(None, notes):
            for part in ast.walk(note):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= set(re.findall(r"\b[A-Za-z_]\w*\b", part.value))
    return found


def f_string_spans(text: str, offsets: Offsets) -> list[tuple[int, int]]:
    return [
        (offsets.token(token.start), offsets.token(token.end))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.STRING and re.match(r"[rbRB]*[fF]", token.string)
    ]


def in_braces(string: str, old: str, new: str) -> str:
    """Rename in the expressions of an f-string only."""
    out, depth, at = [], 0, 0
    piece = ""
    while at < len(string):
        char = string[at]
        if string[at : at + 2] in ("{{", "}}") and depth == 0:
            piece += string[at : at + 2]
            at += 2
            continue
        if char == "{":
            if depth == 0:
                out.append(piece)
                piece = ""
            depth += 1
        if char == "}":
            depth -= 1
            if depth == 0:
                out.append(re.sub(rf"(?<![\w.\"']){re.escape(old)}(?!\w)", new, piece))
                piece = ""
        piece += char
        at += 1
    return "".join([*out, piece])


def apply_edits(text: str, edits: list[tuple[int, int, str]], path: Path) -> str:
    last = len(text) + 1
    for begin, end, new in sorted(edits, reverse=True):
        if end > last:
            raise Stop(f"{path}: two edits overlap at {text[begin:end]!r}")
        text = text[:begin] + new + text[end:]
        last = begin
    return text


# --------------------------------------------------------------------------------------------- text

NAMES = re.compile(
    r"(?<![\w/.-])from (?P<package>(?:millrace|tests\.unit)(?:\.\w+)*) import (?P<imported>\w+(?:, \w+)*)(?! as)\b"
    r"|(?<![\w/.-])(?P<dotted>(?:millrace|tests\.unit)(?:\.[A-Za-z_]\w*)+)(?::(?P<symbol>[A-Za-z_]\w*))?(?P<open>\.(?=\{))?"
    r"|(?<![\w/.-])(?P<short>millrace)\.(?=\{)"
)
FILES = re.compile(r"(?<![\w.-])((?:/?[\w./-]*?/)??millrace/)?((?:[a-z_0-9]+/)*[a-z_0-9]+)\.py\b")
TESTS = re.compile(r"(?<![\w./-])tests/unit/((?:[\w.*-]+/)*[\w.*-]+)?")
ROOMS = re.compile(r"(?<![\w.-])(tools/millrace/|src/millrace/)((?:[a-z_0-9]+/)*[a-z_0-9]+)/(?=[`*\s),]|$)")
BRIEF = re.compile(r"(?<=[`(])([a-z_]+(?:\.[a-z_0-9]+)+)(?=[`),]| will)")


def dotted(name: str, moves: Moves) -> str | None:
    """The new form of `package.module.symbol`; None where it names no module."""
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        module = ".".join(parts[:count])
        if count == 2 and module not in SHORT and not (module == "tests.unit"):
            break
        if not moves.is_module(module):
            continue
        rest = parts[count:]
        if module in moves.known and module in moves.packages and moves.packages[module] is None:
            return None
        if rest:
            home, symbol = moves.symbol(module, rest[0])
            symbol = moves.locals.get((module, rest[0]), symbol)
            return ".".join([moves.module(home), symbol, *rest[1:]])
        return moves.module(module)
    return None


def rewrite_text(string: str, moves: Moves, path: Path, python: bool, doc: bool) -> str:
    """Names of modules, of their files and of files of tests in a text."""

    def name(match: re.Match[str]) -> str:
        if match["package"]:
            return imported(match["package"], match["imported"].split(", "))
        if match["short"]:
            Report.left.append(f"{path}: {match[0]}{{")
            return match[0]
        module, symbol, opens = match["dotted"], match["symbol"], match["open"] or ""
        if symbol and moves.is_module(module):
            home, symbol = moves.symbol(module, symbol)
            return f"{moves.module(home)}:{symbol}{opens}"
        if opens or module.count(".") > 1 and module in moves.packages:
            new = moves.packages.get(module)
            if new is None and module in moves.packages:
                Report.left.append(f"{path}: {match[0]}")
            return f"{new}{opens}" if new else match[0]
        new = dotted(module, moves)
        if new is None:
            if module.count(".") >= 2 and module.split(".")[1] in rooms_of(moves):
                Report.left.append(f"{path}: {match[0]}")
            return match[0]
        return new + (f":{symbol}" if symbol else "")

    def imported(package: str, names: list[str]) -> str:
        found: dict[str, list[str]] = {}
        for one in names:
            target = f"{package}.{one}"
            if moves.is_module(target):
                above, _, base = moves.module(target).rpartition(".")
                found.setdefault(above, []).append(one if base == one else f"{base} as {one}")
            elif moves.is_module(package):
                home, symbol = moves.symbol(package, one)
                found.setdefault(moves.module(home), []).append(symbol)
            else:
                found.setdefault(package, []).append(one)
        return "; ".join(f"from {module} import {', '.join(items)}" for module, items in found.items())

    def file(match: re.Match[str]) -> str:
        before, inner = match[1] or "", match[2]
        if "/" not in inner and not before:
            return match[0]
        module = "millrace." + inner.replace("/", ".").removesuffix(".__init__")
        if module not in moves.known or moves.modules[module] == "millrace.-":
            return match[0]
        new = moves.module(module).removeprefix("millrace.").replace(".", "/")
        return f"{before}{new}{'/__init__' if inner.endswith('/__init__') else ''}.py"

    def test(match: re.Match[str]) -> str:
        inner = (match[1] or "").rstrip("/")
        tail = match[0][len("tests/unit/") + len(inner) :]
        if inner in moves.tests:
            return f"tests/unit/{moves.tests[inner]}{tail}"
        stem = re.sub(r"(/\*)+$", "", inner)
        if stem in moves.test_dirs:
            new = moves.test_dirs[stem]
            if new is None:
                Report.left.append(f"{path}: {match[0]}")
                return match[0]
            return f"tests/unit/{new}{inner.removeprefix(stem)}{tail}"
        return match[0]

    def room(match: re.Match[str]) -> str:
        package = "millrace." + match[2].replace("/", ".")
        if package not in moves.packages:
            return match[0]
        new = moves.packages[package]
        if new is None:
            Report.left.append(f"{path}: {match[0]}")
            return match[0]
        return f"{match[1]}{new.removeprefix('millrace.').replace('.', '/')}/"

    def brief(match: re.Match[str]) -> str:
        new = dotted(f"millrace.{match[1]}", moves)
        if not new or match[1].partition(".")[0] not in rooms_of(moves):
            return match[0]
        # by the room: a text is no longer than it was
        parts = new.split(".")[1:]
        return ".".join(parts[1:] if "/".join(parts[:2]) in PACKAGES_NEW and parts[0] not in FLAT else parts)

    string = re.sub(r"(?<=-m )millrace\.[a-z_]+(?![\w.])", lambda one: started(one[0], moves), string)
    string = NAMES.sub(name, string)
    string = string.replace("tools/millrace/templates/", "tools/millrace/system/templates/")
    string = FILES.sub(file, string)
    string = TESTS.sub(test, string)
    string = ROOMS.sub(room, string)
    if python and doc:
        string = BRIEF.sub(brief, string)
    return string


def started(package: str, moves: Moves) -> str:
    """What `python3 -m` starts."""
    main = f"{package}.__main__"
    return moves.module(main).removesuffix(".__main__") if main in moves.known else package


def rooms_of(moves: Moves) -> set[str]:
    return {name.split(".")[1] for name in moves.packages if name.count(".") == 1}


# -------------------------------------------------------------------------------------------- files

OTHER = (
    "*.md", "docs/*.yml", "pyproject.toml", "mkosi*", "units/*", "tests/*", "tools/*", ".ci/*", ".github/*",
    "cockpit-plugin/test/*.ts", "cockpit-plugin/src/types/*.ts", "cockpit-plugin/*.json",
)  # fmt: skip
# History: what was measured of the modules of that day.
NOT = ("docs/mutants.md", "docs/evidence", "NEWS.md", "cockpit-plugin/test/golden")


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name and (root / name).is_file() and not (root / name).is_symlink()]


def rewrite_all(moves: Moves) -> dict[str, str]:
    """The new text of each file that changes, by its old path."""
    files = tracked(moves.root)
    by_path = {str(path.relative_to(moves.root)): name for name, path in moves.known.items()}
    changed, problems = {}, []
    for name, old_module in by_path.items():
        # first what the modules call each other: strings and tests say so, too
        try:
            rewrite_python(Path(name), (moves.root / name).read_text(), moves, moves.modules[old_module], old_module)
        except Stop as stop:
            problems.append(str(stop))
    if problems:
        raise Stop("\n".join(problems))
    for name in files:
        path = moves.root / name
        if name.startswith(NOT) or name.endswith((".patch", ".po", ".svg")):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        is_python = name.endswith(".py") or text.startswith("#!") and "python" in text.split("\n", 1)[0]
        if not is_python and not any(fnmatch(name, one) for one in OTHER):
            continue
        own = moves.modules.get(by_path[name]) if name in by_path else None
        try:
            new = (
                rewrite_python(Path(name), text, moves, own, by_path.get(name, ""))
                if is_python
                else rewrite_text(text, moves, Path(name), python=False, doc=False)
            )
        except Stop as stop:
            problems.append(str(stop))
            continue
        if new != text:
            changed[name] = new
    if problems:
        raise Stop("\n".join(problems))
    return changed


def move_files(moves: Moves, changed: dict[str, str], documents: dict[str, str]) -> None:
    """Write the files to their new places; `documents` are the docstrings of packages."""
    root = moves.root
    places = {}
    for name, path in moves.known.items():
        new = moves.modules[name]
        old = str(path.relative_to(root))
        if new == "millrace.-":
            places[old] = None
        elif path.name == "__init__.py":
            places[old] = f"{PACKAGE}/{'/'.join([*new.split('.')[1:], '__init__.py'])}"
        else:
            places[old] = f"{PACKAGE}/{'/'.join(new.split('.')[1:])}.py"
    for old, new in moves.tests.items():
        places[f"{UNIT}/{old}"] = f"{UNIT}/{new}"
    templates = root / PACKAGE / "templates"
    for path in sorted(templates.rglob("*")):
        if path.is_file():
            places[str(path.relative_to(root))] = f"{PACKAGE}/system/templates/{path.relative_to(templates)}"
    contents = {}
    for old, new in moves.tests.items():
        deeper = new.count("/") - old.count("/")
        name = f"{UNIT}/{old}"
        if deeper and old.endswith(".py"):
            text = changed.get(name) or (root / name).read_text()
            climbs = re.compile(r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d+)\]")
            changed[name] = climbs.sub(lambda one: f"{one[1]}{int(one[2]) + deeper}]", text)
    for old, new in places.items():
        if new is not None:
            data = changed.pop(old).encode() if old in changed else (root / old).read_bytes()
            contents[new] = (data, (root / old).stat().st_mode)
        else:
            changed.pop(old, None)
    for old in places:
        (root / old).unlink()
    for new, (data, mode) in contents.items():
        target = root / new
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode & 0o777)
    for name, text in changed.items():
        (root / name).write_text(text)
    for top in (PACKAGE, UNIT):
        for directory in sorted((root / top).rglob("*"), reverse=True):
            if directory.is_dir() and not [one for one in directory.iterdir() if one.name != "__pycache__"]:
                shutil.rmtree(directory)
    for package, words in documents.items():
        target = root / PACKAGE / package / "__init__.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f'# SPDX-License-Identifier: Apache-2.0\n"""{words}"""\n')
    bare = [
        str(path)
        for path in (root / PACKAGE).rglob("*")
        if path.is_dir() and path.name != "__pycache__" and list(path.glob("*.py")) and not (path / "__init__.py").exists()
    ]
    if bare:
        raise Stop("packages without __init__.py: " + ", ".join(bare))


def run(argv: list[str], root: Path) -> None:
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"$ {' '.join(argv)}\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--ruff", default=next(iter(sorted(Path.home().glob(".cache/millrace/venv-*/bin/ruff"))), "ruff"))
    parser.add_argument("--check", action="store_true", help="only verify that the tables know everything")
    arguments = parser.parse_args()
    root = arguments.tree.resolve()
    sys.path.insert(0, str(HERE))
    import edits

    try:
        PACKAGES_NEW.update(edits.packages(table("moves.tsv")))
        if arguments.check:
            check(root, edits)
            print("the tables know every module and every test")
            return
        dirty = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True).stdout
        if dirty.strip():
            raise Stop(f"{root} is not a clean checkout")
        check(root, edits)
        symbols = edits.before(root, str(arguments.ruff))
        moves = Moves(root, symbols)
        plan_tests(moves)
        changed = rewrite_all(moves)
        move_files(moves, changed, edits.DOCUMENTS)
        edits.after(root)
        ruff = str(arguments.ruff)
        run([ruff, "check", "-q", "--select", "I,F401", "--fix", "."], root)
        run([ruff, "format", "-q", "."], root)
        edits.last(root)
    except (Stop, edits.Stale) as stop:
        sys.exit(f"move.py: {stop}")
    notes = HERE / "work/notes.txt"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text(
        "Imports that keep their old local name:\n"
        + "\n".join(sorted(set(Report.aliased)))
        + "\n\nLeft as they are, look at them:\n"
        + "\n".join(sorted(set(Report.left)))
        + "\n"
    )
    print(f"moved {len(moves.known)} modules and {len(moves.tests)} files of tests; {notes}")


def check(root: Path, edits) -> None:
    """Fail with everything that the tables do not know, before a file is written."""
    problems = [
        f"{path.relative_to(root)}: a file that is no module and no template has no place"
        for path in (root / PACKAGE).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.relative_to(root / PACKAGE).parts[0] != "templates"
    ]
    try:
        plan_tests(Moves(root, {}, edits.MADE))
    except Stop as stop:
        problems.append(str(stop))
    if problems:
        raise Stop("\n".join(problems))


if __name__ == "__main__":
    main()
