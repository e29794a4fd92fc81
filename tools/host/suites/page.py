# SPDX-License-Identifier: Apache-2.0
"""docs/evidence/suites.md: what of the suites of others does not succeed, and why; made from their tables.

`tools/docs --write` writes the page.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from host.layout import REPO
from host.suites import table
from host.suites.sources import PJDFSTEST, PYNFS, PYNFS_NEEDED
from host.suites.table import EVERYWHERE, KINDS, Known, Table

PAGE: Final = REPO / "docs/evidence/suites.md"
HEAD: Final = f"""\
# Suites of others

Three test suites that are not Millrace's run against a booted server, from the test client. They are stories of soak
([Soak runs](soak.md) has their results):

| suite | stories | source |
|---|---|---|
| pynfs | `tests/vm/shares/test_pynfs.py` | {PYNFS_NEEDED} |
| smbtorture | `tests/vm/shares/test_smbtorture_*.py`, one for each share type | Debian's package in the test client |
| pjdfstest | `tests/vm/shares/test_pjdfstest.py` | release {PJDFSTEST} of crates.io, built by the build host's cargo |

    {PYNFS}=DIR tools/test soak --due 2h

Each test succeeds, or it is in the table of its suite in `tests/vm/shares/known/` with the reason. Any other failure
fails the story, and so does any other skipped test. This page is made of these tables.

| kind | a test that does not succeed shows |
|---|---|
"""


def page(tables: Mapping[str, Table]) -> str:
    """Return the page of all tables by their names."""
    lines = [HEAD + "\n".join(f"| {kind} | {meaning} |" for kind, meaning in KINDS.items())]
    for name in tables:
        lines += ["", *_suite(tables[name])]
    return "\n".join(lines) + "\n"


def _suite(suite: Table) -> Iterator[str]:
    yield f"## {suite.title}"
    yield ""
    yield f"{suite.source[0].upper()}{suite.source[1:]}."
    for ends in ("failed", "skipped"):
        if rows := [_row(known) for known in suite.known if known.ends == ends]:
            yield from ("", f"| {ends} | where | kind | reason |", "|---|---|---|---|", *rows)
    if suite.left_out:
        yield from ("", "| not run | where | reason |", "|---|---|---|")
    for place, groups in suite.left_out.items():
        yield from (f"| `{group}` | {_where(place)} | {why} |" for group, why in groups.items())


def _row(known: Known) -> str:
    tests = ", ".join(f"`{test}`" for test in known.tests)
    return f"| {tests} | {', '.join(_where(place) for place in known.where)} | {known.kind} | {known.why} |"


def _where(place: str) -> str:
    return "everywhere" if place in ("*", EVERYWHERE) else place


def main() -> None:
    """Write the page. Failed: a table has no such form."""
    PAGE.write_text(page({name: table.load(name) for name in table.names()}))


if __name__ == "__main__":
    main()
