# SPDX-License-Identifier: Apache-2.0
"""Unit files of the tree, with the drop-ins that the tree adds to units of packages."""

from collections import defaultdict
from pathlib import Path

from host.layout import REPO

OWN = REPO / "units"
ADDED = REPO / "mkosi.extra/usr/lib/systemd/system"
MOUNT = REPO / "tools/millrace/templates/etc/systemd/system/srv-pool.mount.j2"

Settings = dict[str, list[str]]


def settings(text: str) -> Settings:
    """Return the values of each setting of a unit file in order; an empty one clears those before it."""
    found: Settings = defaultdict(list)
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if not equals or line.startswith(("#", "{")):
            continue
        if value:
            found[name].append(value)
        else:
            found[name].clear()
    return found


def unit(name: str) -> Settings:
    """Return what the tree says of a unit."""
    main = {"srv-pool.mount": MOUNT}.get(name, OWN / name)
    files = [main] if main.is_file() else []
    return settings("\n".join(file.read_text() for file in [*files, *sorted((ADDED / f"{name}.d").glob("*.conf"))]))


def names(found: Settings, *keys: str) -> set[str]:
    """Return the units that some settings name."""
    return {word for key in keys for value in found.get(key, []) for word in value.split()}


def before(start: str) -> set[str]:
    """Return every unit that is waited for until `start` is there: ordered before it or before one that it needs."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        found = unit(todo.pop())
        pulled = names(found, "Requires", "Wants", "BindsTo")
        new = (names(found, "After") | pulled) - seen
        seen |= new
        todo += new
    return seen


def read(path: Path) -> Settings:
    """Return the settings of a file below mkosi.extra."""
    return settings((REPO / "mkosi.extra" / path).read_text())
