# SPDX-License-Identifier: Apache-2.0
"""`millrace metrics …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.observe.metrics.model import MetricsEndpoint

_endpoint = prints("millrace.observe.metrics.model:MetricsEndpoint")


@click.group(cls=VerbGroup, invoke_without_command=True)
@click.pass_context
def metrics(context: click.Context) -> None:
    """Print Millrace's own metrics in the text format of Prometheus; `on` serves them to a monitoring system.

    The endpoint adds the metrics of node_exporter: CPU, memory, network, md, XFS and NFS.
    """
    if context.invoked_subcommand is None:
        from millrace.observe.metrics.collect import collect

        click.echo(collect(), nl=False)


@metrics.command()
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input, one line; else one is made.")
@click.option("--new-token", is_flag=True, help="Make a token, shown once, also with --from.")
@click.option(
    "--from",
    "addresses",
    metavar="ADDRESS",
    multiple=True,
    help="Let only this address or network read, without a token unless an option asks for one; repeatable.",
)
@_endpoint
def on(token_stdin: bool, new_token: bool, addresses: tuple[str, ...], show: Output) -> None:
    """Serve metrics by HTTPS on port 19100; make a token, shown once, where no option says who may read."""
    from millrace.observe.metrics import endpoint
    from millrace.system.prompt import secret
    from millrace.system.run import attempt

    if token_stdin and new_token:
        raise click.UsageError("--token-stdin and --new-token cannot be combined")
    token = secret("Token", True, "--token-stdin") if token_stdin else None
    show(endpoint.turn_on(addresses, token, attempt, new_token), _lines)


@metrics.command()
@_endpoint
def off(show: Output) -> None:
    """Stop serving metrics and forget the token."""
    from millrace.observe.metrics import endpoint
    from millrace.system.run import attempt

    show(endpoint.turn_off(attempt), _lines)


@metrics.command()
@_endpoint
def status(show: Output) -> None:
    """Show whether metrics are served, and who may read them."""
    from millrace.observe.metrics import endpoint

    show(endpoint.status(), _lines)


@metrics.command(hidden=True)
def write() -> None:
    """Keep the history; while metrics are served, collect them. What millrace-metrics-collect.service runs."""
    from millrace.observe.history.sampler import sample
    from millrace.observe.metrics.endpoint import settings_file
    from millrace.system import paths

    try:
        if settings_file().exists():
            from millrace.observe.metrics.collect import collect
            from millrace.system.files import write_text

            text = collect()
            # they may have been switched off meanwhile
            if settings_file().exists():
                write_text(paths.metrics_file(), text)
    finally:
        sample()


@metrics.command(hidden=True)
def serve() -> None:
    """Serve the collected metrics until the process ends; what millrace-metrics.service runs."""
    from millrace.observe.metrics import serve

    serve.run()


def _lines(found: "MetricsEndpoint") -> Iterator[str]:
    if not found.enabled:
        yield "Metrics are not served: millrace metrics on"
        return
    who = f"at {', '.join(found.addresses)}" if found.addresses else "at any address"
    how = "with the token" if found.token else "without a token"
    yield f"Metrics are served at https://SERVER:{found.port}/metrics to readers {who}, {how}."
    if found.new_token:
        yield f"Token: {found.new_token}"
        yield "It is not shown again."
