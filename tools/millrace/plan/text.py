# SPDX-License-Identifier: Apache-2.0
"""The plan as a table for console, journal and terminal."""

import re
from collections.abc import Iterator, Mapping

from millrace.inventory.drive_tests import DriveTest, in_words
from millrace.plan.constants import GIGA
from millrace.plan.finding import PlanFinding, Severity, merged
from millrace.plan.model import Decision, DriveRole, LayerName, Plan, PlanFile, PlanOutcome, Prediction, Refusal
from millrace.plan.values import value_in_words
from millrace.system.command import command
from millrace.system.printing import Cell, Style, Styled, Terminal, line, notes, table, terminal
from millrace.system.text import binary, size

# Shown in the drives table already, or too long for a line.
NOT_LISTED = {"drives.data", "drives.log", "drives.spares", "drives.unused", "legs", "layout", "log"}
COLOURS: dict[Severity, Style] = {Severity.FAIL: "red", Severity.WARN: "yellow", Severity.INFO: "dim"}
LAYERS: dict[LayerName, str] = {
    "drives": "Drives",
    "pcie": "PCIe",
    "memory": "Memory",
    "cpu": "CPU",
    "md": "md",
    "nic": "Network",
}
NOT_KNOWN = "?"


def lines(
    file: PlanFile,
    in_force: bool = False,
    tests: Mapping[str, DriveTest] | None = None,
    on: Terminal | None = None,
) -> Iterator[str]:
    """Yield a proposal as text; `in_force` is the plan of a pool that exists, `tests` are those of this server's drives
    by serial.
    """
    on = on or terminal()
    if isinstance(file.proposal, Plan):
        yield from _plan(file.proposal, file.sha256 or "", in_force, tests, on)
    else:
        yield from _refusal(file.proposal, on)


def _plan(
    plan: Plan, sha256: str, in_force: bool, tests: Mapping[str, DriveTest] | None, on: Terminal
) -> Iterator[str]:
    title = f"{'Plan in force' if in_force else 'Plan'}: {plan.title}"
    yield from notes([title], indent=0, style="bold", on=on)
    yield f"Usable capacity: {size(plan.capacity)} ({binary(plan.capacity)}), XFS at {plan.filesystem.mountpoint}"
    yield ""
    yield from _drives(plan, on)
    yield ""
    yield from _decisions(plan.decisions, on)
    yield ""
    yield "Details of a decision, for example `layout`: millrace plan --explain DECISION"
    yield from notes((f"Warning: {warning}" for warning in plan.warnings), indent=0, style="yellow", on=on)
    yield from _findings(plan.findings, on)
    yield from _prediction(plan.prediction, on)
    yield from notes(_end(plan, in_force, tests), indent=0, on=on)
    yield f"sha256 {sha256}"
    if not in_force:
        yield line(f"approve with: {command('millrace approve', sha256)}", "bold", on)


def _end(plan: Plan, in_force: bool, tests: Mapping[str, DriveTest] | None) -> Iterator[str]:
    """What the plan is to the pool: the one that it has, or one that may be approved."""
    if in_force:
        yield "The pool was created from this plan; `millrace pool show` shows the pool as it is now."
        return
    which = "the drives of the arrays, which are" if plan.backend == "md" else "the external device, which is"
    if plan.backend == "md" and tests is not None:
        yield from _tested(plan, tests)
    yield f"Nothing has been written. Approving the plan partitions {which} blank."


def _tested(plan: Plan, tests: Mapping[str, DriveTest]) -> Iterator[str]:
    """Which drives of the plan have proved themselves, and how the others can."""
    used = [drive.serial for drive in plan.drives if drive.partitions]
    ended: dict[str, list[str]] = {}
    for serial in used:
        if serial in tests:
            ended.setdefault(in_words(tests[serial]), []).append(serial)
    for words, serials in ended.items():
        yield f"Tested, {words}: {', '.join(serials)}"
    left = len(used) - sum(map(len, ended.values()))
    if left:
        drives = f"{left} of {len(used)} drives" if left > 1 else f"1 drive of {len(used)}"
        yield f"{drives} not tested yet; to test them first: millrace drive test --all-candidates [--quick]"


def _refusal(refusal: Refusal, on: Terminal) -> Iterator[str]:
    count = len(refusal.obstacles)
    yield line(f"No plan: {count} obstacle{'s' * (count > 1)}. Nothing has been written.", "bold", on)
    yield ""
    rows = [([drive.words for drive in one.drives] or None, one.what, one.todo) for one in refusal.obstacles]
    yield from table(("Drives", "Found", "What to do"), rows, on=on)


def _drives(plan: Plan, on: Terminal) -> Iterator[str]:
    """One row for each array, then the drives that are in none: 40 rows of single drives are too many to read."""
    rows: list[tuple[Cell, ...]] = []
    by_serial = {drive.serial: drive for drive in plan.drives}
    for array in plan.arrays:
        if array.over_arrays:
            rows.append((array.name, f"{array.level.upper()} of {', '.join(array.members)}", ""))
            continue
        drives = [by_serial[serial] for serial in array.members]
        part = next(part for part in drives[0].partitions if part.role is array.role)
        made_of = f"{array.level.upper()} of {len(drives)} × {size(part.size)}"
        rows.append((array.name, made_of, _names(drives)))
        if array.spares:
            rows.append(("", "hot spare", _names([by_serial[serial] for serial in array.spares])))
    for drive in plan.drives:
        if drive.partitions and plan.backend == "external":
            parts = ", ".join(f"partition of {size(part.size)}" for part in drive.partitions)
            rows.append((drive.role.value, parts, _names([drive])))
        if not drive.partitions:
            rows.append((drive.role.value, _names([drive]), drive.reason))
    return table(("Array" if plan.backend == "md" else "Device", "Made of", "Drives"), rows, indent=2, on=on)


def _names(drives: list[DriveRole]) -> list[str]:
    """`ACME 7T68: SN000, SN001`, a line for each model."""
    models: dict[str, list[str]] = {}
    for drive in drives:
        models.setdefault(", ".join(filter(None, (drive.model, size(drive.size)))), []).append(drive.serial)
    return [f"{model}: {', '.join(serials)}" for model, serials in models.items()]


def _decisions(decisions: list[Decision], on: Terminal) -> Iterator[str]:
    shown = [one for one in decisions if one.name not in NOT_LISTED]
    rows = [(one.name, value_in_words(one), _in_short(one.reason)) for one in shown]
    # A line for each decision is read; a paragraph is what --explain is for.
    return table(("Decision", "Value", "Why"), rows, cut=True, indent=2, on=on)


def _in_short(reason: str) -> str:
    """The first clause; `--explain` shows all."""
    return re.split(r"(?<=\w\w)(?:[:;.] |[.]$| \()", reason, maxsplit=1)[0]


def _prediction(prediction: Prediction | None, on: Terminal) -> Iterator[str]:
    """The limit of each layer in GB/s; where it is not known, what would find it out."""
    if prediction is None:
        return
    rows: list[tuple[Cell, ...]] = []
    for outcome in prediction.outcomes:
        limits = {layer.name: _gigabytes(layer.limit, at_best=layer.measure is not None) for layer in outcome.layers}
        rows.append(
            (
                f"{outcome.direction} {outcome.transport.upper()}, {outcome.state}",
                *(limits.get(name) for name in LAYERS),
                Styled(_gigabytes(outcome.limit, at_best=True), "bold"),
                _bound_by(outcome),
            )
        )
    figures = (*LAYERS.values(), "Limit")
    yield ""
    yield "At most, in GB/s (TCP and RDMA: NFS)"
    yield from table(("Traffic", *figures, "Set by"), rows, right=figures, indent=2, on=on)
    yield ""
    measures_of = _to_measure(prediction.outcomes)
    if measures_of:
        yield f"{NOT_KNOWN} is not known and may be lower. To measure it:"
    yield from notes((f"{LAYERS[name]}: {'; '.join(measures)}" for name, measures in measures_of.items()), on=on)


def _findings(findings: list[PlanFinding], on: Terminal) -> Iterator[str]:
    """What could be better about the hardware; findings that differ in their subject only are one row."""
    if not findings:
        return
    rows = [
        (Styled(one.severity.value, COLOURS[one.severity]), one.subject, one.what, one.todo) for one in merged(findings)
    ]
    yield ""
    yield "Hardware"
    yield from table(("Level", "Where", "Found", "What to do"), rows, indent=2, on=on)


def _gigabytes(limit: int | None, at_best: bool) -> str:
    return NOT_KNOWN if limit is None else f"{'≤ ' * at_best}{limit / GIGA:.1f}"


def _bound_by(outcome: PlanOutcome) -> str:
    """md is the usual bottleneck where it takes part: as long as it is not known, no other layer is named alone."""
    known = LAYERS[outcome.bound_by] if outcome.bound_by else NOT_KNOWN
    return f"md or {known}" if "md" in outcome.not_known() else known


def _to_measure(outcomes: list[PlanOutcome]) -> dict[LayerName, list[str]]:
    found: dict[LayerName, list[str]] = {}
    for layer in (layer for outcome in outcomes for layer in outcome.layers):
        if layer.measure and layer.measure not in found.setdefault(layer.name, []):
            found[layer.name].append(layer.measure)
    return found
