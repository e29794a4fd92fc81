# SPDX-License-Identifier: Apache-2.0
"""The words that a drive is named by on the command line: serial number, bay, kernel name, or a device in /dev."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from millrace.system import paths
from millrace.system.completion import completes
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from millrace.storage.drive.drive_model import DriveRow

    _Parameter = click.ParamType[str]
else:
    # before click 8.4 it takes no type
    _Parameter = click.ParamType


class DriveWord(_Parameter):
    """A parameter that is a drive: the verb receives its serial number, or the word where no drive is named so."""

    name = "drive"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the serial number. Refused: several drives are named so."""
        if value in _serials():
            return value
        from millrace.storage.drive import drive_rows
        from millrace.storage.drive.facts import facts

        try:
            return serial(drive_rows.rows(facts()), value)
        except BadInput:
            # the verb says what is wrong with the record of the pool
            return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list["CompletionItem"]:
        """Return the serial numbers that begin so, of drives that are here."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in completes(_serials)(ctx, param, incomplete)]


DRIVE = DriveWord()


def serial(rows: Sequence["DriveRow"], word: str) -> str:
    """Return the serial number of the drive with this serial number, else in this bay, else with this device.

    The word itself where there is none, or where the drive reports no serial number. Refused: there are several.
    """
    kernel = _kernel_name(word)
    if any(row.serial == word for row in rows):
        return word
    for drives in (
        [row for row in rows if row.bay is not None and row.bay == word],
        [row for row in rows if row.name is not None and row.name == kernel],
    ):
        if len(drives) > 1:
            names = ", ".join(f"{row.serial or '-'} ({row.name or 'missing'})" for row in drives)
            raise Refused(f"{len(drives)} drives answer to {shown(word)}: {names}; name one by its serial number")
        if drives:
            return drives[0].serial or word
    return word


def _kernel_name(word: str) -> str:
    """`nvme0n1` of /dev/nvme0n1 and of each link to it, such as those in /dev/disk/by-id."""
    if not word.startswith("/dev/"):
        return word
    return os.path.basename(os.path.realpath(paths.ROOT / word.lstrip("/")))


def _serials() -> list[str]:
    from millrace.inventory.present import present

    return [drive.serial for drive in present() if drive.serial]
