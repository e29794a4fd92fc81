# SPDX-License-Identifier: Apache-2.0
"""One repeat on all clients at once: each runs fio, or a load that fio cannot make, and sends its report.

fio's own client/server protocol is not used: there the client does what the server requests, and the server may request
any file (fio 3.41, FIO_NET_CMD_SENDFILE).
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from millrace.measure.bench.plan.job import OWN, FioJob, directory_of, job_file, own_program
from millrace.measure.bench.result import fio_output
from millrace.measure.bench.result.fio_output import Document, RepeatOutcome
from millrace.measure.bench.result.model import Direction
from millrace.measure.bench.run.local import CREATED, Live, Local
from millrace.measure.bench.run.remote.connection import ClientConnection
from millrace.system.errors import Failed
from millrace_client import au
from millrace_client.au import Probe, Training

PATIENCE = 20
"""A load that has not ended after so many times its length does not end."""
START = 120.0
SLOWEST, FEWEST = 20e6, 50
"""Bytes/s and files/s of a client: work of a given amount is given up after PATIENCE times what it takes then."""
Understood = TypeVar("Understood")


@dataclass(frozen=True)
class Remote:
    """Measures on clients. `local` lays files out on this server; each client has a copy of its own."""

    local: Local
    clients: Sequence[ClientConnection]

    def run(self, job: FioJob, live: Live | None = None) -> RepeatOutcome:
        """Measure one repeat on all clients.

        Failed: it did not get to its end on a client; Full: space ran out; RepeatStopped: the run was stopped.
        """
        if job.create_only:
            return self.local.run(job, live)
        if job.work.operation == "train":
            return self._trained(job)
        if job.work.engine == OWN:
            return self._own(job)
        requests = [{"verb": "fio", "job": job_file(copy)} for copy in self.copies(job)]
        return self._summed(requests, self._length(job), CREATED.get(job.work.engine))

    def copies(self, job: FioJob) -> list[FioJob]:
        """Return the same job for each client, on its own files."""
        return [replace(job, target=replace(job.target, copy=number)) for number in range(len(self.clients))]

    @staticmethod
    def _length(job: FioJob) -> float:
        """Seconds of a repeat: as asked, or for its bytes and files at the slowest that is worth waiting for."""
        count = job.jobs * job.files.per_job
        return job.seconds or count * job.files.most / SLOWEST + count / FEWEST

    def _own(self, job: FioJob) -> RepeatOutcome:
        arguments = [own_program(copy, directory_of(copy)) for copy in self.copies(job)]
        return self._summed([{"verb": "run", "arguments": one} for one in arguments], job.seconds or 0)

    def _summed(
        self, requests: Sequence[dict[str, Any]], seconds: float, as_direction: Direction | None = None
    ) -> RepeatOutcome:
        total = RepeatOutcome()
        for client, document in zip(self.clients, self._run_on_all(requests, seconds), strict=True):
            one = understood(client, lambda document=document: fio_output.outcome(document, as_direction))  # type: ignore[misc]
            one.parts = dict(zip([client.address], one.parts.values(), strict=False))
            total.merge(one)
            total.raw[client.name] = document
        return total

    def _trained(self, job: FioJob) -> RepeatOutcome:
        """One search over all clients: each number of accelerators is spread over them evenly."""
        trainings = [one for one in au.TRAININGS if one.profile == job.work.profile]
        most = sum(au.MOST_PER_CPU * one.facts.cpus for one in self.clients)
        text = au.searched(trainings, job.seconds or 0, most, lambda *what: self._probe(job, *what))
        document = json.loads(text)
        return fio_output.outcome(document)

    def _probe(self, job: FioJob, training: Training, count: int, seconds: float) -> Probe:
        shares = [
            count // len(self.clients) + (number < count % len(self.clients)) for number in range(len(self.clients))
        ]
        requests: list[dict[str, Any]] = []
        for copy, share in zip(self.copies(job), shares, strict=True):
            more = ("--accelerator", training.accelerator, "--count", str(share))
            arguments = [*own_program(replace(copy, seconds=seconds), directory_of(copy)), *more]
            requests.append({"verb": "run", "arguments": arguments} if share else {})
        length = max(seconds, au.STEPS * training.compute)
        replies = zip(self.clients, self._run_on_all(requests, length), strict=True)
        return together([understood(client, lambda reply=reply: probe(reply)) for client, reply in replies if reply])  # type: ignore[misc]

    def _run_on_all(self, requests: Sequence[dict[str, Any]], seconds: float) -> list[Document]:
        """Return the reply of each client, all having run at the same time; none of one without a job."""

        def measured(client: ClientConnection, request: dict[str, Any]) -> Document:
            return report(client, client.request(seconds=START + PATIENCE * seconds, **request)) if request else {}

        with ThreadPoolExecutor(len(self.clients)) as pool:
            return list(pool.map(measured, self.clients, requests))


def report(client: ClientConnection, reply: dict[str, Any]) -> Document:
    """Return the report in a client's reply. Failed: its load did not get to its end; Full where space ran out."""
    return understood(client, lambda: fio_output.final(str(reply["out"]), int(reply["status"]), str(reply["err"])))


def understood(client: ClientConnection, read: Callable[[], Understood]) -> Understood:
    """Return what `read` parses from a client's reply, which may be anything. Failed: it is no report."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Failed(f"client {client.name} sent an invalid reply: it is not a report of its load") from error


def probe(document: Document) -> Probe:
    """Return a probe of a report. ValueError, KeyError: there is none."""
    values = document["probe"]
    numbers = {one.name: float(values[one.name]) for one in fields(Probe)}
    if min(numbers.values()) < 0 or not numbers["seconds"]:
        raise ValueError("a probe takes time, and counts")
    counts = {name: int(numbers.pop(name)) for name in ("count", "bytes", "files")}
    return Probe(**counts, au=numbers["au"], seconds=numbers["seconds"])


def together(probes: Sequence[Probe]) -> Probe:
    """Return probes of several clients as one: the sum of their rates, the utilisation of the slowest.

    In a training all wait for all at each step, so none is busier than the slowest; the clients here share no barrier.
    """
    count = sum(one.count for one in probes)
    size = sum(one.bytes for one in probes)
    rate = sum(one.bandwidth for one in probes)
    seconds = size / rate if rate else probes[0].seconds
    return Probe(count, min(one.au for one in probes), size, sum(one.files for one in probes), seconds)
