# SPDX-License-Identifier: Apache-2.0
"""The table of exports, as exportfs writes it from the files in /etc/exports.d."""

from pathlib import Path


def exports(root: Path, name: str) -> dict[str, str]:
    """Clients with their options by directory, from one of the files."""
    path = root / "etc/exports.d" / name
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(" ", 1) for line in lines if line.startswith("/"))


def write_table(root: Path, table: dict[str, str]) -> None:
    """Write the table: a line for each client."""
    path = root / "run/millrace/nfs/etab"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{directory}\t{client}\n" for directory, clients in table.items() for client in clients.split(" ")]
    path.write_text("".join(lines))
