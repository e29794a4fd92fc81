# SPDX-License-Identifier: Apache-2.0
"""A run as a file opens elsewhere."""

import csv
import io
import json
import re

import openpyxl
import pytest

from millrace.measure.bench.report.export import FORMATS, open_metrics
from millrace.measure.bench.result.model import BenchRun
from tests.unit.measure.bench.html import Page
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run


@pytest.fixture
def whole() -> BenchRun:
    return run(done("L0/drives/seq/read", 9e9), done("L1/xfs/seq/read", 5e9), done("L2/smb/rand/read"))


def test_json_is_the_run_itself(whole: BenchRun) -> None:
    assert BenchRun.model_validate_json(FORMATS["json"](whole)) == whole


def test_csv_has_a_line_for_every_figure(whole: BenchRun) -> None:
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](whole).decode())))
    mine = [one for one in lines if one["rung"] == "L1/xfs/seq/read" and one["figure"] == "bandwidth"]
    assert [float(one["value"]) for one in mine] == [5e9] * 3
    assert {"latency_p50", "latency_p99"} <= {one["figure"] for one in lines}


def test_a_spreadsheet_opens_with_its_charts(whole: BenchRun) -> None:
    book = openpyxl.load_workbook(io.BytesIO(FORMATS["xlsx"](whole)))
    assert book.sheetnames == ["Summary", "Figures", "Environment"]
    medians = {row[0]: row[3] for row in book["Summary"].iter_rows(min_row=2, max_row=4, values_only=True)}
    assert medians["L0/drives/seq/read"] == 9e9
    assert len(book["Summary"]._charts) == 2
    assert book["Figures"].max_row == 1 + len(list(csv.reader(io.StringIO(FORMATS["csv"](whole).decode())))) - 1


def test_the_page_loads_nothing_and_trusts_no_name(whole: BenchRun) -> None:
    text = FORMATS["html"](whole).decode()
    page = Page(text)
    assert page.loaded == []
    assert page.bars == 3
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "5 GB/s" in text


def test_the_page_of_an_emulated_run_has_no_bandwidth(whole: BenchRun) -> None:
    text = FORMATS["html"](whole.model_copy(update={"labels": ["emulated"]})).decode()
    assert not re.search(r"\d [kMGT]?B/s", text)
    assert "only ratios are meaningful" in text


def test_metrics_name_profile_layer_and_operation(whole: BenchRun) -> None:
    text = open_metrics(whole)
    assert 'bandwidth_bytes_per_second{profile="seq",layer="L1",target="xfs",op="read"} 5e+09' in text
    assert 'workload_hash="abc"' in text
    assert text.endswith("# EOF\n")
    assert json.dumps(text)
