# SPDX-License-Identifier: Apache-2.0
"""`millrace bench …`."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from millrace.bench.model import RunRequest

LAYERS = ("L0", "L1", "L2", "L3")
PROFILES = ("seq", "rand", "mixed", "fsync", "meta", "unet3d", "retinanet", "checkpoint", "kvcache")
MODELS = ("8b", "70b", "405b", "1t")

_json = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
_lines = click.option("--json", "as_json", is_flag=True, help="JSON lines of progress.")


def _request(verb: "Callable[..., None]") -> "Callable[..., None]":
    """The options that make a request."""
    options = [
        click.option("--quick", "mode", flag_value="quick", default="quick", help="3 repeats of 5 s, five profiles."),
        click.option("--full", "mode", flag_value="full", help="5 repeats of 30 s, every profile, each drive alone."),
        click.option("--layer", "layers", multiple=True, type=click.Choice(LAYERS), help="Only these layers."),
        click.option("--profile", "profiles", multiple=True, type=click.Choice(PROFILES), help="Only these loads."),
        click.option("--client", "clients", multiple=True, metavar="HOST", help="A client for L3."),
        click.option("--seconds", type=float, help="Length of one repeat."),
        click.option("--repeats", type=int, help="How often each is measured."),
        click.option("--size", metavar="SIZE", help="The most that it holds in the pool: 200G."),
        click.option("--model", type=click.Choice(MODELS), default="8b", help="Whose checkpoint."),
        click.option("--degraded", is_flag=True, help="Also while an array misses a drive or rebuilds."),
        click.option("--with-clients", is_flag=True, help="Also while clients are connected."),
        click.option(
            "--write-drive", "write_drives", multiple=True, metavar="SERIAL", help="Overwrite this blank drive, too."
        ),
    ]
    for option in reversed(options):
        verb = option(verb)
    return verb


@click.group()
def bench() -> None:
    """How fast it is, layer by layer, beside what the hardware can do."""


@bench.command()
@_request
@_json
def estimate(as_json: bool, **options: object) -> None:
    """What a run would take: time, space, and what stands in its way. Starts nothing."""
    from millrace.bench import text
    from millrace.bench.prepare import prepare

    found = prepare(_made(options)).estimate
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(text.estimate(found)))


@bench.command("list")
@_json
def list_(as_json: bool) -> None:
    """The runs that were made, newest first."""
    from millrace.bench import store, text

    found = store.listing()
    click.echo(found.model_dump_json(indent=2)) if as_json else text.runs(found)


@bench.command()
@click.argument("run", default="latest")
@_json
def show(run: str, as_json: bool) -> None:
    """One run: each rung beside its ceiling, and what binds it."""
    from millrace.bench import store, text

    found = store.load(run)
    click.echo(found.model_dump_json(indent=2)) if as_json else text.run(found)


@bench.command()
@_lines
def follow(as_json: bool) -> None:
    """Watch the run that is on until it ends."""
    _follow(as_json)


def _follow(as_json: bool) -> None:
    from millrace.bench import live, unit
    from millrace.bench.text import bar
    from millrace.errors import Refused

    if not unit.active() and live.latest() is None:
        raise Refused("no benchmark ran since the server was started: `millrace bench list` has the older ones")
    lines = live.follow(unit.active)
    if as_json:
        for line in lines:
            click.echo(line.model_dump_json())
    else:
        bar(lines)


def _made(options: dict[str, object]) -> "RunRequest":
    from millrace.bench.prepare import request

    return request(options)
