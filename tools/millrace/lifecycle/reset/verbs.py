# SPDX-License-Identifier: Apache-2.0
"""`millrace reset …`."""

import click

from millrace.system.output import Output, prints
from millrace.system.prompt import repeated
from millrace.system.run import attempt
from millrace.system.users import as_root, invoking_user, only_root
from millrace.system.verb_group import VerbGroup


@click.group(cls=VerbGroup)
def reset() -> None:
    """Reset the boot drive to factory state; data on the pool stays."""


@reset.command()
@prints("millrace.lifecycle.reset.model:ResetStatus")
def show(show: Output) -> None:
    """Show what a factory reset removes and leaves, and whether one can begin. Nothing is written."""
    from millrace.lifecycle.reset import text
    from millrace.lifecycle.reset.status import status

    only_root()
    with as_root():
        show(status(attempt), text.lines)


@reset.command()
@click.option("--forget-people", is_flag=True, help="Also forget users, passwords and keys that the pool keeps.")
@click.option("--host", metavar="NAME", help="Host name of this server, to confirm; without it, it is prompted for.")
@click.option("--word", metavar="FORGET", help="With --forget-people: the word FORGET, to confirm.")
@prints("millrace.lifecycle.reset.model:ResetStatus")
def start(forget_people: bool, host: str | None, word: str | None, show: Output) -> None:
    """Reset this server: its boot drive is as on the first day after a restart, which follows at once.

    The pool stays with its data, and, without --forget-people, with its state: millrace pool adopt brings back shares,
    users and keys.
    """
    from millrace.lifecycle.reset import reset as resetting
    from millrace.lifecycle.reset import text
    from millrace.lifecycle.reset.status import status
    from millrace.serve.config.reset_journal import What
    from millrace.system.errors import Refused

    only_root()
    if word is not None and not forget_people:
        raise click.UsageError("--word confirms --forget-people")
    what: What = "forget" if forget_people else "keep"
    with as_root():
        reset_status = status(attempt)
        if reset_status.obstacle:
            raise Refused(f"{reset_status.obstacle}; nothing was reset")
        if host is None or (forget_people and word is None):
            click.echo("\n".join(text.consequences(reset_status, what)), err=True)
        host = repeated(f"Host name of this server ({reset_status.host})", "--host NAME") if host is None else host
        if forget_people and word is None:
            word = repeated(f"The word {resetting.WORD}", "--word WORD")
        resetting.confirm(host, word)
        begun = resetting.start(what, invoking_user(), attempt)
    # what else there is to see goes down with the server
    show(
        reset_status.model_copy(update={"under_way": begun}),
        lambda _: ["the server restarts and is reset; a sign-in takes the one-time password on its console"],
    )


@reset.command(hidden=True)
@prints("millrace.serve.config.reset_journal:Reset")
def run(show: Output) -> None:
    """Go on with a factory reset (started by millrace-reset.service)."""
    from millrace.lifecycle.reset.reset import carry_out

    only_root()
    with as_root():
        done = carry_out(attempt)
    if done is None:
        click.echo("no factory reset is under way", err=True)
        return
    show(done, lambda ended: [f"factory reset by {ended.by}: the server restarts"])
