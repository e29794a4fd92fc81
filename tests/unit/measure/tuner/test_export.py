# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner as a file opens elsewhere, and its scores can be computed again from it."""

import csv
import io
import math
import re
from typing import Any

import openpyxl
import pytest

from millrace.measure.tuner.model import TunerRun, TunerState
from millrace.measure.tuner.report.export import FORMATS
from tests.unit.measure.bench.html import Page
from tests.unit.measure.tuner.reports import KNOBS, finished


@pytest.fixture(scope="module")
def done() -> TunerRun:
    return finished()


@pytest.fixture(scope="module")
def book(done: TunerRun) -> Any:
    return openpyxl.load_workbook(io.BytesIO(FORMATS["xlsx"](done)))


def rows(sheet: Any) -> list[list[Any]]:
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def below(table: list[list[Any]], head: str) -> list[list[Any]]:
    """The rows from the one that begins with `head` to the next empty one."""
    start = next(number for number, row in enumerate(table) if row[0] == head)
    end = next((n for n, row in enumerate(table[start:], start) if not any(one is not None for one in row)), len(table))
    return table[start:end]


def test_scores_of_the_spreadsheet_are_the_weighted_figures(book: Any) -> None:
    weights = {name: weight for name, weight, *_ in below(rows(book["Summary"]), "goal")[1:]}
    assert sum(weights.values()) == pytest.approx(1)
    head, *table = rows(book["All runs"])
    places = {name: next(n for n, title in enumerate(head) if title.startswith(f"{name} (")) for name in weights}
    phase, score = head.index("phase"), head.index("score")
    reference = next(row for row in table if row[phase] == "baseline")
    assert len(table) > 26
    for row in table:
        logs = [weight * math.log(row[places[name]] / reference[places[name]]) for name, weight in weights.items()]
        assert row[score] == pytest.approx(math.exp(math.fsum(logs)))


def test_spreadsheet_has_its_sheets_and_a_chart_of_every_effect(book: Any) -> None:
    assert book.sheetnames == ["Summary", "Effects", "All runs", "Environment"]
    assert len(book["Effects"]._charts) == 1
    head, *table = [row for row in rows(book["Effects"]) if row[0]]
    assert {row[0] for row in table} == {one.name for one in KNOBS}
    gains = [abs(math.log1p(row[head.index("gain of the plan's level")])) for row in table]
    assert gains == sorted(gains, reverse=True)


def test_spreadsheet_has_winner_plan_and_default_beside_each_other(book: Any, done: TunerRun) -> None:
    head, *table = below(rows(book["Summary"]), "set")
    assert [row[0] for row in table] == ["candidate", "plan", "kernel defaults"]
    assert table[1][1] == 1
    threads = head.index("nfsd.threads")
    assert [row[threads] for row in table] == [64, 1, 8]
    assert done.outcome and table[0][1] == pytest.approx(done.outcome.standings[0].score)


def test_text_is_never_a_formula(book: Any) -> None:
    head, *table = rows(book["All runs"])
    cells = {row[head.index("<i>useless</i>")] for row in table}
    assert "=1+1" in cells
    assert {cell.data_type for row in book["All runs"].iter_rows() for cell in row} <= {"s", "n"}


def test_csv_has_a_line_for_every_reading(done: TunerRun) -> None:
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](done).decode())))
    assert len(lines) == len(done.readings)
    assert float(lines[0]["seq-read (bytes/s)"]) == done.readings[0].figures["seq-read"]
    assert {one["phase"] for one in lines} >= {"baseline", "screen", "guard"}


def test_json_is_the_run_itself(done: TunerRun) -> None:
    assert TunerRun.model_validate_json(FORMATS["json"](done)) == done


def test_page_loads_nothing_and_trusts_no_name(done: TunerRun) -> None:
    text = FORMATS["html"](done).decode()
    page = Page(text)
    assert page.loaded == []
    assert page.bars == len(KNOBS)
    assert "default-src 'none'" in text
    assert "<i>useless" not in text
    assert "GB/s" in text


def test_page_of_an_emulated_server_has_no_bandwidth() -> None:
    text = FORMATS["html"](finished("kvm")).decode()
    assert not re.search(r"\d [kMGT]?B/s", text.replace("memory at 5 GB/s", ""))
    assert "only ratios are meaningful" in text


@pytest.mark.parametrize("kind", FORMATS)
def test_run_that_has_not_measured_yet_can_be_exported(done: TunerRun, kind: Any) -> None:
    empty = {"readings": [], "effects": [], "outcome": None, "environment": None, "state": TunerState.INTERRUPTED}
    assert FORMATS[kind](done.model_copy(update=empty))
