# SPDX-License-Identifier: Apache-2.0
"""A result that was measured by hand on a client becomes a run of this server."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from millrace import __version__
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.workloads import WORKS, digest
from millrace.measure.bench.result import figures, fio_output
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.choices import BenchLayer, CheckpointModel
from millrace.measure.bench.result.client import ClientFacts
from millrace.measure.bench.result.model import BenchRun, BenchState, Provenance, Rung, RunRequest
from millrace.measure.bench.run import guard
from millrace.measure.bench.run.environment import environment
from millrace.measure.bench.run.local import CREATED
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Runner
from millrace.system.text import one_line
from millrace.system.users import invoking_user, only_root
from millrace_client import VERSION

Words = Annotated[str, AfterValidator(one_line)]
"""A client's words are shown on terminals and pages."""
LATEST = 253_402_300_799
"""The end of the year 9999, in seconds since 1970: as far as dates go."""
LARGEST = 256 << 20
"""Bytes of a file that are looked at."""


class ClientMount(Contract):
    """How the directory was mounted on the client."""

    source: Words
    where: Words
    type: Words
    options: Words
    target: str = Field(pattern="^(nfs-tcp|nfs-rdma|smb)$")


class ClientMeasurement(Contract):
    """One workload; `raw` holds fio's output of each repeat, `error` why there is none."""

    id: str
    jobs: int = Field(ge=1, le=1 << 16)
    size: int = Field(ge=0, le=1 << 60)
    scaled: Words | None
    raw: list[dict[str, Any]]
    error: Words | None
    seconds: float = Field(ge=0, le=1e9)


class ByHand(Contract):
    """The file. Times in seconds since 1970."""

    plan: str
    model: CheckpointModel
    facts: ClientFacts
    mount: ClientMount
    started: float = Field(ge=0, le=LATEST)
    ended: float = Field(ge=0, le=LATEST)
    rungs: list[ClientMeasurement] = Field(min_length=1)


def take(file: Path, site: Site, run: Runner) -> BenchRun:
    """Read a file and store it as a run. BadInput: it is not a result; nothing is stored."""
    only_root()
    result = _read(file)
    name = results.new_id()
    rungs, raws = [], []
    for measured in result.rungs:
        rung, raw = _rung(measured, result, file)
        rungs.append(rung)
        raws.append(raw)
    kept = [
        rung.model_copy(
            update={
                "raw": [
                    results.keep(results.directory(name), rung.id, n, document)
                    for n, document in enumerate(raw, start=1)
                ]
            }
        )
        for rung, raw in zip(rungs, raws, strict=True)
    ]
    facts = result.facts
    record = BenchRun(
        id=name,
        started=_clock(result.started),
        ended=_clock(result.ended),
        state=BenchState.DONE,
        reason=f"measured by hand on {facts.host} ({result.mount.source}); this server was not watched meanwhile",
        request=RunRequest(
            layers=[BenchLayer.L3], profiles=list(dict.fromkeys(rung.workload.profile for rung in kept))
        ),
        labels=["emulated"] if guard.hypervisor(run) else [],
        provenance=Provenance(
            version=__version__,
            workload_hash=digest(sorted({rung.workload.sha256 for rung in kept})),
            fio=facts.fio,
            started_by=invoking_user(),
        ),
        environment=environment(site, run).model_copy(update={"clients": [facts]}),
        rungs=with_ceilings(kept, site.inventory, site.arrays, degraded=False),
    )
    results.save(record)
    return record


def _read(file: Path) -> ByHand:
    try:
        with file.open("rb") as content:
            # not its size, which a device does not have
            text = content.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise BadInput(f"{file} is too large for the result of a benchmark")
        result = ByHand.model_validate(json.loads(text))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
    # RecursionError: brackets without end
    except (ValueError, ValidationError, RecursionError) as error:
        raise BadInput(f"{file} is not what the program of `millrace client bench` writes") from error
    if result.facts.program != VERSION:
        raise BadInput(f"{file} was made by another version of the program: `millrace client bench` has this one")
    return result


def _rung(measured: ClientMeasurement, result: ByHand, file: Path) -> tuple[Rung, list[dict[str, Any]]]:
    """The workload is this server's own by that name, whatever the file has for it."""
    work = {work.name: work for work in WORKS}.get(measured.id)
    if work is None or (measured.error is None and not measured.raw):
        raise BadInput(f"{file} has a workload {measured.id} that this server does not know, or nothing of it")
    rung = Rung(
        id=f"L3/{result.mount.target}/{work.name}",
        layer=BenchLayer.L3,
        target=result.mount.target,
        workload=work.workload(measured.scaled),
        state=BenchState.PENDING,
        jobs=measured.jobs,
        size=measured.size,
        flags=["scaled"] if measured.scaled else [],
    )
    if measured.error is not None:
        return rung.model_copy(update={"state": BenchState.FAILED, "reason": f"{work.name}: {measured.error}"}), []
    try:
        repeats = [
            fio_output.outcome(fio_output.final(json.dumps(raw), 0, ""), CREATED.get(work.engine))
            for raw in measured.raw
        ]
        if not all(repeat.flows for repeat in repeats):
            raise Failed("nothing was measured")
        done = figures.completed(rung, repeats, [], measured.seconds)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, Failed) as error:
        raise BadInput(f"{file} has a report of {measured.id} that is not one of fio: {error}") from error
    return figures.with_training_figures(done, result.model), measured.raw


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
