# SPDX-License-Identifier: Apache-2.0
"""The winner of a run in the policy, with the run as its source; a revert removes exactly that."""

from pydantic import ValidationError

from millrace.measure.tuner.knobs.whitelist import WHITELIST
from millrace.measure.tuner.model import Level, TunerRun
from millrace.measure.tuner.run import store
from millrace.measure.tuner.run.outputs import Applied, Reverted
from millrace.measure.tuner.run.tuner_job import JOB
from millrace.plan import measured
from millrace.plan.measured import MeasuredPolicy, Overrides, overrides
from millrace.plan.policy.policy_in_force import find
from millrace.plan.settings import Basis, RuntimePolicy, settings_of
from millrace.storage.record.pool_file import load_pool
from millrace.system import locks, paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.model_errors import sentence
from millrace.system.run import Runner, last_words
from millrace.system.units import SHARES, TUNE
from millrace.system.users import invoking_user, only_root
from millrace.tune import settings as tuning

UNITS = (SHARES, TUNE)
"""What renders nfs.conf, and what sets the rest."""


def apply(name: str, run: Runner) -> Applied:
    """Put the winner of a run into the policy and in force.

    Refused: the run has no winner, the hardware is another, or a run is active. BadInput: there is no such run. Failed:
    the settings were written and could not be set.
    """
    only_root()
    with locks.held(paths.run_dir() / "tuner-apply.lock"):
        if JOB.runs(run):
            raise Refused(JOB.busy)
        record = store.load(name)
        if record.outcome is None or record.outcome.verdict != "candidate":
            why = record.outcome.reason if record.outcome else f"it ended as {record.state}"
            raise Refused(f"run {record.id} has nothing to apply: {why}")
        document = _document(record, run)
        write_model(measured.file(), document)
        _in_force(run)
        return Applied(run=record.id, source=measured.source(document), values=values(document.values))


def revert(run: Runner) -> Reverted:
    """Remove what was applied, and put the policy's and the planner's settings in force.

    Refused: nothing is applied, or a run is active. Failed: the settings could not be set.
    """
    only_root()
    with locks.held(paths.run_dir() / "tuner-apply.lock"):
        if JOB.runs(run):
            raise Refused(JOB.busy)
        if not measured.file().exists():
            raise Refused("no settings of the tuner are applied")
        document = measured.find().measured
        measured.file().unlink()
        _in_force(run)
        known = values(document.values) if document else {}
        return Reverted(run=document.run if document else "", values=known)


def values(of: Overrides) -> dict[str, Level]:
    """Return the keys that are set, with their values."""
    return {name: of.get(name) for name in of.names()}


def _document(record: TunerRun, run: Runner) -> MeasuredPolicy:
    """What is to be written: each level of the winner that would be another one without it."""
    basis = tuning.current(load_pool(), run).settings.basis
    if basis is None:
        raise Refused("the settings of this server were not computed: `millrace tune --diff` shows the reason")
    _same_hardware(record, basis)
    assert record.outcome is not None
    without = settings_of(basis.model_copy(update={"policy": _without(basis.policy)}))
    file, wanted, replaced = overrides(find().policy), Overrides(), Overrides()
    known = {knob.name: knob for knob in record.knobs}
    for entry in WHITELIST:
        level = record.outcome.winner.get(entry.key)
        if level is None:
            continue
        planned = entry.value(without)
        if level != (known[entry.key].default if planned is None else planned):
            wanted = wanted.having(entry.key, level)
            replaced = replaced.having(entry.key, file.get(entry.key))
    document = MeasuredPolicy(
        run=record.id,
        at=record.ended or record.started,
        by=invoking_user(),
        values=_checked(wanted),
        replaced=replaced,
        server=basis.server,
        arrays=basis.arrays,
        ports=basis.ports,
    )
    _usable(basis, document)
    return document


def _without(policy: RuntimePolicy) -> RuntimePolicy:
    return policy.model_copy(update={"measured": None})


def _checked(wanted: Overrides) -> Overrides:
    """Refused: a level is outside of what a policy may have."""
    try:
        return Overrides.model_validate(wanted.model_dump())
    except ValidationError as error:
        raise Refused(f"the settings of this run are no policy of this release: {sentence(error)}") from error


def _same_hardware(found: TunerRun, basis: Basis) -> None:
    """Refused: the run measured a server with other CPUs or another amount of memory."""
    then = found.environment
    if then is None:
        return
    if then.cores != basis.server.cores or abs(then.memory - basis.server.memory) > basis.server.memory // 8:
        raise Refused(f"run {found.id} measured other hardware: measure this server with `millrace tuner run`")


def _usable(basis: Basis, document: MeasuredPolicy) -> None:
    """Refused: this server cannot use one of the values."""
    now = settings_of(basis.model_copy(update={"policy": _without(basis.policy)}))
    wanted = basis.policy.model_copy(update={"measured": document})
    new = settings_of(basis.model_copy(update={"policy": wanted}))
    for warning in new.warnings:
        if warning not in now.warnings:
            raise Refused(warning)


def _in_force(run: Runner) -> None:
    for unit in UNITS:
        result = run(["systemctl", "reload-or-restart", unit])
        if result.status != 0:
            raise Failed(f"the policy was changed, and {unit} could not set it: {last_words(result)}")
