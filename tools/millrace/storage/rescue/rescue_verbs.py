# SPDX-License-Identifier: Apache-2.0
"""`millrace pool rescue`."""

import sys
from typing import TYPE_CHECKING

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.storage.rescue.step_names import STEPS, StepName
from millrace.system.output import Output, prints
from millrace.system.prompt import typed_yes

if TYPE_CHECKING:
    from millrace.storage.array.machine import System
    from millrace.storage.rescue.rescue_model import RescueState, RescueWork
    from millrace.storage.rescue.rescue_steps import Choices


@click.command()
@click.option("--step", "name", type=click.Choice(STEPS), help="Carry out this step, which must be the next one.")
@click.option("--yes", is_flag=True, help="Confirm the step that --step names; without --step it confirms nothing.")
@click.option(
    "--with", "drives", multiple=True, metavar="DRIVE", type=DRIVE, help="A blank drive for the new log; give two."
)
@click.option("--image", metavar="FILE", help="Where the image of the metadata is written; not in the pool.")
@click.option("--without-image", is_flag=True, help="Go on without an image of the metadata.")
@click.option("--detach", is_flag=True, help="Return when the step has begun; --status shows how it goes on.")
@click.option("--status", is_flag=True, help="Show the rescue, or how the last one ended; no drive is examined.")
@prints(
    "millrace.storage.rescue.rescue_model:RescueState",
    {"--status": "millrace.storage.rescue.rescue_model:RescueStatus"},
)
def rescue(
    name: StepName | None,
    yes: bool,
    drives: tuple[str, ...],
    image: str | None,
    without_image: bool,
    detach: bool,
    status: bool,
    show: Output,
) -> None:
    """Bring the pool back after both drives of its log are lost, step by step.

    Each step is shown and confirmed. A step goes on when the terminal is closed; after a kill or a power cut the rescue
    goes on where it was.
    """
    from millrace.storage.array.machine import Linux
    from millrace.storage.rescue import rescue_job, rescue_text
    from millrace.storage.rescue.rescue_steps import Choices
    from millrace.system.errors import BadInput
    from millrace.system.users import as_root, invoking_user, only_root

    if status and (name or yes or drives or image or without_image or detach):
        raise BadInput("--status only shows: give no other option with it but --json")
    if (yes or detach) and name is None:
        raise BadInput(
            f"{'--yes confirms' if yes else '--detach is about'} one step: name it with --step; "
            "millrace pool rescue --json shows the next one"
        )
    if image and without_image:
        raise BadInput("give --image or --without-image, not both")
    only_root()
    system, choices, by = Linux(), Choices(drives, image, without_image), invoking_user()
    with as_root():
        if status:
            show(rescue_job.status(system), rescue_text.status_lines)
            return
        now = rescue_job.state(system, choices, by)
        if name is not None:
            if not yes and now.next == name and not _runs(now):
                show.text([*rescue_text.header(now), *rescue_text.asked(now)])
                typed_yes("Carry out this step?", "--step NAME --yes")
            work = rescue_job.start(system, name, choices, by)
            if not detach:
                _followed(system, work)
            show(_known(system, now), lambda state: rescue_text.result(state, name))
        elif show.as_json or not sys.stdin.isatty():
            show(
                now, lambda state: [*rescue_text.lines(state), "To carry it out without a terminal: --step NAME --yes"]
            )
        else:
            _led(system, now, choices, by, show)


def _led(system: "System", now: "RescueState", choices: "Choices", by: str, show: Output) -> None:
    """Lead through all steps that are left, each after it was confirmed; one that runs already is followed."""
    from millrace.storage.rescue import rescue_job, rescue_text

    show.text(rescue_text.header(now))
    while now.next is not None:
        name, work = now.next, now.work if _runs(now) else None
        if work is None:
            show.text(rescue_text.asked(now))
            typed_yes("Carry out this step?", "--step NAME --yes")
            work = rescue_job.start(system, name, choices, by)
        else:
            click.echo(f"The step '{work.step}' runs, confirmed by {work.by}.", err=True)
            name = work.step
        _followed(system, work)
        now = _known(system, now)
        show.text(rescue_text.result(now, name))
        if now.next is not None:
            now = rescue_job.state(system, choices, by)


def _followed(system: "System", work: "RescueWork | None") -> None:
    """Show the progress of a step until it has ended; the terminal may be closed meanwhile."""
    from millrace.storage.rescue import rescue_job, rescue_text

    for one in rescue_job.follow(system, work) if work is not None else ():
        if one.line is not None:
            click.echo(rescue_text.working(one), err=True)


def _known(system: "System", before: "RescueState") -> "RescueState":
    """The rescue as it is on disk, which it is from the first step on."""
    from millrace.storage.rescue import rescue_job

    return rescue_job.status(system).rescue or before


def _runs(now: "RescueState") -> bool:
    return now.work is not None and now.work.state == "running"


@click.command(hidden=True)
@prints("millrace.storage.rescue.rescue_model:RescueStatus")
def rescuing(show: Output) -> None:
    """Carry out the confirmed step of a rescue; millrace-rescue.service calls it."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.rescue import rescue_job
    from millrace.storage.rescue.rescue_model import RescueStatus
    from millrace.system.users import as_root, only_root

    only_root()
    with as_root():
        after = rescue_job.execute(Linux(), lambda line: click.echo(line, err=True))
    show(RescueStatus(rescue=after, work=after.work if after else None), lambda _: ())
