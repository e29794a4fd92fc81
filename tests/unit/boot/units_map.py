# SPDX-License-Identifier: Apache-2.0
"""The page of the manual about the units: what starts each of them, and what it may write.

`tools/docs --write` writes it. All of it is read from units/, udev's rules, scripts of the image and the program.
"""

import re
from pathlib import Path

from host.layout import REPO
from tests.unit import wings
from tests.unit.boot.units import OWN, Settings, instances, settings, started, unit
from tests.unit.boot.units_started import INITRD, rooms, starters, template

PAGE = REPO / "docs/units.md"
SHOWN = 5
INTRO = """\
# Units

The units of Millrace are in `units/`, one job each. `systemctl cat UNIT` shows a unit with its drop-ins,
`systemctl list-units 'millrace-*'` the units that are loaded. `tools/docs --write` writes this page.

- Started by: `boot` is a link in `units/`. "Code" is a verb of the program that starts the unit by `systemctl`. A name
  before a colon is an instance of the template.
- May write: services run as root unless this column names another user. The file system is read-only for them, except
  for the paths in this column and for a directory of their own in `/tmp`. "Kernel settings" are `/proc/sys` and `/sys`,
  "drives" are all block devices. The capabilities of the unit limit both.

The services stand in the order of the rooms that they run; see [Architecture](architecture.md).
"""
INITRD_INTRO = """\
## In the initrd

These units are in `mkosi.initrd.conf/`. They end before the system manager of the new root starts.
"""


def text() -> str:
    """Return the page."""
    services = sorted((path.name for path in OWN.glob("millrace-*.service") if path.is_file()), key=_place)
    parts = [INTRO]
    for wing in dict.fromkeys(_wing(name) for name in services):
        rows = [_service(name) for name in services if _wing(name) == wing]
        title = f"Services of {wing}/" if wing else "Services that run no room"
        parts.append(_table(title, ["unit", "job", "room", "started by", "may write"], rows))
    others = sorted(path.name for path in OWN.glob("millrace-*.*") if path.suffix != ".service" and path.is_file())
    parts.append(
        _table(
            "Timers, paths, sockets and targets",
            ["unit", "job", "starts", "started by"],
            [[f"`{name}`", _job(unit(name)), _starts(name), _started_by(name)] for name in others],
        )
    )
    early = sorted(path for path in INITRD.glob("millrace-*.*") if path.is_file())
    rows = [[f"`{path.name}`", _job(settings(path.read_text()))] for path in early]
    table = "\n".join(_rows(["unit", "job"], rows))
    return "\n".join([*parts, f"{INITRD_INTRO}\n{table}\n"])


def _service(name: str) -> list[str]:
    ran = ", ".join(f"`{room}/`" for room in rooms(name)) or f"`{_program(unit(name))}`"
    return [f"`{name}`", _job(unit(name)), ran, _started_by(name), _may_write(name)]


def _place(name: str) -> tuple[int, str, str]:
    """The place of a service in the page: by its wing, its room, its name."""
    order = [wing for line in wings.ORDER for wing in line]
    wing = _wing(name)
    return (order.index(wing) if wing else len(order), (rooms(name) or [""])[0], name)


def _wing(name: str) -> str:
    return (rooms(name) or [""])[0].split("/")[0]


def _job(found: Settings) -> str:
    return found["Description"][0].removeprefix("Millrace ")


def _program(found: Settings) -> str:
    """The program of a service that runs no room."""
    return Path(found["ExecStart"][0].split()[0].lstrip("-+")).name


def _started_by(name: str) -> str:
    """Return who starts a unit, in one cell; many units that need it are counted."""
    by_starter = starters().get(name, {})
    named = [who for who in by_starter if who.startswith("`millrace-") or who.endswith(".service`")]
    many = named if len(named) > SHOWN else []
    # a service that a target of the boot requires besides
    early = any(who.startswith("boot,") for who in by_starter)
    cells = [who for who in by_starter if who not in many and not (early and who == "boot")]
    labels = {who: ", ".join(f"`{label}`" for label in by_starter[who] if label) for who in cells}
    lines = [f"{labels[who]}: {who}" if labels[who] else who for who in cells]
    return "; ".join([*lines, *([f"{len(many)} units that need it"] if many else [])])


def _starts(name: str) -> str:
    """What a timer, a path, a socket or a target starts."""
    found = unit(name)
    if name.endswith(".target"):
        wanted = [one for key in ("Requires", "Wants") for value in found.get(key, []) for one in value.split()]
        return ", ".join(f"`{one}`" for one in wanted)
    of_instances = sorted({f"`{started(instance)}`" for instance in instances() if template(instance) == name})
    return ", ".join(of_instances) or f"`{started(name)}`"


def _may_write(name: str) -> str:
    """What a service may write; of a template also the instances that may write something else."""
    usual = writes(unit(name))
    others = {one: writes(unit(one)) for one in sorted(instances()) if template(one) == name != one}
    return "; ".join([usual, *(f"`{_label(one)}`: {words}" for one, words in others.items() if words != usual)])


def _label(instance: str) -> str:
    return instance.partition("@")[2].rpartition(".")[0]


def writes(service: Settings) -> str:
    """Return what a service may write, in words."""
    paths = [path.lstrip("-") for value in service.get("ReadWritePaths", []) for path in value.split()]
    paths += [f"/var/lib/{name}" for name in service.get("StateDirectory", [])]
    paths += [f"/run/{name}" for name in service.get("RuntimeDirectory", [])]
    outputs = [*service.get("StandardOutput", []), *service.get("StandardError", [])]
    paths += [output.partition(":")[2] for output in outputs if output.startswith("truncate:")]
    protected = service["ProtectSystem"][-1]
    parts = [", ".join(f"`{path}`" for path in paths)] if paths else []
    if protected != "strict":
        kept = {"yes": ["/usr", "/boot"], "full": ["/usr", "/boot", "/etc"]}[protected]
        kept += [path for value in service.get("ReadOnlyPaths", []) for path in value.split()]
        parts.append("all paths but " + ", ".join(f"`{path}`" for path in kept))
    if service.get("ProtectKernelTunables") != ["yes"]:
        parts.append("kernel settings")
    allowed = [rule.split() for rule in service.get("DeviceAllow", [])]
    if "DevicePolicy" in service:
        parts += [f"devices `{device}`" for device, mode in allowed if "w" in mode]
    elif service.get("PrivateDevices") != ["yes"]:
        parts.append("drives")
    of_its_own = ", as a user of its own" if service.get("DynamicUser") == ["yes"] else ""
    return ("; ".join(parts) or "nothing") + of_its_own


def _table(title: str, head: list[str], rows: list[list[str]]) -> str:
    return "\n".join([f"## {title}", "", *_rows(head, rows), ""])


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["|" + "|".join(line) + "|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines]


def mentioned(page: str) -> set[str]:
    """Return the units that have a line in a page."""
    return set(re.findall(r"^\| `(millrace-[^`]+)` \|", page, re.MULTILINE))


def main() -> None:
    """Write the page."""
    PAGE.write_text(text())


if __name__ == "__main__":
    main()
