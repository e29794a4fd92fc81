# SPDX-License-Identifier: Apache-2.0
"""The manual's tables of jobs, made from the kinds and their rules; `tools/docs --write` writes them."""

from host.layout import REPO
from millrace.system.jobs.kinds import ALL
from millrace.system.jobs.pairs import Outcome, outcome

PAGE = REPO / "docs/jobs.md"
KINDS, PAIRS = "| job | what | unit | when the server restarts |", "| starts ↓ while → runs |"
WORDS: dict[Outcome, str] = {
    "refused": "no",
    "waits": "waits",
    "stops it": "stops it",
    "beside": "yes",
    "one at a time": "one",
}


def kinds() -> str:
    """Return the table of kinds: one row for each, in Markdown."""
    rows = [f"| `{kind.name}` | {kind.title} | `{kind.unit}` | {kind.after_boot} |" for kind in ALL]
    return "\n".join([KINDS, "|---|---|---|---|", *rows]) + "\n"


def pairs() -> str:
    """Return the table of pairs: a row for each job that starts, a column for each that is there."""
    head = PAIRS + "".join(f" {kind.name} |" for kind in ALL)
    rows = [
        f"| **{starts.name}** |" + "".join(f" {WORDS[outcome(starts.name, there.name)]} |" for there in ALL)
        for starts in ALL
    ]
    return "\n".join([head, "|---" * (len(ALL) + 1) + "|", *rows]) + "\n"


def part(page: str, heading: str) -> str:
    """Return the table that a page has under a line of headers."""
    begin = page.index(heading)
    return page[begin : page.index("\n\n", begin) + 1]


def written(page: str) -> str:
    """Return a page with both tables as they are now."""
    return page.replace(part(page, KINDS), kinds()).replace(part(page, PAIRS), pairs())


def main() -> None:
    """Write both tables into the page."""
    PAGE.write_text(written(PAGE.read_text()))


if __name__ == "__main__":
    main()
