# SPDX-License-Identifier: Apache-2.0
"""Put every setting of a run back: after its end, after a kill, and at boot.

A setting goes back to what the plan wants, which is what `millrace tune` would set; one that the plan leaves to the
kernel goes back to what it was. All of them are of this boot only: after a power cut the kernel begins with its own and
millrace-tune.service sets the plan's, so nothing but the record of the run is left to correct.
"""

from millrace.measure.bench.run import bench_job, cleanup
from millrace.measure.tuner.knobs.levels import ERRORS
from millrace.measure.tuner.knobs.surface import every_setting
from millrace.measure.tuner.run import live, store, tuner_journal
from millrace.measure.tuner.run.tuner_job import JOB
from millrace.measure.tuner.run.tuner_journal import Changed, JournalFile
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.errors import BadInput, MillraceError
from millrace.system.jobs.job import at_end
from millrace.system.run import Runner
from millrace.tune import run as tune
from millrace.tune import settings as tuning
from millrace.tune.collect import stages
from millrace.tune.knob import Setting
from millrace.tune.originals import tune_lock


def sweep(run: Runner) -> list[str]:
    """Restore at the end of the unit, whose job ends with it, or at a boot; return what was, in words.

    Refused: a run is active. NotRestored: a setting is still in force.
    """
    if at_end():
        JOB.clean_up()
    return restore(run)


def restore(run: Runner) -> list[str]:
    """Put back what a run that does not run any more has left; return what was, in words.

    Refused: one is active. NotRestored: a setting is still in force.
    """
    left = cleanup.clean_up(run)
    with bench_job.JOB.alone():
        found = [*left, *put_back(run)]
        live.end_interrupted()
        return [*found, *(f"run {name} is marked as interrupted" for name in store.mark_interrupted())]


def put_back(run: Runner) -> list[str]:
    """Restore every setting in the journal and remove it; return what was restored.

    NotRestored: a setting cannot be restored and stays in the journal. The caller holds the lock of the benchmark.
    """
    pool = known_pool()
    document: JournalFile | None = None
    try:
        document = tuner_journal.in_force()
        left = document is not None
    except BadInput:
        # what was set is not known: the plan's settings are
        left = True
    if pool is None or not left:
        paths.tuner_journal_file().unlink(missing_ok=True)
        return []
    with tune_lock():
        return _put_back(document, pool, run)


def _put_back(document: JournalFile | None, pool: Pool, run: Runner) -> list[str]:
    settings = tuning.current(pool, run).settings
    known, planned = every_setting(settings, pool, run)
    if document is None:
        all_planned = [Changed(knob="", setting=label, old=wanted, new="") for label, wanted in planned.items()]
        document = JournalFile(run="", boot=boot_id(), changed=all_planned)
    restored, left, reasons = [], [], []

    def restarts(one: Changed) -> bool:
        return one.setting in known and known[one.setting].interrupts

    # last: a driver that starts again has other interrupts, and the files of these are gone
    for change in sorted(reversed(document.changed), key=restarts):
        setting = known.get(change.setting)
        # a drive that was removed took its settings with it
        if setting is None:
            continue
        wanted = planned.get(change.setting, change.old)
        try:
            if _set(setting, wanted):
                restored.append(f"{change.setting}: {wanted}")
        except ERRORS as error:
            left.append(change)
            reasons.append(f"{change.setting} cannot be restored to {wanted}: {error}")
    if any(map(restarts, document.changed)):
        # the new interrupts, and who sends through which queue
        tune.run(stages(settings, pool, run))
    tuner_journal.keep(
        document.model_copy(update={"changed": [change for change in document.changed if change in left]})
    )
    if reasons:
        raise NotRestored(f"{reasons[0]}; set it, then: millrace tuner stop", restored)
    return restored


class NotRestored(MillraceError):
    """A setting of a run is still in force. `restored` are the others."""

    def __init__(self, sentence: str, restored: list[str]) -> None:
        super().__init__(sentence)
        self.restored = restored


def _set(setting: Setting, wanted: str) -> bool:
    """Whether it had to be set. OSError, Failed: the kernel refuses. ValueError: it is another one afterwards."""
    if _is(setting, wanted):
        return False
    setting.write(wanted)
    if not _is(setting, wanted):
        raise ValueError(f"it is {setting.read()} afterwards")
    return True


def _is(setting: Setting, wanted: str) -> bool:
    """The kernel may show what was written in other words, such as a mask without its zeroes."""
    now = setting.read()
    return wanted in (now, setting.original()) or (wanted == setting.wanted and setting.matches(now))
