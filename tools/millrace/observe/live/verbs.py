# SPDX-License-Identifier: Apache-2.0
"""`millrace watch`."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import padded

if TYPE_CHECKING:
    from millrace.observe.live.model import LiveSample, ProtocolRates

INTERVAL = 1.0
"""Seconds between two lines, where a look is quick."""
REST = 4
"""A server that is slow to look has other work: it is left alone for so many times as long as the look took,"""
LONGEST_REST = 30.0
"""but no longer than this, in seconds."""
LEVEL = 7
"""Columns of the health, so that what follows does not move from line to line."""


@click.command()
@prints("millrace.observe.live.model:LiveSample", lines=True, words="Print JSON lines.")
def watch(show: Output) -> None:
    """Print throughput, latency, clients and running jobs every second (less often on a slow server) until stopped."""
    try:
        show.each(_lines(), _print)
    except BrokenPipeError:
        # The reader has ended. Python would report it once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lines(sleep: Callable[[float], None] = time.sleep) -> "Iterator[LiveSample]":
    from millrace.observe.health.host import Host
    from millrace.observe.live import latency
    from millrace.observe.live.sample import line, read_sample
    from millrace.system.run import quickly

    before = None
    while True:
        began = time.monotonic()
        latency.enable()
        # The pool may be created meanwhile.
        host = Host()
        now = read_sample(host.pool, quickly)
        seen = line(before, now, host)
        took = time.monotonic() - began
        yield seen
        before = now
        sleep(pause(took))


def pause(took: float) -> float:
    """Return the seconds until the next sample, after one that took `took` seconds."""
    return max(INTERVAL - took, min(REST * took, LONGEST_REST))


def _print(lines: "Iterable[LiveSample]") -> None:
    for one in lines:
        click.echo(_text(one))


def _text(one: "LiveSample") -> str:
    jobs = "".join(f"  {job.name} {job.state if job.progress is None else f'{job.progress:.1%}'}" for job in one.jobs)
    around = "  LOCALIO in use" if one.localio else ""
    return f"{padded(one.health, LEVEL)}  " + "  ".join(map(_rates, one.protocols)) + around + jobs


def _rates(one: "ProtocolRates") -> str:
    latency = "-" if one.latency_seconds is None else f"{one.latency_seconds * 1e3:.2f} ms"
    clients = "?" if one.clients is None else one.clients
    return (
        f"{one.name}: read {_speed(one.read_bytes_per_second)} write {_speed(one.write_bytes_per_second)} "
        f"latency {latency} clients {clients}"
    )


def _speed(rate: float | None) -> str:
    from millrace.system.text import size

    return "-" if rate is None else f"{size(int(rate))}/s"
