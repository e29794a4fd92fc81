# SPDX-License-Identifier: Apache-2.0
"""One decision with everything that led to it (`millrace plan --explain DECISION`)."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Literal

from millrace.plan.model import Decision, Proposal, Refusal
from millrace.plan.values import shown, value_in_words
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Refused
from millrace.system.printing import Terminal, fields, line, table, terminal


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


def lines(decision: Decision, on: Terminal | None = None) -> Iterator[str]:
    """Yield text for a terminal: value, reason, source, and the choices that were compared with their numbers."""
    on = on or terminal()
    yield line(decision.name, "bold", on)
    yield from fields([("Value", value_in_words(decision)), ("Why", decision.reason), ("From", decision.source)], on=on)
    if decision.considered:
        yield from _considered(decision, on)


def _considered(decision: Decision, on: Terminal) -> Iterator[str]:
    titles = [key.replace("_", " ") for key in decision.considered[0]]
    rows = [[shown(key, value) for key, value in row.items()] for row in decision.considered]
    yield ""
    yield "Compared, best first"
    yield from table(titles, rows, right=titles[1:], indent=2, on=on)
