# SPDX-License-Identifier: Apache-2.0
"""Who starts a unit (targets, units, udev, scripts of the image, rooms of the program), and which rooms it runs."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from host.layout import REPO
from millrace.cli.program import BELOW, VERBS
from millrace.observe.jobs.registry import MODULES
from millrace.system.jobs.kinds import ALL
from tests.unit.boot.units import ADDED, OWN, UDEV, instances, names, settings, started, unit

PACKAGE = REPO / "tools/millrace"
SCRIPTS = REPO / "mkosi.extra/usr/lib/millrace"
MENU = REPO / "mkosi.uki-profiles"
INITRD = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib/systemd/system"

# Verbs of systemctl that start a unit which does not run.
STARTING = {"start", "restart", "reload-or-restart"}
# Targets by the words of the page.
TARGETS = {
    "multi-user.target": "boot",
    "timers.target": "boot",
    "sysinit.target": "boot, before other services",
    "boot-complete.target": "boot, before it counts as good",
}
UNIT = re.compile(r"\bmillrace-[\w-]+(?:@[\w@:-]*)?\.(?:service|timer|path|socket|target)\b")

Starters = dict[str, dict[str, list[str]]]


def template(name: str) -> str:
    """Return the name of the file that a unit has: that of its template, for an instance."""
    return re.sub(r"@.*(?=\.\w+$)", "@", name)


@cache
def starters() -> Starters:
    """Return who starts each unit file, and which instances of a template; "" is the unit itself, or any instance."""
    by_unit: Starters = defaultdict(lambda: defaultdict(list))
    for name, who in _all():
        for unit_name in (name, *_next_run(name)):
            # an instance that is named after a unit is in the line of that unit
            instance = unit_name.partition("@")[2].rsplit(".", 1)[0]
            labels = by_unit[template(unit_name)][who]
            if (label := instance if instance.isalnum() else "") not in labels:
                labels.append(label)
    for kind in ALL:
        # the engine of jobs starts it for the room whose job it is
        room = "/".join(MODULES[kind.name].split(".")[1:-1])
        file = template(kind.unit)
        if not any(f"`{room}/`" in who for who in by_unit[file]):
            by_unit[file][f"code in `{room}/`"].append(_instance(kind.unit))
    for path in OWN.glob("millrace-*.service"):
        if path.is_file() and path.name not in by_unit:
            for room in sorted(set(_naming(path.name)) & set(rooms(path.name))):
                by_unit[path.name][f"code in `{room}/`"].append("")
    return by_unit


def _instance(name: str) -> str:
    return name.partition("@")[2].rsplit(".", 1)[0]


def rooms(name: str) -> list[str]:
    """Return the rooms of the program that the commands of a unit run, in their order; of a template all jobs'."""
    lines = [one for key, values in unit(name).items() if key.startswith("Exec") for one in values]
    jobs = [_instance(kind.unit) for kind in ALL if "@" in name and template(kind.unit) == name]
    commands = [line.replace("%i", job) for job in jobs or ["%i"] for line in lines]
    return list(dict.fromkeys(room for command in commands for room in _rooms(command)))


def _rooms(command: str) -> list[str]:
    words = command.lstrip("-+!:@").split()
    if words[0] == "/usr/lib/millrace/unless-success":
        return _rooms(" ".join(words[1:]))
    if words[0].startswith("/usr/lib/millrace/"):
        lines = (SCRIPTS / Path(words[0]).name).read_text()
        verbs = re.findall(r"^\s*(?:if .*then )?(millrace [\w -]+)", lines, re.MULTILINE)
        return [room for verb in verbs for room in _rooms(f"/usr/bin/{verb}")]
    if words[0] == "/usr/bin/millrace":
        verb = words[words.index("--") + 1 :] if "--" in words else words[1:]
        below = BELOW.get(" ".join(verb[:2]))
        module = below.split(":")[0] if below else VERBS[verb[0]][0]
    elif "-m" in words:
        module = words[words.index("-m") + 1]
    elif asking := [word for word in words if word.endswith("/cli/worker/ask.py")]:
        # its socket, then the verb
        module = VERBS[words[words.index(asking[0]) + 2]][0]
    elif ours := re.search(r"/millrace/(\S+)\.py", command):
        module = f"millrace.{ours[1].replace('/', '.')}"
    else:
        return []
    return ["/".join(module.split(".")[1:-1])]


def _naming(name: str) -> Iterator[str]:
    """The rooms that have the name of a unit as a constant."""
    for path in PACKAGE.rglob("*.py"):
        if f'"{name}"' in path.read_text():
            yield str(path.parent.relative_to(PACKAGE))


def _next_run(name: str) -> list[str]:
    """Return the unit that an instance of millrace-event@ or millrace-again@ starts."""
    run = re.fullmatch(r"millrace-(?:again|event)@(millrace-.+\.service)", name)
    return [run[1]] if run else []


def _all() -> Iterator[tuple[str, str]]:
    for link in sorted(OWN.glob("*.*/*")):
        if link.is_symlink():
            target = link.parent.name.rsplit(".", 1)[0]
            yield link.name, TARGETS[target]
    yield from _by_units()
    for name in UNIT.findall("\n".join(_code(UDEV))):
        yield name, "udev"
    for script in sorted(path for path in SCRIPTS.iterdir() if path.is_file()):
        for line in _code(script):
            for name in UNIT.findall(line) if "systemctl" in line else ():
                yield name, f"`{script.name}`"
    for group, units in re.findall(r"^ +(\w+)\) set -- (.+) ;;$", (SCRIPTS / "event").read_text(), re.MULTILINE):
        for name in units.split():
            yield f"{name}.service", f"`millrace-event@{group}.service`"
    for entry in sorted(MENU.rglob("*.conf")):
        for name in re.findall(r"systemd\.unit=(\S+)", entry.read_text()):
            yield name, "an entry of the boot menu"
    yield from _by_program()


def _code(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]


def _by_units() -> Iterator[tuple[str, str]]:
    """What units name: wanted, started at an end, by a timer, a path, a socket or a command."""
    for path in sorted(OWN.glob("millrace-*.*")):
        if not path.is_file():
            continue
        unit_settings = unit(path.name)
        for name in sorted(names(unit_settings, "Wants", "Requires", "OnFailure", "OnSuccess")):
            ends = [key for key in ("OnFailure", "OnSuccess") if name in names(unit_settings, key)]
            yield name, f"`{path.name}`" + (" at its end" if len(ends) == 2 else " when it fails" if ends else "")
        if path.suffix in (".timer", ".path", ".socket") and "@" not in path.name:
            yield started(path.name), f"`{path.name}`"
        for command in (line for key in unit_settings if key.startswith("Exec") for line in unit_settings[key]):
            for name in UNIT.findall(command) if "systemctl" in command else ():
                yield name, f"`{path.name}`"
    for name in sorted(name for name in instances() if name.endswith(".timer")):
        yield started(name), f"`{name}`"
    for file in sorted([*ADDED.glob("*.d/*.conf"), *OWN.glob("millrace-*@?*.d/*.conf")]):
        added = settings(file.read_text()) if file.is_file() else {}
        for name in sorted(names(added, "Wants", "Requires")):
            yield name, f"`{file.parent.name.removesuffix('.d')}`"
        for command in added.get("ExecStart", []):
            for name in UNIT.findall(command) if "systemctl" in command else ():
                yield name, f"`{file.parent.name.removesuffix('.d')}`"


def _by_program() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "systemctl" not in text:
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        tree = ast.parse(text)
        known = _known(tree, import_module(".".join(("millrace", *parts))))
        for node in ast.walk(tree):
            if isinstance(node, ast.List):
                for name in _started(_words(node, known)):
                    yield name, f"code in `{'/'.join(parts[:-1][:2])}/`"


def _known(tree: ast.Module, module: ModuleType) -> dict[str, object]:
    """Return the names of a module, and those that its functions import."""
    known: dict[str, object] = dict(vars(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("millrace."):
            source = import_module(node.module)
            for alias in node.names:
                if not hasattr(source, alias.name):
                    import_module(f"{node.module}.{alias.name}")
                known.setdefault(alias.asname or alias.name, getattr(source, alias.name))
    return known


def _words(node: ast.List, known: dict[str, object]) -> list[str]:
    """Return the words of a command line; one that is known only when it runs is "?"."""
    words: list[str] = []
    for word in node.elts:
        inner = word.value if isinstance(word, ast.Starred) else word
        value: object = "?"
        if isinstance(inner, ast.Constant):
            value = inner.value
        elif isinstance(inner, ast.JoinedStr):
            value = "".join(str(part.value) if isinstance(part, ast.Constant) else "" for part in inner.values)
        elif isinstance(inner, ast.Name):
            value = known.get(inner.id, "?")
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            value = getattr(known.get(inner.value.id), inner.attr, "?")
        words += [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]
    return words


def _started(words: list[str]) -> list[str]:
    if "systemctl" not in words:
        return []
    verb = next((word for word in words[words.index("systemctl") + 1 :] if not word.startswith("-")), "")
    return [word for word in words if UNIT.fullmatch(word)] if verb in {*STARTING, "?"} else []
