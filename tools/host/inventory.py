# SPDX-License-Identifier: Apache-2.0
"""`tools/inventory`: the inventory of another server, from its capture."""

import argparse
from pathlib import Path

from host.captures.replay import inventory_of
from host.entry import finish
from millrace.inventory.text import lines
from millrace.system.printing import safe


def main(arguments: list[str]) -> int:
    """Print the inventory of a capture, as text or as the document of `millrace inventory --json`."""
    parser = argparse.ArgumentParser(prog="tools/inventory", description="Show the hardware of a captured server.")
    parser.add_argument(
        "capture",
        type=Path,
        metavar="CAPTURE",
        help="archive of `millrace inventory --capture`, or the directory that it was unpacked into",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, which `millrace plan` reads")
    chosen = parser.parse_args(arguments)
    inventory = inventory_of(chosen.capture)
    if chosen.json:
        print(inventory.model_dump_json(indent=2))
        return 0
    for line in lines(inventory):
        print(safe(line))
    return 0


if __name__ == "__main__":
    finish(main)
