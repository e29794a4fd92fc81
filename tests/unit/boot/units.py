# SPDX-License-Identifier: Apache-2.0
"""Unit files of the tree, with the drop-ins that the tree adds to units of packages."""

from collections import defaultdict
from pathlib import Path

from host.layout import REPO

OWN = REPO / "units"
# systemd reads it for each service of ours, before the drop-ins of the service itself
SHARED = OWN / "millrace-.service.d"
ADDED = REPO / "mkosi.extra/usr/lib/systemd/system"
MOUNT = REPO / "tools/millrace/system/templates/etc/systemd/system/srv-pool.mount.j2"

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
    if name.startswith("millrace-") and name.endswith(".service"):
        files += sorted(SHARED.glob("*.conf"))
    files += sorted((ADDED / f"{name}.d").glob("*.conf"))
    return settings("\n".join(_text(file) for file in files))


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
        found = unit(todo.pop())
        pulled = names(found, "Requires", "Wants", "BindsTo")
        new = (names(found, "After") | pulled) - seen
        seen |= new
        todo += new
    return seen


def read(path: Path) -> Settings:
    """Return the settings of a file below mkosi.extra."""
    return settings((REPO / "mkosi.extra" / path).read_text())
