# SPDX-License-Identifier: Apache-2.0
"""`millrace protection …`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.protect.light import Light
    from millrace.protect.protection.protection_model import Protection

PLACES = {"here": "Here", "second-server": "Second server", "off-site": "Off site"}


@click.group(cls=VerbGroup)
def protection() -> None:
    """Show which shares have copies, where, and whether these are in time."""


@protection.command("show")
@click.argument("share", required=False, shell_complete=SHARES)
@prints("millrace.protect.protection.protection_model:Protection")
def show_protection(share: str | None, show: Output) -> None:
    """Show the copies of all shares, or of SHARE, on this server, on a second server and off site."""
    from millrace.protect.protection import places
    from millrace.serve.config import store
    from millrace.system.run import quickly
    from millrace.system.users import only_root

    only_root()
    show(places.shown(store.load(), share, quickly), _lines)


def _lines(shown: "Protection") -> Iterator[str]:
    if not shown.shares:
        yield "There is no share. To create one: millrace share create NAME"
        return
    yield from table(("Share", *PLACES.values()), [(each.share, *_cells(each.lights)) for each in shown.shares])
    single = len(shown.shares) == 1
    for light in (light for each in shown.shares for light in each.lights):
        if single or light.state != "none":
            yield light.sentence
            if light.todo is not None:
                yield f"  {light.todo}"


def _cells(lights: Sequence["Light"]) -> Iterator[str]:
    for place in PLACES:
        yield next((_cell(light) for light in lights if light.place == place), "")


def _cell(light: "Light") -> str:
    from millrace.system.text import moment

    return light.state if light.last is None else f"{light.state}, {moment(light.last)}"
