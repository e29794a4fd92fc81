# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs: their help has whole summaries, and a verb that does not exist is answered with the nearest ones."""

from collections.abc import Iterable

import click

SAME = {
    "add": ("create", "install"),
    "change": ("set",),
    "create": ("add",),
    "delete": ("remove",),
    "destroy": ("remove",),
    "edit": ("set",),
    "get": ("show", "list"),
    "info": ("show", "status"),
    "kill": ("cancel", "stop"),
    "ls": ("list",),
    "modify": ("set",),
    "new": ("create", "add"),
    "rm": ("remove",),
    "start": ("run",),
    "state": ("status", "show"),
    "update": ("set",),
}
"""What other programs call a verb of ours."""


class VerbGroup(click.Group):
    """A group whose help cuts no summary off, and whose errors name the verb that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb and its arguments. UsageError: there is no such verb; with those that are like it."""
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command '{name}'.{meant(name, self.visible(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def visible(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs that help shows."""
        return [name for name, command in self.commands.items() if not command.hidden]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs for `--help`: the first sentence of each, whole."""
        rows = [(name, self.commands[name].get_short_help_str(limit=10_000)) for name in self.visible(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def meant(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` for a verb that does not exist; empty where none of the known ones is like it."""
    from difflib import get_close_matches

    names = list(known)
    like = [same for same in SAME.get(name, ()) if same in names] or get_close_matches(name, names)
    return f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
