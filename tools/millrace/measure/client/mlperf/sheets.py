# SPDX-License-Identifier: Apache-2.0
"""Commands of mlpstorage for each model, with the sizes that the rules ask for. Pure."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.model import BenchRun, BenchState
from millrace.measure.client.mlperf import rules
from millrace.measure.client.mlperf.model import Forecast, Sheet
from millrace.measure.client.model import Note
from millrace.plan.model import PlanOutcome
from millrace.system.text import GIB, binary, size

RULES = f"MLPerf Storage {rules.EDITION}, Rules.md"
HIGHEST_FIRST = ("L3", "L2", "L1")
LEAST_PROCESSES = 4
"""Processes of a checkpoint on each client."""


@dataclass(frozen=True)
class Asked:
    """What was asked for. `memory` is that of one client in bytes; `accelerators` None: as many as are forecast.

    `results` is a directory of the clients that is not on this server, `mountpoint` where they have the share.
    """

    name: str
    accelerator: str
    accelerators: int | None
    clients: int
    memory: int
    mountpoint: str
    results: str
    free: int


def training(
    workload: rules.Training, asked: Asked, runs: Sequence[BenchRun], outcomes: Sequence[PlanOutcome]
) -> Sheet:
    """Return the sheet of a training workload."""
    prediction = forecast(workload, runs, outcomes)
    count = asked.accelerators or max(1, prediction.count or 1)
    # every client has as many
    count = math.ceil(count / asked.clients) * asked.clients
    samples = workload.samples(count, asked.clients * asked.memory)
    bytes_ = samples * workload.record
    start = f"mlpstorage closed training {workload.model}"
    memory = f"--client-host-memory-in-gb {_gib(asked.memory)}"
    where = f"--results-dir {shlex.quote(asked.results)} --systemname {asked.name}"
    data = f"--data-dir {shlex.quote(f'{asked.mountpoint}/{workload.model}')}"
    files = f"--param dataset.num_files_train={samples}"
    hosts = _hosts(asked.clients)
    return Sheet(
        kind="training",
        model=workload.model,
        accelerators=count,
        files=samples,
        size=bytes_,
        processes=count,
        fits=bytes_ <= asked.free,
        forecast=prediction,
        commands=[
            # without the clients it counts the memory of one; the run is held to the directory that is named here
            f"{start} datasize {hosts} --accelerator-type {workload.accelerator} --max-accelerators {count} {memory} "
            f"{data} {where}",
            f"{start} datagen file {hosts} --num-processes {count} {data} {where} {files}",
            f"for run in $(seq {rules.RUNS}); do {start} run file {hosts} --accelerator-type {workload.accelerator} "
            f"--num-accelerators {count} {memory} {data} {where} {files}; done",
        ],
        notes=[
            Note(
                text=f"{samples} files: the larger of {rules.STEPS} steps × {workload.batch} samples × {count} "
                f"accelerators and {rules.MEMORY_MULTIPLE} × {binary(asked.clients * asked.memory)} of memory of all "
                "clients. datasize prints the number that counts.",
                source=f"{RULES} 3.1.2",
            ),
            Note(text=f"{rules.RUNS} runs without a pause; the first is a warm-up.", source=f"{RULES} 2.1.17"),
            _results(asked),
            _initialised(asked),
            *_space(bytes_, asked),
        ],
    )


def checkpointing(checkpoint: rules.CheckpointRules, asked: Asked) -> Sheet:
    """Return the sheet of a checkpoint."""
    bytes_ = rules.CHECKPOINTS * checkpoint.size
    each = bytes_ // asked.clients
    cached = each < rules.CACHED * asked.memory
    command = (
        f"mlpstorage closed checkpointing run file {_hosts(asked.clients)} --model {checkpoint.model} "
        f"--num-processes {checkpoint.processes} --accelerator-type {asked.accelerator} "
        f"--client-host-memory-in-gb {_gib(asked.memory)} "
        f"--checkpoint-folder {shlex.quote(f'{asked.mountpoint}/{checkpoint.model}')} "
        f"--results-dir {shlex.quote(asked.results)} --systemname {asked.name}"
    )
    most = checkpoint.processes // LEAST_PROCESSES
    if asked.clients > most:
        spread = f"{checkpoint.processes} processes are too few for {asked.clients} clients: use at most {most}."
    else:
        spread = f"{checkpoint.processes} processes, {_spread(checkpoint.processes, asked.clients)} on each client."
    notes = [
        Note(
            text=f"{spread} CLOSED takes no other number, and at least {LEAST_PROCESSES} on each client.",
            source=f"{RULES} 4.6.1, 4.6.2",
        )
    ]
    memory = checkpoint.processes * rules.ACCELERATOR_MEMORY[asked.accelerator]
    fit = "enough" if memory >= checkpoint.size else "too little"
    notes.append(
        Note(
            text=f"Memory of {checkpoint.processes} {asked.accelerator}: {size(memory)}, "
            f"{fit} for {binary(checkpoint.size)}.",
            source=f"{RULES} 4.3.4",
        )
    )
    if cached:
        notes.append(
            Note(
                text=f"Each client writes {binary(each)}, less than {rules.CACHED} × its memory: two runs, and the "
                "caches of all clients are dropped between them within 30 s.",
                source=f"{RULES} 4.3.1, 4.7.1",
            )
        )
    return Sheet(
        kind="checkpointing",
        model=checkpoint.model,
        accelerators=None,
        files=None,
        size=bytes_,
        processes=checkpoint.processes,
        fits=bytes_ <= asked.free,
        forecast=None,
        commands=[
            f"{command} --num-checkpoints-read 0",
            "sync; echo 3 > /proc/sys/vm/drop_caches    # on every client, as root",
            f"{command} --num-checkpoints-write 0",
        ]
        if cached
        else [command],
        notes=[*notes, _results(asked), _initialised(asked), *_space(bytes_, asked)],
    )


def kv_cache(asked: Asked) -> Sheet:
    """Return the sheet of the KV cache, whose size follows from the speed."""
    return Sheet(
        kind="kv_cache",
        model="llama3.1-8b, llama3.1-70b-instruct",
        accelerators=None,
        files=None,
        size=None,
        processes=asked.clients,
        fits=None,
        forecast=None,
        commands=[
            f"mlpstorage closed kvcache run {_hosts(asked.clients)} --cache-dir "
            f"{shlex.quote(f'{asked.mountpoint}/kvcache')} --results-dir {shlex.quote(asked.results)} "
            f"--systemname {asked.name}"
        ],
        notes=[
            Note(
                text="Three fixed options of 300 s, three trials each. How much is written follows from the speed: "
                "give the share a size.",
                source=f"{RULES} 6.3.1",
            ),
            Note(
                text="For more than one client, the results directory must be the same on all clients, and not on this "
                "server.",
                source=f"{RULES} 6.3.3.4, 6.4",
            ),
            _initialised(asked),
        ],
    )


def forecast(workload: rules.Training, runs: Sequence[BenchRun], outcomes: Sequence[PlanOutcome]) -> Forecast:
    """Return how many accelerators are expected: from the highest layer that was measured, else from the plan."""
    name = workload.accelerator.upper()
    for layer in HIGHEST_FIRST:
        for run in runs:
            for rung in run.rungs:
                if (
                    rung.state is not BenchState.DONE
                    or rung.layer != layer
                    or rung.workload.profile != BenchProfile(workload.model)
                ):
                    continue
                hit = next((each for each in rung.accelerators if each.accelerator == name), None)
                if hit and hit.enough and "emulated" not in run.labels:
                    text = f"Forecast from a measurement: {rung.id} of run {run.id}; not an MLPerf result."
                    return Forecast(
                        accelerator=workload.accelerator,
                        count=hit.count,
                        bandwidth=hit.bandwidth,
                        source="measured",
                        text=text,
                    )
    reads = [each for each in outcomes if each.direction == "read" and each.state == "healthy" and each.limit]
    best = max(reads, key=lambda each: each.limit or 0, default=None)
    if best is None or best.limit is None:
        text = "No forecast: nothing was measured, and the plan knows no limit of reads."
        return Forecast(accelerator=workload.accelerator, count=None, bandwidth=None, source="unknown", text=text)
    text = f"Forecast from the plan: {size(best.limit)}/s of reads, bound by {best.bound_by}; nothing was measured."
    return Forecast(
        accelerator=workload.accelerator,
        count=math.floor(best.limit / workload.need),
        bandwidth=best.limit,
        source="predicted",
        text=text,
    )


def _gib(memory: int) -> int:
    return math.ceil(memory / GIB)


def _hosts(clients: int) -> str:
    return "--hosts " + " ".join(f"CLIENT{number}" for number in range(1, clients + 1))


def _results(asked: Asked) -> Note:
    text = f"{asked.results} must be on another file system than {asked.mountpoint}."
    return Note(text=text, source=f"{RULES} 3.4.2, 4.4.2")


def _initialised(asked: Asked) -> Note:
    text = f"Before the first command, once: mlpstorage init ORGANIZATION {shlex.quote(asked.results)}"
    return Note(text=text, source=f"{RULES} 6.3.5")


def _spread(processes: int, clients: int) -> str:
    least, rest = divmod(processes, clients)
    return f"{least} or {least + 1}" if rest else str(least)


def _space(needed: int, asked: Asked) -> list[Note]:
    if needed <= asked.free:
        return []
    text = f"Too large for the pool: {size(needed)} are needed, {size(asked.free)} are free."
    return [Note(text=text, source="statvfs(3) of the pool")]
