# SPDX-License-Identifier: Apache-2.0
"""Prediction and findings as a person reads them, below the plan."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.plan.constants import GIGA
from millrace.plan.finding import Finding, Severity, merged
from millrace.plan.prediction_model import LayerName, Outcome, Prediction

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


def show_prediction(console: Console, prediction: Prediction | None) -> None:
    """Print the limit of each layer in GB/s; what is not known is said to be so, with what would find it out."""
    if prediction is None:
        return
    table = Table(title="At most, in GB/s", title_justify="left", box=SIMPLE_HEAD)
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
        console.print(Text(f"{NOT_KNOWN} is not known and may be lower. What would find it out:"))
    for name, measures in measures_of.items():
        console.print(Text(f"  {LAYERS[name]}: {'; '.join(measures)}"))


def show_findings(console: Console, findings: list[Finding]) -> None:
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
    """md is what usually binds where it takes part: as long as it is not known, no other layer is named alone."""
    known = LAYERS[outcome.bound_by] if outcome.bound_by else NOT_KNOWN
    return f"md or {known}" if "md" in outcome.not_known() else known


def _to_measure(outcomes: list[Outcome]) -> dict[LayerName, list[str]]:
    found: dict[LayerName, list[str]] = {}
    for layer in (layer for outcome in outcomes for layer in outcome.layers):
        if layer.measure and layer.measure not in found.setdefault(layer.name, []):
            found[layer.name].append(layer.measure)
    return found
