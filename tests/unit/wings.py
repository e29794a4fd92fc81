# SPDX-License-Identifier: Apache-2.0
"""The wings of tools/millrace/ in their order, and their table in the architecture page.

`tools/docs --write` writes the table; its words are the docstrings of the packages.
"""

import ast
from pathlib import Path

from host.layout import REPO

PACKAGE = REPO / "tools/millrace"
PAGE = REPO / "docs/architecture.md"
HEADING = "| directory | what |"

# From the top down. A wing imports wings of the lines below its own; wings of one line do not import each other.
ORDER = [
    ["cli"],
    ["observe"],
    ["measure", "lifecycle", "protect"],
    ["serve"],
    ["tune"],
    ["storage"],
    ["plan"],
    ["inventory"],
    ["system"],
]
LINE = {wing: number for number, wings in enumerate(ORDER) for wing in wings}


def rooms(package: Path = PACKAGE) -> list[str]:
    """The wings and the rooms in them as paths, in the order of the wings: `storage`, `storage/array`."""
    found = (path.parent.relative_to(package) for path in package.rglob("__init__.py"))
    near = [one for one in found if 1 <= len(one.parts) <= 2 and one.parts[0] in LINE]
    return [str(one) for one in sorted(near, key=lambda one: (LINE[one.parts[0]], wing_at(one), one.parts))]


def wing_at(path: Path) -> int:
    """The place of a wing among those of its line."""
    return ORDER[LINE[path.parts[0]]].index(path.parts[0])


def words(package: Path) -> str:
    """The first sentence of the docstring of a package."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".")


def table() -> str:
    """Return the table: one row for each wing and each room, in Markdown."""
    rows = [f"| `{room}/` | {words(PACKAGE / room)} |" for room in rooms()]
    return "\n".join([HEADING, "|---|---|", *rows]) + "\n"


def part(page: str) -> str:
    """Return the table that a page has."""
    begin = page.index(HEADING)
    return page[begin : page.index("\n\n", begin) + 1]


def main() -> None:
    """Write the table into the page, in the place of the present one."""
    text = PAGE.read_text()
    PAGE.write_text(text.replace(part(text), table()))


if __name__ == "__main__":
    main()
