# SPDX-License-Identifier: Apache-2.0
"""docs/evidence/soak.jsonl: one row for each run of a story of soak, and the page that is made from the rows.

`tools/docs --write` writes the page.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from host.layout import REPO
from host.stories import Module, modules
from millrace.system.errors import Failed

ROWS = REPO / "docs/evidence/soak.jsonl"
PAGE = REPO / "docs/evidence/soak.md"
PASSED, FAILED, SKIPPED = RESULTS = ("passed", "failed", "skipped")

HEAD = """\
# Soak runs

Some stories of booted servers take too long for every change: all of `tests/soak/`, and those with the mark `soak`.
Each of their runs is a row of `soak.jsonl`, from which `tools/docs --write` makes this page.

    tools/test soak                 # all of them
    tools/test soak --due 40m       # for 40 minutes, those whose last success is oldest
    tools/test soak --due 40m --list    # which these are

`--due` writes a row for each story that it ran. A row of a file of stories is of all stories that it had at the time.
Runs of `tools/test fuzz --record` are rows as well: a target passes if no input broke its contract. The goal is 10
million inputs for each target; the row says how many there were.
"""


@dataclass(frozen=True)
class Row:
    """One run of a story: its node id or that of its file, the day, the commit, and how it ended."""

    story: str
    date: str
    commit: str
    result: str
    minutes: float | None = None
    note: str = ""

    def covers(self, node: str) -> bool:
        """Whether this is a run of the story `node`, by itself or with its file."""
        return self.story in (node, node.partition("::")[0])


def parsed(line: str) -> Row:
    """Return the row of a line. Failed: the line is no row."""
    try:
        values: dict[str, Any] = json.loads(line)
        row = Row(**values)
        date.fromisoformat(row.date)
    except (TypeError, ValueError) as error:
        raise Failed(f"{ROWS.name} has a line that is not a row ({error}): {line.strip()}") from None
    texts = (row.story, row.commit, row.note)
    if row.result not in RESULTS or not all(isinstance(text, str) for text in texts) or not row.commit:
        raise Failed(f"{ROWS.name} has a row without a valid result or commit: {line.strip()}")
    if row.minutes is not None and not isinstance(row.minutes, int | float):
        raise Failed(f"{ROWS.name} has a row with minutes that are not a number: {line.strip()}")
    return row


def read(path: Path = ROWS) -> list[Row]:
    """Return all rows, the oldest first. Failed: a line is no row."""
    rows = [parsed(line) for line in path.read_text().splitlines() if line.strip()]
    # stable: rows of one day stay in the order in which they were written
    return sorted(rows, key=lambda row: row.date)


def line(row: Row) -> str:
    """Return a row as it stands in the file, without what is not known."""
    values = {field.name: asdict(row)[field.name] for field in fields(Row)}
    return json.dumps({name: value for name, value in values.items() if value not in (None, "")}, ensure_ascii=False)


def append(rows: Iterable[Row], path: Path = ROWS) -> None:
    """Write rows after those that the file has."""
    with path.open("a") as file:
        file.writelines(f"{line(row)}\n" for row in rows)


def newest(rows: Sequence[Row], node: str, result: str | None = None) -> int | None:
    """Return the place of the newest row of a story in `rows`, of those with a result where one is named."""
    places = (number for number, row in enumerate(rows) if row.covers(node) and result in (None, row.result))
    return max(places, default=None)


def page(rows: Sequence[Row], known: Sequence[Module]) -> str:
    """Return the page: the state of each file of stories, and all runs, the newest first."""
    lines = [
        HEAD,
        "## State",
        "",
        "| stories | passed last | oldest success | without a success |",
        "|---|---|---|---|",
    ]
    lines += [_state(rows, module) for module in known]
    lines += ["", "## Runs", "", "| date | commit | story | result | minutes | |", "|---|---|---|---|---|---|"]
    for row in reversed(rows):
        minutes = "" if row.minutes is None else f"{row.minutes:.1f}"
        name = row.story.removeprefix("tests/").replace("::", " ")
        lines.append(f"| {row.date} | {row.commit} | `{name}` | {row.result} | {minutes} | {row.note} |")
    return "\n".join(lines) + "\n"


def _state(rows: Sequence[Row], module: Module) -> str:
    passed = [newest(rows, node, PASSED) for node in module.nodes]
    last = sum(
        place is not None and newest(rows, node) == place for place, node in zip(passed, module.nodes, strict=True)
    )
    days = [rows[place].date for place in passed if place is not None]
    without = len(passed) - len(days)
    name = module.path.removeprefix("tests/")
    return f"| `{name}` | {last} of {len(passed)} | {min(days, default='none')} | {without or ''} |"


def main() -> None:
    """Write the page. Failed: a line of the file is no row."""
    PAGE.write_text(page(read(), modules()))


if __name__ == "__main__":
    main()
