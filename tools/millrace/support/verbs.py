# SPDX-License-Identifier: Apache-2.0
"""`millrace support`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.support.model import SupportArchive


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@prints("millrace.support.model:SupportArchive")
def support(file: Path, show: Output) -> None:
    """Write an archive for support to FILE (tar.zst): hardware, journal, plan, health, metrics.

    Passwords, keys and tokens are not in it. Names, addresses and serial numbers are replaced as in a capture.
    """
    from millrace.support.archive import make
    from millrace.support.parts import parts

    planned = parts()
    show.text([f"{file} will contain:", *(f"  {one.name:<22} {one.what}" for one in planned)])
    show(make(file, planned), _lines)


def _lines(found: "SupportArchive") -> Iterator[str]:
    for one in found.parts:
        if one.problem:
            yield f"{one.name} is not available: {one.problem}"
    yield f"{found.file} is written. Names, addresses and serial numbers in it are not the real ones."
