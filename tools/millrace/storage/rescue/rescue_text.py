# SPDX-License-Identifier: Apache-2.0
"""A rescue in words: what may be lost, what each step does, and what is to be done at the end."""

from collections.abc import Iterator

from millrace.storage.record.model import Pool
from millrace.storage.rescue.new_log import in_words
from millrace.storage.rescue.rescue_model import Rescue, RescueState, RescueStatus, RescueWork, ShownStep
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import StepName
from millrace.system import paths
from millrace.system.names import several
from millrace.system.printing import Cell, notes, table

TITLES: dict[StepName, str] = {
    "stop": "Stop serving and unmount the pool",
    "image": "Save an image of the metadata",
    "judge": "Show what can be read without the log",
    "log": "Make a new log",
    "repair": "Repair the file system without the lost log",
    "serve": "Mount, verify and serve the pool",
}

LOSSES = [
    "Changes to files and directories that were only in the log are lost: those of the last minute before the failure, "
    "longer under constant writes.",
    "Files that were created, renamed, deleted or written in that time may be missing, damaged, there again, or in "
    "lost+found without their names; this includes writes that were acknowledged to clients (fsync).",
    "The contents of older files that were not changed in that time are not touched.",
]


STEPS = ("Step", "State", "Name", "What it does", "Result")


def happened(pool: Pool, rescue: Rescue) -> str:
    """Return what happened to the pool."""
    return (
        f"The log of the file system in {pool.filesystem.mountpoint} was on a mirror of {several(rescue.lost_drives)}, "
        "and no side of it is left. Without a log XFS shuts down and cannot be mounted. If one of these drives may "
        "come back, put it in first: then nothing is lost."
    )


def explanation(name: StepName, pool: Pool, rescue: Rescue, choices: Choices, drives: str | None) -> str:
    """Return what a step does, for the user who confirms it; `drives` are those of the new log, if they are known."""
    point = pool.filesystem.mountpoint
    match name:
        case "stop":
            return (
                f"NFS, SMB and everything else that uses {point} are stopped, then it is unmounted; nothing is forced. "
                "Clients wait, or get errors, until the last step."
            )
        case "image":
            where = choices.image or f"a file in {paths.state_dir()}"
            return (
                f"The metadata as they are now (names, sizes, places; no contents of files) are copied to {where}, "
                "for a specialist if the repair goes wrong. Only root can read it. --image FILE chooses another file "
                "system, --without-image goes on without one."
            )
        case "judge":
            return (
                f"The pool is mounted read-only in {paths.run_dir()}, without replaying a log: files are counted, and "
                "xfs_repair -n reports what it would change. Nothing is written. What was changed last may not be "
                "readable yet."
            )
        case "log":
            drives = drives or (in_words(rescue.new) if rescue.new else "the drives that are free then")
            return (
                f"A new mirror is made for the log. Drives: {drives}. (Free log partitions of the data drives are "
                "taken, or the blank drives that --with SERIAL names, given twice.) Nothing of the file system is "
                "written. From here on it is not mounted at a boot until it is repaired. If a drive of the lost log "
                "comes back before the next step, the rescue ends and that log is used."
            )
        case "repair":
            return (
                "The new log becomes that of the pool, and xfs_repair -L makes the metadata consistent without the "
                "lost one. This cannot be undone: from here on the drives of the lost log are of no use, and what was "
                "only in it is lost. If it is interrupted, it begins again."
            )
        case "serve":
            return f"{point} is mounted, which counts quotas again and may take a while, then verified and served."


def header(state: RescueState) -> Iterator[str]:
    """Yield what is shown first: what may be lost, and why."""
    yield "What may be lost:"
    yield from notes(f"- {one}" for one in state.losses)
    yield ""
    yield "What happened:"
    yield from notes([state.happened, *(f"note: {one}" for one in state.notes)])
    yield ""


def lines(state: RescueState) -> Iterator[str]:
    """Yield the whole state for a terminal."""
    yield from header(state)
    yield from table(STEPS, [_step(*each) for each in enumerate(state.steps, start=1)])
    yield from _judgement(state)
    yield ""
    yield from _work(state)
    yield from end(state) if state.next is None else [f"Next step: {state.next}"]


def end(state: RescueState) -> Iterator[str]:
    """Yield what is to be done after the last step, for a terminal."""
    if state.steps[-1].state != "done":
        yield "The log came back: the rescue has ended, and nothing of the pool was changed."
        return
    yield "The pool is served again. Next:"
    yield from notes(f"- {one}" for one in state.ending)


def asked(state: RescueState) -> Iterator[str]:
    """Yield the next step as it is shown before it is confirmed."""
    number, step = next((number, one) for number, one in enumerate(state.steps, start=1) if one.name == state.next)
    yield ""
    yield f"Step {number} of {len(state.steps)}: {step.title} ({step.name})"
    yield from notes([step.explanation, *([step.need] if step.need else [])])


def result(state: RescueState, name: StepName) -> Iterator[str]:
    """Yield how a step ended."""
    step = next(one for one in state.steps if one.name == name)
    yield f"{step.title}: {step.result or step.state}"
    if name == "judge":
        yield from _judgement(state)
    if state.next is None:
        yield from end(state)


def ending(pool: Pool, rescue: Rescue) -> list[str]:
    """Return what is to be done after the last step."""
    found = f"{pool.filesystem.mountpoint}/lost+found"
    return [
        *([f"Look through {found}: files are named by their inode numbers there."] if rescue.orphans else []),
        "Compare what was written in the last minutes with its source; write it again where it differs.",
        "Check all arrays and the metadata: millrace pool scrub start; millrace pool scrub filesystem",
        *([f"Keep {rescue.image} until everything was checked, then delete it."] if rescue.image else []),
        "Drives of the lost log that come back are not used: millrace drive erase SERIAL --foreign",
    ]


def working(work: RescueWork) -> str:
    """Return the progress of a step on one line."""
    return f"{TITLES[work.step]}: {work.line or 'started'}"


def status_lines(status: RescueStatus) -> Iterator[str]:
    """Yield where a rescue is, for a terminal."""
    if status.rescue is None:
        yield "no pool was rescued yet; what a rescue would do: millrace pool rescue"
        return
    yield from lines(status.rescue)


def _step(number: int, step: ShownStep) -> list[Cell]:
    return [number, step.state, step.name, step.title, step.result or ""]


def _work(state: RescueState) -> Iterator[str]:
    """What runs, or why the last step did not end well."""
    work = state.work
    if work is None or work.state == "done":
        return
    who = f"{work.step}, confirmed by {work.by}"
    yield f"Running: {who}: {work.line or 'started'}" if work.state == "running" else f"Stopped: {who}: {work.error}"


def _judgement(state: RescueState) -> Iterator[str]:
    found = state.journal.judgement if state.journal else None
    if found and found.problem_count:
        yield f"xfs_repair -n reports {found.problem_count} problems:"
        yield from notes(found.problems)
        if found.problem_count > len(found.problems):
            yield from notes([f"and {found.problem_count - len(found.problems)} more"])
