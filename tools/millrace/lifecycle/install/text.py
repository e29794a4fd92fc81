# SPDX-License-Identifier: Apache-2.0
"""The text of `millrace install`."""

from collections.abc import Iterator

from millrace.lifecycle.install.model import BootCandidate, Installed, InstallReport, InstallStep
from millrace.system.printing import Cell, table
from millrace.system.text import size


def report(install_report: InstallReport) -> Iterator[str]:
    """Return the drives that this version can be written to, and the others with the reason."""
    yield f"Millrace {install_report.version} runs from drive {install_report.runs_from or '(unknown)'}."
    if install_report.problem:
        yield f"Nothing can be installed from here: {install_report.problem}."
        return
    rows: list[tuple[Cell, ...]]
    usable = [drive for drive in install_report.drives if drive.refused is None]
    yield ""
    if usable:
        yield "It can be written to:"
        rows = [(drive.serial, drive.model, size(drive.size_bytes), drive.holds or "nothing") for drive in usable]
        yield from table(("Serial", "Model", "Size", "Holds"), rows, right=("Size",), indent=2)
    else:
        yield "It cannot be written to any drive of this server."
    others = [drive for drive in install_report.drives if drive.refused is not None]
    if others:
        yield ""
        yield "Other drives:"
        rows = [(drive.serial or drive.name, drive.model, size(drive.size_bytes), drive.refused) for drive in others]
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
