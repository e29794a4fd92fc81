# SPDX-License-Identifier: Apache-2.0
"""The text of `millrace install`."""

from collections.abc import Iterator

from millrace.lifecycle.install.model import BootCandidate, Installed, InstallReport, InstallStep
from millrace.system.printing import Cell, table
from millrace.system.text import size


def report(found: InstallReport) -> Iterator[str]:
    """Return the drives that this version can be written to, and the others with the reason."""
    yield f"Millrace {found.version} runs from drive {found.runs_from or '(unknown)'}."
    if found.problem:
        yield f"Nothing can be installed from here: {found.problem}."
        return
    rows: list[tuple[Cell, ...]]
    usable = [one for one in found.drives if one.refused is None]
    yield ""
    if usable:
        yield "It can be written to:"
        rows = [(one.serial, one.model, size(one.size_bytes), one.holds or "nothing") for one in usable]
        yield from table(("Serial", "Model", "Size", "Holds"), rows, right=("Size",), indent=2)
    else:
        yield "It cannot be written to any drive of this server."
    others = [one for one in found.drives if one.refused is not None]
    if others:
        yield ""
        yield "Other drives:"
        rows = [(one.serial or one.name, one.model, size(one.size_bytes), one.refused) for one in others]
        yield from table(("Serial", "Model", "Size", "Why not"), rows, right=("Size",), indent=2)


def before(one: BootCandidate) -> Iterator[str]:
    """Return what is about to be written over."""
    yield f"Drive {one.serial} ({one.model}, {size(one.size_bytes)}) becomes a boot drive. Everything on it is lost."
    if one.holds:
        yield f"It holds: {one.holds}"


def done(end: Installed) -> Iterator[str]:
    """Return what to do next."""
    yield f"Millrace {end.version} is on drive {end.serial}; it was read back and verified."
    yield "Before the next start remove the medium, or the spare: a server with both may start half from each."
    yield "A server with a pool then leads with adopting it."


def step(one: InstallStep) -> str:
    """Return what is done now."""
    return f"  {one.doing} …"
