# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side: only what means something is called a change. A run as a file opens elsewhere."""

import csv
import io
import json
import re

import openpyxl
import pytest

from millrace.bench.report.compare import compare
from millrace.bench.report.export import FORMATS, open_metrics
from millrace.bench.result.ceilings import with_ceilings
from millrace.bench.result.environment import Environment
from millrace.bench.result.figures import completed
from millrace.bench.result.model import Provenance, Run, Rung, State
from millrace.errors import Refused
from tests.unit.bench.html import Page
from tests.unit.bench.rungs import done, repeat, waiting
from tests.unit.bench.sites import request, site

FACTS = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "<b>x</b>")
EMPTY = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {"fio": "3.41"}, "settings": {}}


def run(*rungs: Rung, labels: tuple[str, ...] = ()) -> Run:
    here = site()
    numbers = dict.fromkeys(("sockets", "cores", "memory"), 1)
    return Run(
        id="20260101-000000",
        started="2026-01-01T00:00:00+00:00",
        state=State.DONE,
        request=request(),
        labels=list(labels),  # type: ignore[arg-type]
        provenance=Provenance(version="1", workload_hash="abc", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_validate({**FACTS, **numbers, **EMPTY}),
        rungs=with_ceilings(rungs, here.inventory, here.plan, False),
    )


def rung(*bandwidths: float, name: str = "L1/xfs/seq/read") -> Rung:
    return completed(waiting(name), [repeat(bandwidth=one) for one in bandwidths], [], 3)


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ((100.0, 101.0, 99.0), "same"),
        ((102.0, 102.5, 101.5), "same"),  # below 3 %
        ((120.0, 121.0, 119.0), "faster"),
        ((80.0, 81.0, 79.0), "slower"),
        ((150.0, 100.0, 60.0), "same"),  # noise
    ],
)
def test_a_change_is_called_one_only_if_it_means_something(second: tuple[float, ...], verdict: str) -> None:
    found = compare(run(rung(100, 101, 99)), run(rung(*second)))
    change = next(one for one in found.changes if one.quantity == "bandwidth")
    assert change.verdict == verdict
    assert change.low <= change.ratio <= change.high


def test_the_same_figures_give_the_same_answer() -> None:
    first, second = run(rung(100, 90, 120)), run(rung(130, 110, 140))
    assert compare(first, second) == compare(first, second)


def test_other_work_is_not_compared() -> None:
    small = rung(100, 100, name="L1/xfs/seq/read")
    other = small.model_copy(update={"workload": small.workload.model_copy(update={"sha256": "other"})})
    with pytest.raises(Refused, match="did not do the same work"):
        compare(run(small), run(other))
    found = compare(run(small, rung(5, 5, name="L1/xfs/rand/read")), run(small))
    assert found.incomparable == ["L1/xfs/rand/read"]


def test_a_degraded_run_beside_a_healthy_one_says_so() -> None:
    found = compare(run(rung(1, 1)), run(rung(1, 1), labels=("degraded",)))
    assert found.labels == ["only one of them is degraded"]


@pytest.fixture
def whole() -> Run:
    return run(done("L0/drives/seq/read", 9e9), done("L1/xfs/seq/read", 5e9), done("L2/smb/rand/read"))


def test_json_is_the_run_itself(whole: Run) -> None:
    assert Run.model_validate_json(FORMATS["json"](whole)) == whole


def test_csv_has_a_line_for_every_figure(whole: Run) -> None:
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](whole).decode())))
    mine = [one for one in lines if one["rung"] == "L1/xfs/seq/read" and one["figure"] == "bandwidth"]
    assert [float(one["value"]) for one in mine] == [5e9] * 3
    assert {"latency_p50", "latency_p99"} <= {one["figure"] for one in lines}


def test_a_spreadsheet_opens_with_its_charts(whole: Run) -> None:
    book = openpyxl.load_workbook(io.BytesIO(FORMATS["xlsx"](whole)))
    assert book.sheetnames == ["Summary", "Figures", "Environment"]
    medians = {row[0]: row[3] for row in book["Summary"].iter_rows(min_row=2, max_row=4, values_only=True)}
    assert medians["L0/drives/seq/read"] == 9e9
    assert len(book["Summary"]._charts) == 2
    assert book["Figures"].max_row == 1 + len(list(csv.reader(io.StringIO(FORMATS["csv"](whole).decode())))) - 1


def test_the_page_loads_nothing_and_trusts_no_name(whole: Run) -> None:
    text = FORMATS["html"](whole).decode()
    page = Page(text)
    assert page.loaded == []
    assert page.bars == 3
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "5 GB/s" in text


def test_the_page_of_an_emulated_run_has_no_bandwidth(whole: Run) -> None:
    text = FORMATS["html"](whole.model_copy(update={"labels": ["emulated"]})).decode()
    assert not re.search(r"\d [kMGT]?B/s", text)
    assert "only ratios mean something" in text


def test_metrics_name_profile_layer_and_operation(whole: Run) -> None:
    text = open_metrics(whole)
    assert 'bandwidth_bytes_per_second{profile="seq",layer="L1",target="xfs",op="read"} 5e+09' in text
    assert 'workload_hash="abc"' in text
    assert text.endswith("# EOF\n")
    assert json.dumps(text)
