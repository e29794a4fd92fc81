# SPDX-License-Identifier: Apache-2.0
"""One repeat on all clients at once: fio's client drives their fio, their programs make what fio cannot."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from millrace.bench import au, fio_output
from millrace.bench.au import Probe, Training
from millrace.bench.fio_output import Document, Outcome
from millrace.bench.measure import CREATED, OWN, Job, Live, Local, directory_of, job_file, own_program
from millrace.bench.remote.connection import Connection
from millrace.errors import Failed

PATIENCE = 20
"""A load that has not ended after so many times its length does not end."""
START = 120.0


@dataclass(frozen=True)
class Remote:
    """`local` lays files out on this server; each client has a copy of its own."""

    local: Local
    clients: Sequence[Connection]

    def run(self, job: Job, live: Live | None = None) -> Outcome:
        """One repeat; Failed, Full or Stopped where it did not get to its end on any client."""
        if job.create_only:
            return self.local.run(job, live)
        if job.work.operation == "train":
            return self._trained(job)
        if job.work.engine == OWN:
            return self._own(job)
        as_direction = CREATED.get(job.work.engine)
        document = self.local.client(self._jobs(job), as_direction, live)
        there = {str(one["hostname"]) for one in fio_output.jobs(document)}
        silent = [one.name for one in self.clients if one.address not in there]
        if silent:
            raise Failed(f"client {silent[0]} did not say what it measured")
        return fio_output.outcome(document, as_direction)

    def copies(self, job: Job) -> list[Job]:
        """The same job for each client, on its own files."""
        return [replace(job, spot=replace(job.spot, copy=number)) for number in range(len(self.clients))]

    def _jobs(self, job: Job) -> list[str]:
        options = []
        for number, (client, copy) in enumerate(zip(self.clients, self.copies(job), strict=True)):
            path = self.local.scratch / f"client{number}.fio"
            path.write_text(job_file(copy))
            options += [client.fio, str(path)]
        return options

    def _own(self, job: Job) -> Outcome:
        arguments = [own_program(copy, directory_of(copy)) for copy in self.copies(job)]
        total = Outcome()
        for client, document in zip(self.clients, self._all(arguments, job.seconds or 0), strict=True):
            one = fio_output.outcome(document)
            one.parts = dict(zip([client.address], one.parts.values(), strict=False))
            total.merge(one)
            total.raw[client.name] = document
        return total

    def _trained(self, job: Job) -> Outcome:
        """One search over all clients: each number of accelerators is spread over them evenly."""
        trainings = [one for one in au.TRAININGS if one.profile == job.work.profile]
        most = sum(au.MOST_PER_CPU * one.facts.cpus for one in self.clients)
        text = au.searched(trainings, job.seconds or 0, most, lambda *what: self._probe(job, *what))
        document = json.loads(text)
        return fio_output.outcome(document)

    def _probe(self, job: Job, training: Training, count: int, seconds: float) -> Probe:
        shares = [
            count // len(self.clients) + (number < count % len(self.clients)) for number in range(len(self.clients))
        ]
        arguments = []
        for copy, share in zip(self.copies(job), shares, strict=True):
            more = ("--accelerator", training.accelerator, "--count", str(share))
            arguments.append([*own_program(replace(copy, seconds=seconds), directory_of(copy)), *more] if share else [])
        length = max(seconds, au.STEPS * training.compute)
        return together([Probe(**one["probe"]) for one in self._all(arguments, length) if one])

    def _all(self, arguments: Sequence[list[str]], seconds: float) -> list[Document]:
        """What each client's program said, all having run at the same time; nothing of one that had nothing to do."""

        def one(client: Connection, what: list[str]) -> Document:
            if not what:
                return {}
            said = client.ask("run", START + PATIENCE * seconds, arguments=what)
            return fio_output.final(said["out"], said["status"], said["err"])

        with ThreadPoolExecutor(len(self.clients)) as pool:
            return list(pool.map(one, self.clients, arguments))


def together(probes: Sequence[Probe]) -> Probe:
    """Probes of several clients as one: the sum of their rates, the utilisation of the slowest.

    In a training all wait for all at each step, so that nobody is busier than the slowest; clients do not share a
    barrier here.
    """
    count = sum(one.count for one in probes)
    size = sum(one.bytes for one in probes)
    rate = sum(one.bandwidth for one in probes)
    seconds = size / rate if rate else probes[0].seconds
    return Probe(count, min(one.au for one in probes), size, sum(one.files for one in probes), seconds)
