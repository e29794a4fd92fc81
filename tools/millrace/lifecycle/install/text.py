# SPDX-License-Identifier: Apache-2.0
"""The text of `millrace install`."""

from collections.abc import Iterator

from millrace.lifecycle.install.model import BootCandidate, Installed, InstallReport, InstallStep
from millrace.system.text import size

HEAD = ("Serial", "Model", "Size", "Holds")


def report(found: InstallReport) -> Iterator[str]:
    """Return the drives that this version can be written to, and the others with the reason."""
    yield f"Millrace {found.version} runs from drive {found.runs_from or '(unknown)'}."
    if found.problem:
        yield f"Nothing can be installed from here: {found.problem}."
        return
    usable = [one for one in found.drives if one.refused is None]
    yield ""
    if usable:
        yield "It can be written to:"
        yield from table(usable)
    else:
        yield "It cannot be written to any drive of this server."
    others = [one for one in found.drives if one.refused is not None]
    if others:
        yield ""
        yield "Other drives:"
        for one in others:
            yield f"  {one.serial or one.name}  {one.model}  {size(one.size_bytes)}: {one.refused}"


def table(drives: list[BootCandidate]) -> Iterator[str]:
    """Return a line for each drive under a line of titles."""
    cells = [HEAD, *((one.serial, one.model, size(one.size_bytes), one.holds or "nothing") for one in drives)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    for line in cells:
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


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
