# SPDX-License-Identifier: Apache-2.0
"""What a rescue is now, and its next step, carried out once it was confirmed."""

from millrace.storage.array.machine import Report, System
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import RESCUING, RESUMING, writing
from millrace.storage.rescue import image, repair_need, rescue_text
from millrace.storage.rescue.diagnosis import LogIsThere, OtherPool, diagnose
from millrace.storage.rescue.new_log import proposed
from millrace.storage.rescue.rescue_journal import RescueJournal
from millrace.storage.rescue.rescue_model import RescueState, ShownStep
from millrace.storage.rescue.rescue_steps import Choices, give_up, perform
from millrace.storage.rescue.step_names import STEPS, StepName
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import Refused


def state(system: System, choices: Choices, by: str) -> RescueState:
    """Return the open rescue, or the one that would begin; write nothing. `by` is a user name.

    Refused: a rescue is the wrong thing; the sentence has the right one. One that is open has ended then, if the log is
    back: until the repair begins nothing of the pool is changed.
    """
    try:
        journal, notes = _current(system, by)
    except LogIsThere as better:
        with writing(RESCUING):
            raise _given_up(system, better) from better
    where = None
    if journal.next == "log":
        where = proposed(system, load_pool(), diagnose(system, load_pool()).log, choices.drives, journal.rescue.new)
    return _shown(journal, notes, choices, where)


def recorded(choices: Choices) -> RescueState | None:
    """Return the open rescue, else the last one that ended, as it is on disk; no drive is examined.

    None: there was none. BadInput: it cannot be read.
    """
    journal = RescueJournal.load() or RescueJournal.load_ended()
    return _shown(journal, [], choices) if journal else None


def check(system: System, name: StepName, choices: Choices, by: str) -> bool:
    """Whether the step `name` is done already; if not, verify that it is the next one and can begin.

    Refused: another step comes first, or a rescue is the wrong thing. BadInput: a choice is not valid.
    """
    journal, _ = _open(system, by)
    if _is_over(journal, name):
        return True
    if name == "image" and not choices.without_image:
        image.place(load_pool(), choices.image, journal.rescue.at, journal.rescue.image)
    return False


def carry_out(system: System, name: StepName, choices: Choices, by: str, report: Report) -> RescueState:
    """Carry out the confirmed step `name`, which must be the next one; one that is done stays as it is.

    `report` receives lines of progress. Refused: another step comes first, or a rescue is the wrong thing. Failed: it
    stopped; call it again to go on.
    """
    # which starts the pool with systemd: that starts the arrays first, and they are not to wait for this
    with writing(RESUMING if name == "serve" else RESCUING):
        journal, notes = _open(system, by)
        if _is_over(journal, name):
            return _shown(journal, notes, choices)
        if name != "repair":
            # which begins when everything that it needs is there: until then the lost log may come back
            journal.start(name)
        result = perform(name, system, journal, choices, report)
        journal.keep(results={**journal.rescue.results, name: result})
        journal.done(name)
        if name == STEPS[-1]:
            journal.end(system.now())
        return _shown(journal, notes, choices)


def _open(system: System, by: str) -> tuple[RescueJournal, list[str]]:
    """As `_current`, for the holder of the lock. Refused: a rescue is the wrong thing; one that was open has ended."""
    try:
        return _current(system, by)
    except LogIsThere as better:
        raise _given_up(system, better) from better


def _is_over(journal: RescueJournal, name: StepName) -> bool:
    """Whether the step is done and stays as it is. Refused: another one comes first."""
    done = journal.state(name) == "done"
    if journal.next != name and not done:
        raise Refused(
            f"the step '{journal.next}' comes before '{name}': "
            f"{command('millrace pool rescue', options=[f'--step {journal.next}'])}"
        )
    # a drive of the new log may be gone before it is used
    return done and not (name == "log" and journal.state("repair") == "pending")


def _current(system: System, by: str) -> tuple[RescueJournal, list[str]]:
    """The open rescue, or a new one that is not on disk yet, and what is said of drives that are not used."""
    journal = RescueJournal.load()
    if journal is not None and journal.next is None:
        # cut short right before its end
        journal.end(system.now())
    if journal is not None and not _is_of(journal, load_pool()):
        raise OtherPool(
            f"the rescue of {journal.rescue.at} is about another pool and has ended; nothing was changed: "
            "see millrace health"
        )
    if journal is not None and journal.state("repair") != "pending":
        return journal, []
    diagnosis = diagnose(system, load_pool())
    return journal or RescueJournal.new(diagnosis.log, by, system.now()), diagnosis.notes


def _is_of(journal: RescueJournal, pool: Pool) -> bool:
    """Whether a rescue is about this pool: its log is the lost one, or the one that takes its place."""
    rescue = journal.rescue
    return bool({rescue.lost, *([rescue.new.array.uuid] if rescue.new else [])} & {one.uuid for one in pool.arrays})


def _given_up(system: System, better: LogIsThere) -> Refused:
    """The refusal where the log is there; an open rescue has ended."""
    journal = RescueJournal.load()
    if journal is None:
        return better
    if isinstance(better, OtherPool):
        paths.unrepaired_file().unlink(missing_ok=True)
        journal.end(system.now())
        return better
    give_up(system, journal)
    return Refused(f"the rescue has ended, and nothing of the pool was changed: {better}")


def _need(journal: RescueJournal, name: StepName) -> str | None:
    repairs = name in ("judge", "repair") and journal.state(name) != "done" and journal.state("stop") == "done"
    return repair_need.in_words(journal.rescue.size) if repairs else None


def _shown(journal: RescueJournal, notes: list[str], choices: Choices, where: str | None = None) -> RescueState:
    pool, rescue = load_pool(), journal.rescue
    return RescueState(
        lost_drives=rescue.lost_drives,
        happened=rescue_text.happened(pool, rescue),
        losses=rescue_text.LOSSES,
        notes=notes,
        steps=[
            ShownStep(
                name=name,
                title=rescue_text.TITLES[name],
                explanation=rescue_text.explanation(name, pool, rescue, choices, where),
                need=_need(journal, name),
                state=journal.state(name),
                result=rescue.results.get(name),
            )
            for name in STEPS
        ],
        next=None if rescue.ended else journal.next,
        new_log=where,
        journal=rescue if rescue.ended or paths.rescue_file().exists() else None,
        work=None,
        ending=rescue_text.ending(pool, rescue) if journal.state(STEPS[-1]) == "done" else [],
    )
