# SPDX-License-Identifier: Apache-2.0
"""The plan as a table for console, journal and terminal."""

import re
import sys
from collections.abc import Mapping
from io import StringIO

from rich.box import SIMPLE, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.inventory.drive_tests import DriveTest, in_words
from millrace.plan.constants import GIGA
from millrace.plan.finding import Finding, Severity, merged
from millrace.plan.model import Decision, DriveRole, LayerName, Outcome, Plan, PlanFile, Prediction, Refusal
from millrace.plan.values import value_in_words
from millrace.system.text import binary, size

WIDTH = 100
# Shown in the drives table already, or too long for a line.
NOT_LISTED = {"drives.data", "drives.log", "drives.spares", "drives.unused", "legs", "layout", "log"}
COLOURS = {Severity.FAIL: "red", Severity.WARN: "yellow", Severity.INFO: "dim"}
LAYERS: dict[LayerName, str] = {
    "drives": "Drives",
    "pcie": "PCIe",
    "memory": "Memory",
    "cpu": "CPU",
    "md": "md",
    "nic": "Network",
}
NOT_KNOWN = "?"
NO_LIMIT = "-"


def as_text(file: PlanFile, colour: bool, in_force: bool = False, tests: Mapping[str, DriveTest] | None = None) -> str:
    """Render a proposal with a fixed width; `in_force` is the plan of a pool that exists, `tests` are those of this
    server's drives by serial.
    """
    out = StringIO()
    console = Console(file=out, width=WIDTH, force_terminal=colour, no_color=not colour, highlight=False)
    if isinstance(file.proposal, Plan):
        _plan(console, file.proposal, file.sha256 or "", in_force, tests)
    else:
        _refusal(console, file.proposal)
    return out.getvalue()


def stdout_is_terminal() -> bool:
    """Whether standard output shows colours."""
    return sys.stdout.isatty()


def _plan(console: Console, plan: Plan, sha256: str, in_force: bool, tests: Mapping[str, DriveTest] | None) -> None:
    console.print(Text(f"{'Plan in force' if in_force else 'Plan'}: {plan.title}", "bold"))
    console.print(
        Text(f"Usable capacity: {size(plan.capacity)} ({binary(plan.capacity)}), XFS at {plan.filesystem.mountpoint}")
    )
    console.print(_drives(plan))
    console.print(_decisions(plan.decisions))
    console.print(Text("Details of a decision, for example `layout`: millrace plan --explain DECISION"))
    for warning in plan.warnings:
        console.print(Text(f"Warning: {warning}", "yellow"))
    _findings(console, plan.findings)
    _prediction(console, plan.prediction)
    if in_force:
        console.print(Text("The pool was created from this plan; `millrace pool show` shows the pool as it is now."))
        console.print(Text(f"sha256 {sha256}"))
        return
    which = "the drives of the arrays, which are" if plan.backend == "md" else "the external device, which is"
    if plan.backend == "md" and tests is not None:
        _tested(console, plan, tests)
    console.print(Text(f"Nothing has been written. Approving the plan partitions {which} blank."))
    console.print(Text(f"sha256 {sha256}"))
    # One line whatever its length: it is there to be copied.
    console.print(Text(f"approve with: millrace approve {sha256}", "bold"), soft_wrap=True)


def _tested(console: Console, plan: Plan, tests: Mapping[str, DriveTest]) -> None:
    """Print which drives of the plan have proved themselves, and how the others can."""
    used = [drive.serial for drive in plan.drives if drive.partitions]
    ended: dict[str, list[str]] = {}
    for serial in used:
        if serial in tests:
            ended.setdefault(in_words(tests[serial]), []).append(serial)
    for words, serials in ended.items():
        console.print(Text(f"Tested, {words}: {', '.join(serials)}"))
    left = len(used) - sum(map(len, ended.values()))
    if left:
        drives = f"{left} of {len(used)} drives" if left > 1 else f"1 drive of {len(used)}"
        console.print(
            Text(f"{drives} not tested yet; to test them first: millrace drive test --all-candidates [--quick]")
        )


def _refusal(console: Console, refusal: Refusal) -> None:
    count = len(refusal.obstacles)
    console.print(Text(f"No plan: {count} obstacle{'s' * (count > 1)}. Nothing has been written.", "bold"))
    table = Table(box=SIMPLE, show_lines=True)
    for column in ("Drives", "Found", "What to do"):
        table.add_column(column, overflow="fold")
    for obstacle in refusal.obstacles:
        names = "\n".join(one.words for one in obstacle.drives)
        table.add_row(Text(names or "-"), Text(obstacle.what), Text(obstacle.todo))
    console.print(table)


def _drives(plan: Plan) -> Table:
    """One row for each array, then the drives that are in none: 40 rows of single drives are too many to read."""
    table = Table(box=SIMPLE_HEAD, width=WIDTH)
    first = "Array" if plan.backend == "md" else "Device"
    for column in (first, "Made of", "Drives"):
        table.add_column(column, overflow="fold", no_wrap=column == first)
    by_serial = {drive.serial: drive for drive in plan.drives}
    for array in plan.arrays:
        if array.over_arrays:
            table.add_row(array.name, f"{array.level.upper()} of {', '.join(array.members)}", "")
            continue
        drives = [by_serial[serial] for serial in array.members]
        part = next(part for part in drives[0].partitions if part.role is array.role)
        made_of = f"{array.level.upper()} of {len(drives)} × {size(part.size)}"
        table.add_row(array.name, made_of, Text(_names(drives)))
        if array.spares:
            table.add_row("", "hot spare", Text(_names([by_serial[serial] for serial in array.spares])))
    for drive in plan.drives:
        if drive.partitions and plan.backend == "external":
            parts = ", ".join(f"partition of {size(part.size)}" for part in drive.partitions)
            table.add_row(drive.role.value, parts, Text(_names([drive])))
        if not drive.partitions:
            table.add_row(drive.role.value, Text(_names([drive])), Text(drive.reason))
    return table


def _names(drives: list[DriveRole]) -> str:
    """`ACME 7T68: SN000, SN001`, a line for each model."""
    models: dict[str, list[str]] = {}
    for drive in drives:
        models.setdefault(f"{drive.model}, {size(drive.size)}", []).append(drive.serial)
    return "\n".join(f"{model}: {', '.join(serials)}" for model, serials in models.items())


def _decisions(decisions: list[Decision]) -> Table:
    table = Table(width=WIDTH, box=SIMPLE_HEAD)
    table.add_column("Decision", no_wrap=True)
    table.add_column("Value", max_width=24, overflow="fold")
    # A line for each decision is read; a paragraph is what --explain is for.
    table.add_column("Why", ratio=1, no_wrap=True, overflow="ellipsis")
    for decision in decisions:
        if decision.name not in NOT_LISTED:
            table.add_row(decision.name, Text(value_in_words(decision)), Text(_in_short(decision.reason)))
    return table


def _in_short(reason: str) -> str:
    """The first clause; `--explain` shows all."""
    return re.split(r"(?<=\w\w)(?:[:;.] |[.]$| \()", reason, maxsplit=1)[0]


def _prediction(console: Console, prediction: Prediction | None) -> None:
    """Print the limit of each layer in GB/s; where it is not known, what would find it out."""
    if prediction is None:
        return
    table = Table(title="At most, in GB/s (TCP and RDMA: NFS)", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for heading in (*LAYERS.values(), "Limit"):
        table.add_column(heading, justify="right")
    table.add_column("Set by")
    for outcome in prediction.outcomes:
        limits = {layer.name: _gigabytes(layer.limit, at_best=layer.measure is not None) for layer in outcome.layers}
        table.add_row(
            f"{outcome.direction} {outcome.transport.upper()}, {outcome.state}",
            *(limits.get(name, NO_LIMIT) for name in LAYERS),
            Text(_gigabytes(outcome.limit, at_best=True), "bold"),
            _bound_by(outcome),
        )
    console.print(table)
    measures_of = _to_measure(prediction.outcomes)
    if measures_of:
        console.print(Text(f"{NOT_KNOWN} is not known and may be lower. To measure it:"))
    for name, measures in measures_of.items():
        console.print(Text(f"  {LAYERS[name]}: {'; '.join(measures)}"))


def _findings(console: Console, findings: list[Finding]) -> None:
    """Print what could be better about the hardware; findings that differ in their subject only are one row."""
    if not findings:
        return
    table = Table(title="Hardware", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for heading in ("Where", "Found", "What to do"):
        table.add_column(heading, overflow="fold", ratio=1 if heading == "Where" else 2)
    for one in merged(findings):
        table.add_row(
            Text(one.severity.value, COLOURS[one.severity]), Text(one.subject), Text(one.what), Text(one.todo)
        )
    console.print(table)


def _gigabytes(limit: int | None, at_best: bool) -> str:
    return NOT_KNOWN if limit is None else f"{'≤ ' * at_best}{limit / GIGA:.1f}"


def _bound_by(outcome: Outcome) -> str:
    """md is the usual bottleneck where it takes part: as long as it is not known, no other layer is named alone."""
    known = LAYERS[outcome.bound_by] if outcome.bound_by else NOT_KNOWN
    return f"md or {known}" if "md" in outcome.not_known() else known


def _to_measure(outcomes: list[Outcome]) -> dict[LayerName, list[str]]:
    found: dict[LayerName, list[str]] = {}
    for layer in (layer for outcome in outcomes for layer in outcome.layers):
        if layer.measure and layer.measure not in found.setdefault(layer.name, []):
            found[layer.name].append(layer.measure)
    return found
