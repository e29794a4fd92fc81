# SPDX-License-Identifier: Apache-2.0
"""A run as a file: JSON (complete), CSV (a line for each reading), XLSX with a chart, one HTML page."""

import csv
import io
from collections.abc import Callable, Iterable
from typing import Any

from millrace.measure.bench.report.export import named, workbook
from millrace.measure.bench.result.choices import Format
from millrace.measure.tuner.model import TunerRun
from millrace.measure.tuner.report.sizing import sizing
from millrace.measure.tuner.report.tables import (
    EFFECT_COLUMNS,
    Cell,
    effect_rows,
    emulated,
    run_columns,
    run_rows,
    standing_columns,
    standing_rows,
)
from millrace.measure.tuner.report.tuner_page import page
from millrace.system.documents import Contract


def as_json(run: TunerRun) -> bytes:
    """Return the contract itself."""
    return run.model_dump_json(indent=2).encode()


def as_csv(run: TunerRun) -> bytes:
    """Return one line for each reading, with the run's id first."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["run", *run_columns(run)])
    table.writerows([run.id, *row] for row in run_rows(run))
    return out.getvalue().encode()


def as_html(run: TunerRun) -> bytes:
    """Return one page that loads nothing."""
    return page(run).encode()


def as_xlsx(run: TunerRun) -> bytes:
    """Return summary, effects with a chart, all runs and the environment."""
    out = io.BytesIO()
    with workbook(out) as book:
        _write(book.add_worksheet("Summary"), _summary(run))
        effects = list(effect_rows(run))
        sheet = book.add_worksheet("Effects")
        _write(sheet, [EFFECT_COLUMNS, *effects])
        if effects:
            names, values = (["Effects", 1, column, len(effects), column] for column in (1, 4))
            chart = book.add_chart({"type": "bar"})
            chart.add_series({"name": "gain of the plan's level", "categories": names, "values": values})
            chart.set_title({"name": f"What mattered{' (emulated)' if emulated(run) else ''}"})
            # the largest effect on top, as in the table
            chart.set_y_axis({"reverse": True, "label_position": "low"})
            chart.set_x_axis({"num_format": "0%"})
            sheet.insert_chart(len(effects) + 3, 0, chart, {"x_scale": 2})
        _write(book.add_worksheet("All runs"), [run_columns(run), *run_rows(run)])
        parts: list[Contract] = [run.versions, *([run.environment] if run.environment else [])]
        _write(book.add_worksheet("Environment"), named(*parts))
    return out.getvalue()


FORMATS: dict[Format, Callable[[TunerRun], bytes]] = {"json": as_json, "csv": as_csv, "xlsx": as_xlsx, "html": as_html}


def _summary(run: TunerRun) -> Iterable[Iterable[Cell]]:
    yield ["run", run.id]
    yield ["host", run.host]
    yield ["started", run.started]
    yield ["state", run.state.value, run.reason]
    if run.outcome:
        yield ["result", run.outcome.reason]
        yield ["gain", run.outcome.gain]
        yield ["noise", run.outcome.noise]
    yield []
    yield ["goal", "weight", "unit", "better", "title"]
    for goal in run.goals:
        yield [goal.name, goal.weight, goal.unit, goal.better, goal.title]
    yield []
    yield standing_columns(run)
    yield from standing_rows(run)
    yield []
    yield ["sizing", "by formula", "terms", "here"]
    for number in sizing(run):
        yield [number.name, number.value, number.terms, number.here]


def _write(sheet: Any, rows: Iterable[Iterable[Cell]]) -> None:
    for number, row in enumerate(rows):
        sheet.write_row(number, 0, ["" if cell is None else cell for cell in row])
