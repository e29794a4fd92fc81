# SPDX-License-Identifier: Apache-2.0
"""`millrace pool rescue`."""

import sys

import click

from millrace.rescue.model import STEPS, StepName
from millrace.system.output import Output, prints
from millrace.system.prompt import typed_yes


@click.command()
@click.option("--step", "name", type=click.Choice(STEPS), help="Carry out this step, which must be the next one.")
@click.option("--yes", is_flag=True, help="Confirm the step that --step names; without --step it confirms nothing.")
@click.option("--with", "drives", multiple=True, metavar="SERIAL", help="A blank drive for the new log; give two.")
@click.option("--image", metavar="FILE", help="Where the image of the metadata is written; not in the pool.")
@click.option("--without-image", is_flag=True, help="Go on without an image of the metadata.")
@prints("millrace.rescue.model:RescueState")
def rescue(
    name: StepName | None, yes: bool, drives: tuple[str, ...], image: str | None, without_image: bool, show: Output
) -> None:
    """Bring the pool back after both drives of its log are lost, step by step.

    Each step is shown and confirmed. After a kill or a power cut it goes on where it was.
    """
    from millrace.errors import BadInput
    from millrace.provision.system import Linux
    from millrace.rescue import words
    from millrace.rescue.rescue import carry_out, state
    from millrace.rescue.steps import Choices
    from millrace.system.users import as_root, invoking_user, only_root

    if yes and name is None:
        raise BadInput("--yes confirms one step: name it with --step; millrace pool rescue --json shows the next one")
    if image and without_image:
        raise BadInput("give --image or --without-image, not both")
    only_root()
    system, choices, by = Linux(), Choices(drives, image, without_image), invoking_user()

    def step(chosen: StepName) -> None:
        """Carry out a confirmed step and show how it ended."""
        after = carry_out(system, chosen, choices, by, lambda line: click.echo(line, err=True))
        show(after, lambda one: [*words.result(one, chosen), *(words.ending(one) if one.next is None else ())])

    with as_root():
        now = state(system, choices, by)
        if name is not None:
            if not yes and now.next == name:
                show.text([*words.header(now), *words.asked(now)])
                typed_yes("Carry out this step?", "--step NAME --yes")
            step(name)
        elif show.as_json or not sys.stdin.isatty():
            show(now, lambda one: [*words.lines(one), "To carry it out without a terminal: --step NAME --yes"])
        else:
            show.text(words.header(now))
            while now.next is not None:
                show.text(words.asked(now))
                typed_yes("Carry out this step?", "--step NAME --yes")
                step(now.next)
                if now.next == STEPS[-1]:
                    return
                now = state(system, choices, by)
