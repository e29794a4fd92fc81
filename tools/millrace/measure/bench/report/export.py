# SPDX-License-Identifier: Apache-2.0
"""A run as a file: JSON (complete), CSV (a line for each figure), XLSX with charts, one HTML page, OpenMetrics."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

from millrace.measure.bench.report.bench_page import page
from millrace.measure.bench.result.ceilings import headline
from millrace.measure.bench.result.choices import Format
from millrace.measure.bench.result.model import BenchRun, BenchState, Rung
from millrace.system.documents import Contract

COLUMNS = ("run", "labels", "rung", "layer", "target", "profile", "operation", "workload", "figure", "direction",
           "unit", "repeat", "value")  # fmt: skip
METRICS = "millrace_bench.prom"
"""For the directory of node_exporter's text files: the last run."""
UNITS = {"bandwidth": "bytes/s", "operations": "1/s"}
PERCENTILES = ("p50", "p95", "p99", "p999")

Row = tuple[str | int | float, ...]


def rows(run: BenchRun) -> Iterator[Row]:
    """Yield the rows in long format: every repeat, then the percentiles of all repeats together (repeat 0)."""
    for rung in _done(run):
        work = rung.workload
        fixed = (run.id, " ".join(run.labels), rung.id, rung.layer.value, rung.target)
        what = (work.profile.value, work.operation, work.sha256)
        for series in rung.series:
            for number, value in enumerate(series.values, start=1):
                yield *fixed, *what, series.quantity, series.direction, UNITS[series.quantity], number, value
        for latency in rung.latencies:
            for name in PERCENTILES:
                yield *fixed, *what, f"latency_{name}", latency.direction, "s", 0, getattr(latency, name)
        for accelerator in rung.accelerators:
            yield *fixed, *what, f"accelerators_{accelerator.accelerator}", "read", "1", 0, accelerator.count
            if accelerator.au is not None:
                yield *fixed, *what, f"utilisation_{accelerator.accelerator}", "read", "%", 0, accelerator.au
        if rung.checkpoint:
            for direction, seconds in (("write", rung.checkpoint.save_seconds), ("read", rung.checkpoint.load_seconds)):
                if seconds is not None:
                    yield *fixed, *what, f"checkpoint_{rung.checkpoint.model}", direction, "s", 0, seconds


def as_csv(run: BenchRun) -> bytes:
    """Return one line for each figure."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(COLUMNS)
    table.writerows(rows(run))
    return out.getvalue().encode()


def as_json(run: BenchRun) -> bytes:
    """Return the contract itself."""
    return run.model_dump_json(indent=2).encode()


def as_html(run: BenchRun) -> bytes:
    """Return one page that loads nothing."""
    return page(run).encode()


def as_xlsx(run: BenchRun) -> bytes:
    """Return summary, every figure, environment, and one chart for each unit."""
    out = io.BytesIO()
    with workbook(out) as book:
        summary = book.add_worksheet("Summary")
        head = ("rung", "figure", "unit", "median", "low", "high", "of predicted", "of below", "flags", "diagnosis")
        summary.write_row(0, 0, head)
        spans: dict[str, list[int]] = {}
        headlines = [(rung, main) for rung in _done(run) if (main := headline(rung)) is not None]
        for number, (rung, main) in enumerate(sorted(headlines, key=lambda pair: pair[1].quantity), start=1):
            ceiling = rung.ceiling
            values = (rung.id, main.quantity, UNITS[main.quantity], main.median, main.low, main.high)
            parts = (ceiling.of_predicted, ceiling.of_below, ", ".join(rung.flags), rung.diagnosis)
            summary.write_row(number, 0, (*values, *("" if part is None else part for part in parts)))
            spans.setdefault(main.quantity, []).append(number)
        for place, (quantity, lines) in enumerate(spans.items()):
            chart = book.add_chart({"type": "bar"})
            names, values_ = (["Summary", lines[0], column, lines[-1], column] for column in (0, 3))
            chart.add_series({"name": f"{quantity} ({UNITS[quantity]})", "categories": names, "values": values_})
            # an emulated server's figures are no promise
            chart.set_title({"name": f"{quantity}{' (emulated)' if 'emulated' in run.labels else ''}"})
            summary.insert_chart(len(headlines) + 3 + 18 * place, 0, chart, {"x_scale": 2})
        figures = book.add_worksheet("Figures")
        figures.write_row(0, 0, COLUMNS)
        for number, row in enumerate(rows(run), start=1):
            figures.write_row(number, 0, row)
        facts = book.add_worksheet("Environment")
        for number, (name, value) in enumerate(named(run.provenance, run.environment)):
            facts.write_row(number, 0, (name, value))
    return out.getvalue()


def workbook(out: io.BytesIO) -> Any:
    """Return a workbook to be written within `with`. Text is never written as a formula or as a link."""
    import xlsxwriter  # type: ignore[import-untyped]

    return xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})


def named(*parts: Contract) -> Iterator[tuple[str, str]]:
    """Yield what documents hold, as a table of two columns."""
    for part in parts:
        for name, value in part.model_dump(mode="json").items():
            if isinstance(value, dict):
                yield from ((f"{name}: {key}", str(one)) for key, one in value.items())
            else:
                yield name, str(value)


FORMATS: dict[Format, Callable[[BenchRun], bytes]] = {"json": as_json, "csv": as_csv, "xlsx": as_xlsx, "html": as_html}


def open_metrics(run: BenchRun) -> str:
    """Return the last run as a text file for node_exporter.

    By hand: prometheus_client would be a package more in the image for a few lines of text.
    """
    lines = [
        "# TYPE millrace_bench_run info",
        f'millrace_bench_run_info{{run="{run.id}",workload_hash="{run.provenance.workload_hash}",'
        f'labels="{" ".join(run.labels)}"}} 1',
        "# TYPE millrace_bench_bandwidth_bytes_per_second gauge",
        *_metrics(run, "millrace_bench_bandwidth_bytes_per_second", "bandwidth"),
        "# TYPE millrace_bench_operations_per_second gauge",
        *_metrics(run, "millrace_bench_operations_per_second", "operations"),
        "# TYPE millrace_bench_latency_seconds gauge",
    ]
    for rung in _done(run):
        for latency in rung.latencies:
            for name, quantile in zip(PERCENTILES, ("0.5", "0.95", "0.99", "0.999"), strict=True):
                where = f'{_where(rung)},op="{latency.direction}",quantile="{quantile}"'
                lines.append(f"millrace_bench_latency_seconds{{{where}}} {getattr(latency, name):.9g}")
    return "\n".join([*lines, "# EOF", ""])


def _metrics(run: BenchRun, name: str, quantity: str) -> Iterator[str]:
    for rung in _done(run):
        for one in rung.series:
            if one.quantity == quantity:
                yield f'{name}{{{_where(rung)},op="{one.direction}"}} {one.median:.9g}'


def _where(rung: Rung) -> str:
    return f'profile="{rung.workload.profile}",layer="{rung.layer}",target="{rung.target}"'


def _done(run: BenchRun) -> list[Rung]:
    return [rung for rung in run.rungs if rung.state is BenchState.DONE]
