# SPDX-License-Identifier: Apache-2.0
"""What the stories of updates again and again have in common.

`CYCLES` in the environment is how many; docs/evidence/update-cycles.md says what one costs, and
keeps the tables that are printed.
"""

import os
from collections.abc import Sequence

from tests.vm.box import Box

CYCLES = int(os.environ.get("CYCLES", "50"))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
    """Print a table in Markdown."""
    print("\n| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


def free(box: Box, where: str) -> int:
    """MiB that are free in the file system of a directory."""
    return int(box.say(f"df --output=avail -m {where} | tail -n 1"))
