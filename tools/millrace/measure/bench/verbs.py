# SPDX-License-Identifier: Apache-2.0
"""`millrace bench …`."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, get_args

import click

from millrace.measure.bench.result.choices import BenchLayer, BenchProfile, CheckpointModel, Format
from millrace.storage.drive.drive_word import DRIVE
from millrace.system.completion import completes
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from millrace.measure.bench.result.model import RunRequest
    from millrace.measure.bench.result.outputs import BenchProgress, BenchStopped

LAYERS = [one.value for one in BenchLayer]
PROFILES = [one.value for one in BenchProfile]


def _ids() -> list[str]:
    from millrace.measure.bench.result.store import ids

    return [*ids(), "latest"]


_RUNS = completes(_ids)
_run = prints("millrace.measure.bench.result.model:BenchRun")
_clients = prints("millrace.measure.bench.result.client:BenchClients")
_lines = prints(
    "millrace.measure.bench.result.outputs:BenchProgress", lines=True, words="Print progress as JSON lines."
)


def _request_options(verb: "Callable[..., None]") -> "Callable[..., None]":
    """The options that make a request."""
    options = [
        click.option("--quick", "mode", flag_value="quick", default="quick", help="3 repeats of 5 s, five workloads."),
        click.option("--full", "mode", flag_value="full", help="5 repeats of 30 s, all workloads, each drive alone."),
        click.option(
            "--layer",
            "layers",
            multiple=True,
            type=click.Choice(LAYERS),
            help="Layer to measure; repeatable [default: all].",
        ),
        click.option(
            "--profile",
            "profiles",
            multiple=True,
            type=click.Choice(PROFILES),
            help="Benchmark profile to measure; repeatable [default: all].",
        ),
        click.option("--client", "clients", multiple=True, metavar="HOST", help="Client for layer L3; repeatable."),
        click.option("--seconds", type=float, help="Length of one repeat in seconds, 1 to 3600."),
        click.option("--repeats", type=int, help="Repeats of each workload, 1 to 100."),
        click.option("--size", metavar="SIZE", help="Maximum size of test files in the pool, for example 200G."),
        click.option(
            "--model",
            type=click.Choice(get_args(CheckpointModel)),
            default="8b",
            help="Model whose checkpoint is emulated.",
        ),
        click.option("--degraded", is_flag=True, help="Allow on a degraded or resyncing array."),
        click.option("--with-clients", is_flag=True, help="Allow while clients are connected."),
        click.option(
            "--write-drive",
            "write_drives",
            multiple=True,
            metavar="DRIVE",
            type=DRIVE,
            help="Blank drive to overwrite (serial number, bay or device); repeatable.",
        ),
    ]
    for option in reversed(options):
        verb = option(verb)
    return verb


@click.group(cls=VerbGroup)
def bench() -> None:
    """Benchmark drives, arrays, NFS/SMB and clients against hardware limits."""


@bench.command()
@_request_options
@prints("millrace.measure.bench.result.outputs:BenchEstimate")
def estimate(show: Output, **options: object) -> None:
    """Estimate duration and size of a run and list obstacles; start nothing."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.run import order

    show(order.estimate(_request(options)), text.estimate)


@bench.command()
@_request_options
@prints("millrace.measure.bench.result.outputs:BenchStarted")
def start(show: Output, **options: object) -> None:
    """Start a run in the background; closing this terminal does not stop the run."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.run import order

    ready, labels = order.ready(_request(options))
    show.text(text.estimate(ready.estimate))
    started = order.start(ready, labels)
    show(started, lambda one: [f"{one.run} is running; follow it with `millrace bench follow`"])


@bench.command()
@_request_options
@_lines
def run(show: Output, **options: object) -> None:
    """Start a run and follow its progress; Ctrl-C leaves the run active."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.run import order
    from millrace.system.errors import Failed

    ready, labels = order.ready(_request(options))
    show.text(text.estimate(ready.estimate))
    order.start(ready, labels)
    last = _follow(show)
    if last is not None and last.state != "done":
        raise Failed(f"the run {last.run} ended as {last.state}: {last.what}")


@bench.command()
@prints("millrace.measure.bench.result.outputs:BenchStopped")
def stop(show: Output) -> None:
    """Stop the active run and clean up after interrupted runs."""
    from millrace.measure.bench.result.outputs import BenchStopped
    from millrace.measure.bench.run import cleanup
    from millrace.measure.bench.run.bench_job import JOB
    from millrace.system.run import attempt
    from millrace.system.users import only_root

    only_root()
    running = JOB.runs(attempt)
    if running:
        JOB.cancel(attempt)
    ended = BenchStopped(running=running, removed=cleanup.clean_up(attempt))
    show(ended, _stopped)


@bench.command(hidden=True)
def execute() -> None:
    """Run the benchmark (started by millrace-bench.service)."""
    from millrace.measure.bench.run.session import execute as execute_order

    done = execute_order()
    click.echo(f"{done.id}: {done.state}{': ' + done.reason if done.reason else ''}")


@bench.command("sweep", hidden=True)
def clean_up() -> None:
    """Clean up after interrupted runs."""
    from millrace.measure.bench.run import cleanup
    from millrace.system.run import attempt

    for line in cleanup.sweep(attempt):
        click.echo(f"removed: {line}")


@bench.command("list")
@prints("millrace.measure.bench.result.outputs:BenchRunList")
def list_(show: Output) -> None:
    """List runs, newest first."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.result import store

    show(store.listing(), text.runs)


@bench.command()
@click.argument("name", metavar="RUN", default="latest", shell_complete=_RUNS)
@_run
def show(name: str, show: Output) -> None:
    """Show one run: each measurement with its limit and bottleneck."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.result import store

    show(store.load(name), text.run)


@bench.command()
@click.argument("first", metavar="RUN", shell_complete=_RUNS)
@click.argument("second", metavar="RUN", shell_complete=_RUNS)
@prints("millrace.measure.bench.report.compare:Comparison")
def compare(first: str, second: str, show: Output) -> None:
    """Compare two runs; differences within noise are not significant."""
    from millrace.measure.bench.report import text
    from millrace.measure.bench.report.compare import compare as compared
    from millrace.measure.bench.result import store

    show(compared(store.load(first), store.load(second)), text.comparison)


@bench.command()
@click.argument("name", metavar="RUN", shell_complete=_RUNS)
@click.option("--format", "kind", type=click.Choice(get_args(Format)), default="html", help="File format.")
@click.argument("output", type=click.File("wb"), metavar="FILE")
def export(name: str, kind: Format, output: BinaryIO) -> None:
    """Write a run to FILE; `-` is standard output."""
    from millrace.measure.bench.report.export import FORMATS as makers
    from millrace.measure.bench.result import store

    # before `output.write` is looked up, which opens the file: a refusal leaves it as it is
    content = makers[kind](store.load(name))
    output.write(content)


@bench.group(cls=VerbGroup)
def clients() -> None:
    """Manage benchmark clients for layer L3."""


@clients.command()
@click.argument("host", metavar="HOST")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input, one line.")
@_clients
def add(host: str, token_stdin: bool, show: Output) -> None:
    """Add a client that runs `millrace-bench.pyz --listen SERVER` (see `millrace client bench`).

    Prompts for the token that the client program shows; the token is never read from the command line.
    """
    from millrace.measure.bench.plan import clients
    from millrace.measure.bench.run.remote import register
    from millrace.system.prompt import secret

    client = register.add(host, secret("Token", token_stdin, "--token-stdin"))
    facts = f"{client.facts.fio}, {client.facts.cpus} processors"
    show(clients.load(), lambda _: [f"{host} ({client.address}) has been added: {facts}"])


@clients.command("list")
@_clients
def list_clients(show: Output) -> None:
    """List benchmark clients."""
    from millrace.measure.bench.plan import clients
    from millrace.measure.bench.report import text

    show(clients.load(), text.clients)


@clients.command()
@click.argument("host", metavar="HOST")
@_clients
def remove(host: str, show: Output) -> None:
    """Remove a benchmark client."""
    from millrace.measure.bench.run.remote import register

    show(register.remove(host), lambda _: [f"{host} has been removed"])


@clients.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@_run
def take(file: Path, show: Output) -> None:
    """Store a result measured by hand on a client as a run (see `millrace client bench`)."""
    from millrace.measure.bench.plan import site
    from millrace.measure.bench.report import text
    from millrace.measure.bench.run.remote.import_result import take as taken
    from millrace.system.run import attempt

    show(taken(file, site.site(), attempt), text.run)


@bench.command("import")
@click.option(
    "--model",
    required=True,
    type=click.Choice(["unet3d", "retinanet", "llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t", "kvcache"]),
    help="Workload of the run.",
)
@click.option("--accelerator", type=click.Choice(["b200", "mi355"]), help="Emulated accelerator of a training run.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@_run
def import_(model: str, accelerator: str | None, file: Path, show: Output) -> None:
    """Store summary.json of a run of mlpstorage 3.0 (MLPerf Storage) as a run; see `millrace client mlperf`."""
    from millrace.measure.bench.plan import site
    from millrace.measure.bench.report import text
    from millrace.measure.bench.run.mlpstorage import take as taken
    from millrace.system.run import attempt

    show(taken(file, model, accelerator, site.site(), attempt), text.run)


@bench.command()
@_lines
def follow(show: Output) -> None:
    """Follow the active run until it ends."""
    _follow(show)


def _follow(show: Output) -> "BenchProgress | None":
    from millrace.measure.bench.report.text import bar
    from millrace.measure.bench.result import live
    from millrace.measure.bench.run import bench_job
    from millrace.system.errors import Refused
    from millrace.system.run import attempt

    if not bench_job.JOB.runs(attempt) and live.latest() is None:
        raise Refused("no benchmark ran since the server was started: `millrace bench list` has the older ones")
    return show.each(bench_job.follow(attempt), bar)


def _stopped(ended: "BenchStopped") -> "Iterator[str]":
    yield "the benchmark has been stopped" if ended.running else "no benchmark is running"
    for line in ended.removed:
        yield f"removed: {line}"


def _request(options: dict[str, object]) -> "RunRequest":
    from millrace.measure.bench.plan.prepare import request

    return request(options)
