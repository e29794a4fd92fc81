# SPDX-License-Identifier: Apache-2.0
"""One decision with everything that led to it (`millrace plan --explain DECISION`)."""

from difflib import get_close_matches
from io import StringIO
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.plan.model import Decision, Proposal, Refusal
from millrace.plan.text import WIDTH
from millrace.plan.values import shown, value_in_words
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Refused


class Explanation(Contract):
    """The document of `millrace plan --explain DECISION --json`."""

    schema_version: Literal[1] = 1
    decision: Decision


def explanation(proposal: Proposal, name: str) -> Explanation:
    """Return the decision of this name. BadInput: there is none; lists the names. Refused: there is no plan."""
    if isinstance(proposal, Refusal):
        raise Refused("no plan, no decisions to explain; `millrace plan` shows the obstacles")
    for decision in proposal.decisions:
        if decision.name == name:
            return Explanation(decision=decision)
    names = [decision.name for decision in proposal.decisions]
    near = get_close_matches(name, names, n=1)
    meant = f"did you mean '{near[0]}'? The others are" if near else "there are"
    others = ", ".join(other for other in names if other not in near)
    raise BadInput(f"no decision {name!r}; {meant}: {others}")


def as_text(decision: Decision, colour: bool) -> str:
    """Return text for a terminal: value, reason, source, and the choices that were compared with their numbers."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, force_terminal=colour, no_color=not colour, highlight=False)
    console.print(Text(decision.name, "bold"))
    for heading, words in (
        ("Value", value_in_words(decision)),
        ("Why", decision.reason),
        ("From", decision.source),
    ):
        table = Table.grid(padding=(0, 1))
        table.add_column(width=6)
        table.add_column(ratio=1)
        table.add_row(heading, Text(words))
        console.print(table)
    if decision.considered:
        console.print(_considered(decision))
    return out.getvalue()


def _considered(decision: Decision) -> Table:
    table = Table(title="Compared, best first", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, key in enumerate(decision.considered[0]):
        # a title of two words wraps, and takes no room from a word beside it
        least = max(map(len, key.split("_")))
        title = key.replace("_", " ")
        table.add_column(title, justify="right" if number else "left", no_wrap=not number, min_width=least)
    for row in decision.considered:
        table.add_row(*(Text(shown(key, value)) for key, value in row.items()))
    return table
