# SPDX-License-Identifier: Apache-2.0
"""`millrace install …`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.lifecycle.install.model import InstallLine, InstallReport


@click.group(cls=VerbGroup)
def install() -> None:
    """Write the running version to another boot drive."""


@install.command("list")
@prints("millrace.lifecycle.install.model:InstallReport")
def list_(show: Output) -> None:
    """List the drives that can become a boot drive, and why others cannot."""
    from millrace.lifecycle.install.text import report

    show(_report(), report)


@install.command()
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@click.option(
    "--serial-again", metavar="SERIAL", help="Serial number of the drive, to confirm; without it, it is prompted for."
)
@click.option("--foreign", is_flag=True, help="Also write over a drive that carries data, or could not be examined.")
@prints("millrace.lifecycle.install.model:InstallLine", lines=True, words="Print steps as JSON lines.")
def write(serial: str, serial_again: str | None, foreign: bool, show: Output) -> None:
    """Write the running version to DRIVE (serial number, bay or device): all of its data is lost.

    The loader and the system are copied and verified; settings, users and the pool's record are not. Members of a pool
    and the drive that this system runs from are refused.
    """
    from millrace.lifecycle.install import choice, text
    from millrace.lifecycle.install.model import Installed
    from millrace.system.errors import Failed
    from millrace.system.prompt import repeated
    from millrace.system.users import only_root

    only_root()
    report = _report()
    if report.problem:
        raise Failed(report.problem)
    drive = choice.chosen(report.drives, serial)
    show.text(text.before(drive))
    again = serial_again or repeated("Serial number of the drive to write", "--serial-again SERIAL")
    choice.confirm(drive, again, foreign)
    ended = show.each(_steps(serial), _told)
    if not isinstance(ended, Installed):
        raise Failed(f"drive {serial} is not written; run it again")
    show.text(text.done(ended))


@install.command(hidden=True)
def console() -> None:
    """Lead through the installation on a console, until the server is restarted."""
    from millrace.lifecycle.install.dialog import Dialog
    from millrace.storage.array.machine import Linux

    Dialog(_report, _steps, click.echo, _read).run()
    Linux().attempt(["systemctl", "reboot"])


def _read(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False)).strip()


def _report() -> "InstallReport":
    from millrace.inventory.collect import drives
    from millrace.inventory.probe import run_tool
    from millrace.inventory.surface import surface
    from millrace.lifecycle.install.choice import candidates
    from millrace.lifecycle.install.medium import medium
    from millrace.lifecycle.install.model import InstallReport
    from millrace.system import locks, paths
    from millrace.system.errors import Failed
    from millrace.system.os_release import image_version

    version = image_version()
    try:
        source = medium()
    except Failed as error:
        return InstallReport(version=version, runs_from=None, problem=str(error), drives=[])
    # two consoles that look at once would find drives in use
    with locks.held(paths.run_dir() / "install/lock"):
        server_drives = drives(paths.ROOT, run_tool, surface)
    own = [drive.serial or drive.name for drive in server_drives if drive.name == source.disk]
    return InstallReport(
        version=version, runs_from=next(iter(own), None), problem=None, drives=candidates(server_drives)
    )


def _steps(serial: str) -> "Iterator[InstallLine]":
    """Examine the drive again and write it; yield what is done, then the end."""
    from millrace.lifecycle.install.choice import chosen
    from millrace.lifecycle.install.copy import install as write_drive
    from millrace.lifecycle.install.medium import medium
    from millrace.storage.array.machine import Linux

    return write_drive(Linux(), medium(), chosen(_report().drives, serial))


def _told(lines: "Iterable[InstallLine]") -> "InstallLine | None":
    from millrace.lifecycle.install.model import InstallStep
    from millrace.lifecycle.install.text import step

    last = None
    for last in lines:
        if isinstance(last, InstallStep):
            click.echo(step(last))
    return last
