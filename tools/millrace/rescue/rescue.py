# SPDX-License-Identifier: Apache-2.0
"""What a rescue is now, and its next step, carried out once it was confirmed."""

from millrace import paths
from millrace.errors import Refused
from millrace.provision.pool_file import load_pool
from millrace.provision.system import Report, System
from millrace.provision.writer import RESCUING, writing
from millrace.rescue import words
from millrace.rescue.diagnosis import LogIsThere, diagnose
from millrace.rescue.journal import RescueJournal
from millrace.rescue.model import STEPS, RescueState, ShownStep, StepName
from millrace.rescue.new_log import proposed
from millrace.rescue.steps import Choices, give_up, perform


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


def carry_out(system: System, name: StepName, choices: Choices, by: str, report: Report) -> RescueState:
    """Carry out the confirmed step `name`, which must be the next one; one that is done stays as it is.

    `report` receives lines of progress. Refused: another step comes first, or a rescue is the wrong thing. Failed: it
    stopped; call it again to go on.
    """
    with writing(RESCUING):
        try:
            journal, notes = _current(system, by)
        except LogIsThere as better:
            raise _given_up(system, better) from better
        # a drive of the new log may be gone before it is used
        again = name == "log" and journal.state("repair") == "pending"
        if journal.state(name) == "done" and not again:
            return _shown(journal, notes, choices)
        if journal.next != name and journal.state(name) != "done":
            raise Refused(
                f"the step '{journal.next}' comes before '{name}': millrace pool rescue --step {journal.next}"
            )
        if name != "repair":
            # which begins when everything that it needs is there: until then the lost log may come back
            journal.start(name)
        result = perform(name, system, journal, choices, report)
        journal.keep(results={**journal.rescue.results, name: result})
        journal.done(name)
        if name == STEPS[-1]:
            journal.end(system.now())
        return _shown(journal, notes, choices)


def _current(system: System, by: str) -> tuple[RescueJournal, list[str]]:
    """The open rescue, or a new one that is not on disk yet, and what is said of drives that are not used."""
    journal = RescueJournal.load()
    if journal is not None and journal.next is None:
        # cut short right before its end
        journal.end(system.now())
    if journal is not None and journal.state("repair") != "pending":
        return journal, []
    diagnosis = diagnose(system, load_pool())
    return journal or RescueJournal.new(diagnosis.log, by, system.now()), diagnosis.notes


def _given_up(system: System, better: LogIsThere) -> Refused:
    """The refusal where the log is there; an open rescue has ended."""
    journal = RescueJournal.load()
    if journal is None:
        return better
    give_up(system, journal)
    return Refused(f"the rescue has ended, and nothing of the pool was changed: {better}")


def _shown(journal: RescueJournal, notes: list[str], choices: Choices, where: str | None = None) -> RescueState:
    pool, rescue = load_pool(), journal.rescue
    return RescueState(
        happened=words.happened(pool, rescue),
        losses=words.LOSSES,
        notes=notes,
        steps=[
            ShownStep(
                name=name,
                title=words.TITLES[name],
                explanation=words.explanation(name, pool, rescue, choices, where),
                state=journal.state(name),
                result=rescue.results.get(name),
            )
            for name in STEPS
        ],
        next=journal.next,
        journal=rescue if rescue.ended or paths.rescue_file().exists() else None,
    )
