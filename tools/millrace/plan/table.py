# SPDX-License-Identifier: Apache-2.0
"""The plan as a person reads it in a minute: on the console, in the journal, in a terminal."""

import json
import sys
from io import StringIO

from rich.box import SIMPLE, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.plan.model import Decision, DriveRole, Plan, PlanFile, Refusal, Role
from millrace.plan.table_findings import show_findings, show_prediction
from millrace.plan.units import KIB, words

WIDTH = 100
# Shown in the drives table already, or too long for a line.
NOT_LISTED = {"drives.data", "drives.log", "legs", "layout"}
SIZES = {
    "partition",
    "chunk",
    "raid0_chunk",
    "bitmap",
    "filesystem.stripe",
    "filesystem.log_size",
    "nfsd.max_block_size",
    "sysctl.dirty_bytes",
}


def as_text(file: PlanFile, colour: bool) -> str:
    """Render a proposal with a fixed width."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, force_terminal=colour, no_color=not colour, highlight=False)
    if isinstance(file.proposal, Plan):
        _plan(console, file.proposal, file.sha256 or "")
    else:
        _refusal(console, file.proposal)
    return out.getvalue()


def stdout_is_terminal() -> bool:
    """Whether colours make sense."""
    return sys.stdout.isatty()


def _plan(console: Console, plan: Plan, sha256: str) -> None:
    console.print(Text(f"Plan: {plan.title}", "bold"))
    console.print(Text(f"{words(plan.capacity)} for data, XFS at {plan.filesystem.mountpoint}"))
    console.print(_drives(plan.drives))
    console.print(_decisions(plan.decisions))
    for warning in plan.warnings:
        console.print(Text(f"Warning: {warning}", "yellow"))
    show_findings(console, plan.findings)
    show_prediction(console, plan.prediction)
    console.print(
        Text("Nothing has been written: approving makes partitions on the data and log drives, which are blank now.")
    )
    console.print(Text(f"sha256 {sha256}"))
    # One line whatever its length: it is there to be copied.
    console.print(Text(f"approve with: millrace approve {sha256}", "bold"), soft_wrap=True)


def _refusal(console: Console, refusal: Refusal) -> None:
    count = len(refusal.obstacles)
    console.print(Text(f"No plan: {count} obstacle{'s' * (count > 1)}. Nothing has been written.", "bold"))
    table = Table(box=SIMPLE, show_lines=True)
    for column in ("Drive", "Found", "What to do"):
        table.add_column(column, overflow="fold")
    for obstacle in refusal.obstacles:
        table.add_row(Text(obstacle.serial or "-"), Text(obstacle.what), Text(obstacle.todo))
    console.print(table)


def _drives(drives: list[DriveRole]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for column in ("Role", "Serial", "Model", "Size", "Partition"):
        table.add_column(column, overflow="fold")
    numbers = dict.fromkeys(Role, 0)
    for drive in drives:
        role = f"{drive.role.value}-{numbers[drive.role]:02}" if drive.partitions else drive.role.value
        numbers[drive.role] += 1
        table.add_row(
            role,
            Text(drive.serial),
            Text(drive.model),
            words(drive.size),
            words(sum(p.size for p in drive.partitions)) if drive.partitions else Text(drive.reason),
        )
    return table


def _decisions(decisions: list[Decision]) -> Table:
    table = Table(width=WIDTH, box=SIMPLE_HEAD)
    table.add_column("Decision", no_wrap=True)
    table.add_column("Value", width=30, overflow="fold")
    table.add_column("Why", ratio=1)
    for decision in decisions:
        if decision.name not in NOT_LISTED:
            table.add_row(decision.name, Text(_value(decision)), Text(decision.reason))
    return table


def _value(decision: Decision) -> str:
    value, show = decision.value, _size if decision.name in SIZES else _plain
    if isinstance(value, dict):
        return "\n".join(f"{key.removeprefix('vm.')} {show(part)}" for key, part in value.items())
    if isinstance(value, list):
        return "\n".join(map(show, value)) or "-"
    return show(value)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _size(value: object) -> str:
    """Large numbers among these are bytes; the small ones count something."""
    number = int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else 0
    return words(number) if number >= KIB else _plain(value)
