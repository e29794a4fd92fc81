# SPDX-License-Identifier: Apache-2.0
"""Unit files of the tree as systemd reads them: with the drop-ins of the tree, in systemd's order, and lists reset."""

import re
from collections import defaultdict
from pathlib import Path

from host.layout import REPO

OWN = REPO / "units"
# systemd reads it for each service of ours, also for templates
SHARED = OWN / "millrace-.service.d"
ADDED = REPO / "mkosi.extra/usr/lib/systemd/system"
UDEV = REPO / "mkosi.extra/usr/lib/udev/rules.d/90-millrace.rules"
MOUNT = REPO / "tools/millrace/system/templates/etc/systemd/system/srv-pool.mount.j2"

Settings = dict[str, list[str]]

# Settings of which every line counts (systemd.unit(5), systemd.exec(5) and others); of the rest the last one does.
LISTS = re.compile(
    r"After|Before|Wants|Requires|Requisite|BindsTo|PartOf|Upholds|Conflicts|OnFailure|OnSuccess|RequiresMountsFor"
    r"|(Condition|Assert|Exec)\w+|Path\w+|On\w+Sec|OnCalendar|Environment(File)?|(Load|Set|Import)Credential"
    r"|(ReadWrite|ReadOnly|Inaccessible|Exec|NoExec)Paths|Bind(ReadOnly)?Paths|TemporaryFileSystem|DeviceAllow"
    r"|SystemCallFilter|CapabilityBoundingSet|AmbientCapabilities|RestrictAddressFamilies|RestrictNamespaces"
    r"|IPAddress(Allow|Deny)|SuccessExitStatus|SupplementaryGroups|Documentation"
)
# systemd.exec(5): a boolean takes the place of all lines before it.
ALSO_BOOLEAN = {"RestrictNamespaces": ("yes", "no")}


def settings(text: str) -> Settings:
    """Return the values of each setting of a unit file in order; an empty one clears those before it."""
    values: Settings = defaultdict(list)
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if not equals or line.startswith(("#", "{")):
            continue
        # config_parse_trigger_unit() of systemd: it warns of a second one, which has no effect
        assert not (name == "Unit" and values[name]), f"a second Unit={value}"
        if not value or not LISTS.fullmatch(name) or value in ALSO_BOOLEAN.get(name, ()):
            values[name].clear()
        if value:
            values[name].append(value)
    return values


def drop_ins(name: str) -> list[Path]:
    """Return the drop-ins of a unit: by file name, and of two with one name that of the longer directory name."""
    stem, kind = name.rsplit(".", 1)
    prefix, _, instance = stem.partition("@")
    directories = [f"{prefix}@.{kind}"] if instance else []
    dashes = [place for place, letter in enumerate(prefix) if letter == "-" and place < len(prefix) - 1]
    directories += [f"{prefix[: place + 1]}.{kind}" for place in reversed(dashes)]
    files: dict[str, Path] = {}
    for directory in reversed([name, *directories]):
        for place in (OWN, ADDED):
            files |= {path.name: path for path in (place / f"{directory}.d").glob("*.conf")}
    return [files[file] for file in sorted(files)]


def unit(name: str) -> Settings:
    """Return the effective settings of a unit: an instance has those of its template, with `%i` and `%f`."""
    stem, kind = name.rsplit(".", 1)
    template, _, instance = stem.partition("@")
    main = OWN / (f"{template}@.{kind}" if instance else name)
    main = {"srv-pool.mount": MOUNT}.get(name, main)
    files = [main] if main.is_file() else []
    text = "\n".join(_text(file) for file in [*files, *drop_ins(name)])
    if instance:
        text = text.replace("%i", instance).replace("%f", watched(instance))
    return settings(text)


def watched(instance: str) -> str:
    """Return the path that an instance is named by (systemd-escape --path)."""
    path = "/" + instance.replace("-", "/")
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), path)


def instances() -> set[str]:
    """Return the instances of templates of ours that units and udev name, those with drop-ins and what timers start."""
    files = [UDEV, *(path for path in OWN.rglob("*") if path.is_file())]
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith("#")]
    named = {one for line in lines for one in re.findall(r"\bmillrace-[\w-]+@[\w@.\\-]+\.\w+\b", line)}
    named |= {link.name for link in OWN.glob("*/*") if link.is_symlink() and re.search("@.", link.stem)}
    named |= {place.name.removesuffix(".d") for place in OWN.glob("*@?*.d")}
    return named | {started(name) for name in named if name.endswith(".timer")}


def started(name: str) -> str:
    """Return the unit that a timer, a path or a socket starts: by default the service of its name."""
    return (unit(name).get("Unit") or [name.rsplit(".", 1)[0] + ".service"])[0]


def _text(file: Path) -> str:
    """The text of a file of the tree; a link of mkosi.extra to the shared sandbox is one in the image, to `units/`."""
    shared = file.is_symlink() and file.readlink() == Path("../millrace-.service.d/10-sandbox.conf")
    return (SHARED / "10-sandbox.conf" if shared else file).read_text()


def names(found: Settings, *keys: str) -> set[str]:
    """Return the units that some settings name."""
    return {word for key in keys for value in found.get(key, []) for word in value.split()}


def before(start: str) -> set[str]:
    """Return every unit that is waited for until `start` is there: ordered before it or before one that it needs."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        unit_settings = unit(todo.pop())
        pulled = names(unit_settings, "Requires", "Wants", "BindsTo")
        new = (names(unit_settings, "After") | pulled) - seen
        seen |= new
        todo += new
    return seen


def read(path: Path) -> Settings:
    """Return the settings of a file below mkosi.extra."""
    return settings((REPO / "mkosi.extra" / path).read_text())
