# SPDX-License-Identifier: Apache-2.0
"""`millrace tuner …`."""

from typing import TYPE_CHECKING, BinaryIO, get_args

import click

from millrace.measure.bench.result.choices import Format
from millrace.system.completion import completes
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from millrace.measure.tuner.run.outputs import TunerProgress, TunerRequest


def _ids() -> list[str]:
    from millrace.measure.tuner.run.store import ids

    return [*ids(), "latest"]


_RUNS = completes(_ids)
_lines = prints("millrace.measure.tuner.run.outputs:TunerProgress", lines=True, words="Print progress as JSON lines.")


def _request_options(verb: "Callable[..., None]") -> "Callable[..., None]":
    """The options that make a request."""
    options = [
        click.option("--goal", "goals", metavar="GOAL=WEIGHT,…", help="Goals with weights: seq-read=3,fsync=1."),
        click.option("--profile", metavar="NAME", help="training, checkpoint, mixed or smb [default: mixed]."),
        click.option("--budget", metavar="TIME", default="60m", help="Duration at most, such as 90m or 2h."),
        click.option("--knob", "knobs", multiple=True, metavar="NAME", help="Setting to try; repeatable."),
        click.option("--client", "clients", multiple=True, metavar="HOST", help="Client as load; repeatable."),
    ]
    for option in reversed(options):
        verb = option(verb)
    return verb


@click.group(cls=VerbGroup)
def tuner() -> None:
    """Measure which runtime settings suit this server, and apply the best."""


@tuner.command()
@_request_options
@prints("millrace.measure.tuner.run.outputs:TunerEstimate")
def estimate(show: Output, **options: object) -> None:
    """List what a run would try, its duration and obstacles; start nothing."""
    from millrace.measure.tuner.run import order
    from millrace.measure.tuner.run import text as words
    from millrace.system.run import attempt

    show(order.estimate(_request(options), attempt), words.estimate)


@tuner.command()
@_request_options
@prints("millrace.measure.tuner.run.outputs:TunerStarted")
def start(show: Output, **options: object) -> None:
    """Start a run in the background; closing this terminal does not stop the run."""
    from millrace.measure.tuner.run import order
    from millrace.system.run import attempt

    started = order.start(order.ready(_request(options), attempt), attempt)
    show(started, lambda one: [f"{one.run} is running; see it with `millrace tuner status`"])


@tuner.command()
@_request_options
@_lines
def run(show: Output, **options: object) -> None:
    """Start a run and follow its progress; Ctrl-C leaves the run active.

    Settings that are reversible are changed while the server is measured, and are those of the plan again at the end.
    """
    from millrace.measure.tuner.run import order
    from millrace.measure.tuner.run import text as words
    from millrace.system.errors import Failed
    from millrace.system.run import attempt

    ready = order.ready(_request(options), attempt)
    show.text(words.estimate(ready.estimate))
    order.start(ready, attempt)
    last = _follow(show)
    if last is not None and last.state != "done":
        raise Failed(f"the run {last.run} ended as {last.state}: {last.what}")


@tuner.command()
@_lines
def follow(show: Output) -> None:
    """Follow the active run until it ends."""
    _follow(show)


@tuner.command()
@prints("millrace.measure.tuner.run.outputs:TunerStatus")
def status(show: Output) -> None:
    """Show the active run with its remaining time, and what is applied."""
    from millrace.measure.tuner.run import live, tuner_journal
    from millrace.measure.tuner.run import text as words
    from millrace.measure.tuner.run.outputs import TunerStatus
    from millrace.measure.tuner.run.tuner_job import JOB
    from millrace.plan import measured
    from millrace.system.errors import BadInput
    from millrace.system.run import attempt

    running = JOB.runs(attempt)
    try:
        left = tuner_journal.in_force() if not running else None
    except BadInput:
        left = None
    report = TunerStatus(
        running=running,
        progress=live.latest(),
        applied=measured.find().measured,
        left=[change.setting for change in left.changed] if left else [],
    )
    show(report, words.status)


@tuner.command()
@prints("millrace.measure.tuner.run.outputs:TunerStopped")
def stop(show: Output) -> None:
    """Stop the active run and restore settings that a run has left."""
    from millrace.measure.tuner.run import restore
    from millrace.measure.tuner.run import text as words
    from millrace.measure.tuner.run.outputs import TunerStopped
    from millrace.measure.tuner.run.tuner_job import JOB
    from millrace.system.run import attempt
    from millrace.system.users import only_root

    only_root()
    running = JOB.runs(attempt)
    if running:
        JOB.cancel(attempt)
    show(TunerStopped(running=running, restored=restore.restore(attempt)), words.stopped)


@tuner.command(hidden=True)
def execute() -> None:
    """Run the tuner (started by millrace-tuner.service)."""
    from millrace.measure.tuner.run.session import execute as execute_order

    done = execute_order()
    click.echo(f"{done.id}: {done.state}{': ' + done.reason if done.reason else ''}")


@tuner.command(hidden=True)
def restore() -> None:
    """Restore settings that a run has left (run by millrace-tuner.service and at boot)."""
    from millrace.measure.tuner.run.restore import sweep
    from millrace.system.run import attempt

    for line in sweep(attempt):
        click.echo(f"restored: {line}")


@tuner.command("list")
@prints("millrace.measure.tuner.run.outputs:TunerRunList")
def list_(show: Output) -> None:
    """List runs, newest first."""
    from millrace.measure.tuner.run import store
    from millrace.measure.tuner.run import text as words
    from millrace.plan import measured

    applied = measured.find().measured
    show(store.listing(applied.run if applied else None), words.runs)


@tuner.command()
@click.argument("name", metavar="RUN", default="latest", shell_complete=_RUNS)
@prints("millrace.measure.tuner.model:TunerRun")
def show(name: str, show: Output) -> None:
    """Show one run: what mattered, and the winner beside the plan's settings and the kernel's defaults."""
    from millrace.measure.tuner.report import text
    from millrace.measure.tuner.run import store

    show(store.load(name), text.run)


@tuner.command()
@click.argument("name", metavar="RUN", default="latest", shell_complete=_RUNS)
@prints("millrace.measure.tuner.run.outputs:Applied")
def apply(name: str, show: Output) -> None:
    """Put the winner of a run into the policy and in force; `tuner revert` removes it."""
    from millrace.measure.tuner.run import text as words
    from millrace.measure.tuner.run.apply import apply as applied
    from millrace.system.run import attempt

    show(applied(name, attempt), words.applied)


@tuner.command()
@prints("millrace.measure.tuner.run.outputs:Reverted")
def revert(show: Output) -> None:
    """Remove what was applied; the settings are those of the planner and the policy's file again."""
    from millrace.measure.tuner.run import text as words
    from millrace.measure.tuner.run.apply import revert as reverted
    from millrace.system.run import attempt

    show(reverted(attempt), words.reverted)


@tuner.command()
@click.argument("name", metavar="RUN", shell_complete=_RUNS)
@click.option("--format", "kind", type=click.Choice(get_args(Format)), default="xlsx", help="File format.")
@click.argument("output", type=click.File("wb"), metavar="FILE")
def export(name: str, kind: Format, output: BinaryIO) -> None:
    """Write a run to FILE; `-` is standard output."""
    from millrace.measure.tuner.report.export import FORMATS
    from millrace.measure.tuner.run import store

    # before `output.write` is looked up, which opens the file: a refusal leaves it as it is
    content = FORMATS[kind](store.load(name))
    output.write(content)


def _follow(show: Output) -> "TunerProgress | None":
    from millrace.measure.tuner.run import live, tuner_job
    from millrace.measure.tuner.run import text as words
    from millrace.system.errors import Refused
    from millrace.system.run import attempt

    if not tuner_job.JOB.runs(attempt) and live.latest() is None:
        raise Refused("the tuner did not run since the server was started: `millrace tuner list` has the older runs")
    return show.each(tuner_job.follow(attempt), words.progress)


def _request(options: dict[str, object]) -> "TunerRequest":
    from millrace.measure.tuner.run.outputs import TunerRequest
    from millrace.measure.tuner.run.plan import seconds
    from millrace.system.documents import checked

    values = {**options, "budget": seconds(str(options["budget"]))}
    return checked(lambda: TunerRequest.model_validate(values))
