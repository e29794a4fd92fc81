# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown."""

from collections.abc import Iterable

from host.perf.benchmarks import BENCHMARKS, CONTROL
from host.perf.results import Result, Row

CAVEATS = (
    "Times are simulated: one instruction takes 1 ns, on one processor without caches, PCIe, NUMA or contended locks; "
    "a vector instruction counts as one.",
    "Drives are memory with one latency for reads and writes and a FLUSH that costs nothing, as drives with power-loss "
    "protection have it; there is no network card, and a client shares the processor with the server.",
    "Instructions of a row include about 0.2 s in which the load generator starts and ends.",
    "The first run of each load is discarded. Ratios say what a setting does to waiting, to I/O and to instructions; "
    "they are not the speed-up of a server, and nothing here is a throughput.",
)
COLUMNS = (
    "test",
    "variant",
    "rate",
    "µs each",
    "p99 µs",
    "drive reads each",
    "drive writes each",
    "log writes each",
    "bytes written / asked",
    "calls each",
    "instructions each",
)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(row: Row, base: Row | None) -> list[str]:
    each = row.operations
    return [
        row.test,
        row.variant,
        f"{row.rate / base.rate:.2f}" if base else "",
        f"{row.seconds / each * 1e6:.0f}",
        f"{row.p99_us:.0f}",
        f"{row.data.reads / each:.2f}",
        f"{row.data.writes / each:.2f}",
        f"{row.log.writes / each:.2f}",
        f"{row.amplification:.2f}",
        f"{row.calls / each:.2f}" if row.calls else "",
        f"{row.instructions:,.0f}".replace(",", " "),
    ]


def table(result: Result) -> str:
    """Return one benchmark as a table; `rate` is relative to the benchmark's base."""
    benchmark = BENCHMARKS[result.name]
    title = f"{benchmark.number}. {benchmark.title}" if benchmark.number else benchmark.title
    bases = {row.test: row for row in result.rows if row.variant == benchmark.base}
    lines = [f"## {title}", "", f"Rate: operations a second against {benchmark.base}.", ""]
    lines += [_line(COLUMNS), _line("---" for _ in COLUMNS)]
    lines += [_line(_cells(row, bases.get(row.test))) for row in result.rows]
    lines += [""] if result.notes else []
    for note in result.notes:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in note.values.items())
        lines.append(f"- {note.note}, {note.variant}: {figures}")
    return "\n".join(lines) + "\n"


def summary(results: Iterable[Result]) -> str:
    """Return the meaningful ratios, one line each."""
    lines = [_line(("benchmark", "load", "faster", "than", "ratio")), _line("---" for _ in range(5))]
    for result in results:
        if result.name == CONTROL:
            continue
        for ratio in BENCHMARKS[result.name].ratios:
            value = result.ratio(ratio.test, ratio.variant, ratio.base)
            title = f"{BENCHMARKS[result.name].number} {result.name}"
            lines.append(_line((title, ratio.test, ratio.variant, ratio.base, f"{value:.2f}")))
    return "\n".join(lines) + "\n"


def outside(results: Iterable[Result]) -> list[str]:
    """Return a sentence for each ratio that is not within its band."""
    sentences = []
    for result in results:
        for ratio in BENCHMARKS[result.name].ratios:
            value = result.ratio(ratio.test, ratio.variant, ratio.base)
            if ratio.band and not ratio.band[0] <= value <= ratio.band[1]:
                low, high = ratio.band
                sentences.append(
                    f"{result.name}: {ratio.test}, {ratio.variant} against {ratio.base} is {value:.3f}, "
                    f"outside of {low:g} to {high:g}."
                )
    return sentences


def report(results: list[Result], date: str, system: str, null: float, drift: float) -> str:
    """Return the whole report; `system` is that of emulator.Image.

    `null` is the ratio of the control, `drift` the part by which two boots of one job differ.
    """
    head = [
        "# Millrace against the defaults of mdadm, mkfs.xfs and nfsd",
        "",
        f"Measured on {date}, kernel {results[0].kernel}, system {system[:16]}. "
        f"Control {null:.3f} (must be 1.00), two boots of one job differ by {drift:.2%}.",
        "",
        *(f"- {caveat}" for caveat in CAVEATS),
    ]
    parts = ["\n".join(head) + "\n", "## Ratios\n\n" + summary(results), *(table(result) for result in results)]
    return "\n".join(parts)
