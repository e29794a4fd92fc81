# SPDX-License-Identifier: Apache-2.0
"""`millrace support`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import table

if TYPE_CHECKING:
    from millrace.observe.support.model import SupportArchive, SupportContents
    from millrace.observe.support.parts import ArchivePart

STDOUT = Path("-")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--list", "list_only", is_flag=True, help="List what an archive has; collect and write nothing.")
@click.option(
    "--hardware-report", is_flag=True, help="Print which parts this server has, for an issue; no serial numbers."
)
@prints(
    "millrace.observe.support.model:SupportArchive",
    {
        "--list": "millrace.observe.support.model:SupportContents",
        "--hardware-report": "millrace.observe.support.model:HardwareReport",
    },
)
def support(file: Path | None, list_only: bool, hardware_report: bool, show: Output) -> None:
    """Write an archive for support to FILE (tar.zst), or to standard output for `-`.

    It has hardware, journal, plan, health and metrics. Passwords, keys and tokens are not in it. Names, addresses and
    serial numbers are replaced as in a capture.
    """
    from millrace.observe.support.archive import make
    from millrace.observe.support.model import SupportContents, SupportFile
    from millrace.observe.support.parts import parts

    if [list_only, hardware_report, file is not None].count(True) != 1:
        raise click.UsageError("give either FILE, --list or --hardware-report")
    if hardware_report:
        from millrace.observe.support.hardware_report import hardware_report as reported
        from millrace.observe.support.hardware_report import lines

        return show(reported(), lines)
    planned = parts()
    contents = SupportContents(files=[SupportFile(name=part.name, what=part.what) for part in planned])
    if file is None:
        show(contents, _contents)
    elif file == STDOUT:
        if show.as_json:
            raise click.UsageError("- writes the archive to standard output: give a FILE for --json")
        _print(planned)
    else:
        show.text([f"{file} will contain:", *_contents(contents)])
        show(make(file, planned), _lines)


def _print(planned: "Sequence[ArchivePart]") -> None:
    """Write the archive to standard output once it is complete."""
    from tempfile import TemporaryDirectory

    from millrace.observe.support.archive import make
    from millrace.system import paths
    from millrace.system.users import only_root

    only_root()
    # in memory: the boot drive may be full
    with TemporaryDirectory(prefix="support-", dir=paths.run_dir()) as directory:
        archive = Path(directory) / "support.tar.zst"
        make(archive, planned)
        click.echo(archive.read_bytes(), nl=False)


def _contents(found: "SupportContents") -> Iterator[str]:
    return table(("File", "Contents"), [(one.name, one.what) for one in found.files], indent=2)


def _lines(found: "SupportArchive") -> Iterator[str]:
    for one in found.parts:
        if one.problem:
            yield f"{one.name} is not available: {one.problem}"
    yield f"{found.file} is written. Names, addresses and serial numbers in it are not the real ones."
