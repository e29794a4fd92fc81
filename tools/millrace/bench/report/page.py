# SPDX-License-Identifier: Apache-2.0
"""A run as one HTML page with drawings inside: nothing is loaded from anywhere, and a browser is told to allow none."""

from collections.abc import Sequence
from html import escape

from millrace.bench.report.text import accelerators
from millrace.bench.result.ceilings import headline
from millrace.bench.result.model import Run, Rung, Series, State
from millrace.system.text import size

BAR, GAP, LEFT, WIDTH = 18, 6, 260, 900
EMULATED = "An emulated server: only ratios mean something, so bars are parts of the highest rung of their kind."
STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1d21}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .5rem;border-bottom:1px solid #d6d9de;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%}.muted{color:#565c66}
text{font:12px system-ui,sans-serif;fill:#1b1d21}rect{fill:#2b6cb0}"""


def page(run: Run) -> str:
    """The whole page."""
    emulated = "emulated" in run.labels
    done = [(rung, main) for rung in run.rungs if rung.state is State.DONE and (main := headline(rung)) is not None]
    kinds = list(dict.fromkeys(rung.workload.profile for rung, _ in done))
    charts = "".join(
        f"<h2>{escape(kind)}</h2>{_chart([one for one in done if one[0].workload.profile is kind], emulated)}"
        for kind in kinds
    )
    labels = f" ({escape(', '.join(run.labels))})" if run.labels else ""
    here = run.environment
    facts = (here.product, here.cpu, f"Linux {here.kernel}", here.pool, run.provenance.fio)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Millrace benchmark {escape(run.id)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{STYLE}</style></head><body>
<h1>Benchmark {escape(run.id)}{labels}</h1>
<p>{escape(here.host)}: {escape(", ".join(fact for fact in facts if fact))}</p>
{f"<p>{EMULATED}</p>" if emulated else ""}
{charts}
<h2>Every rung</h2>
<table><tr><th>rung</th><th>median</th><th>spread</th><th>of predicted</th><th>of the layer below</th><th></th></tr>
{"".join(_row(rung, main, emulated) for rung, main in done)}</table>
{"" if emulated else "".join(f"<p>{escape(line)}</p>" for line in accelerators(run))}
<p class="muted">Workloads {escape(run.provenance.workload_hash)}; {escape(run.provenance.statement)}.</p>
</body></html>
"""


def _chart(found: Sequence[tuple[Rung, Series]], emulated: bool) -> str:
    """Bars from the drives up, each as long as its median; the thin line is the range."""
    height = len(found) * (BAR + GAP) + GAP
    most = {quantity: max(one.high for _, one in found if one.quantity == quantity) for quantity in _quantities(found)}
    lines = []
    for number, (rung, main) in enumerate(found):
        top = GAP + number * (BAR + GAP)
        whole = most[main.quantity] or 1.0
        room = WIDTH - LEFT - 120
        length, low, high = (round(room * value / whole, 1) for value in (main.median, main.low, main.high))
        words = f"{main.median / whole:.0%}" if emulated else shown(main)
        middle = top + BAR / 2
        lines.append(
            f'<text x="0" y="{top + 13}">{escape(rung.id)}</text>'
            f'<rect x="{LEFT}" y="{top}" width="{length}" height="{BAR}"/>'
            f'<path d="M{LEFT + low} {middle}H{LEFT + high}" stroke="#1b1d21"/>'
            f'<text x="{LEFT + high + 8}" y="{top + 13}">{escape(words)}</text>'
        )
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">{"".join(lines)}</svg>'


def _quantities(found: Sequence[tuple[Rung, Series]]) -> set[str]:
    return {one.quantity for _, one in found}


def shown(main: Series) -> str:
    """A median with its unit."""
    return f"{size(round(main.median))}/s" if main.quantity == "bandwidth" else f"{main.median:,.0f}/s"


def _row(rung: Rung, main: Series, emulated: bool) -> str:
    parts = (rung.ceiling.of_predicted, rung.ceiling.of_below)
    cells = ["" if emulated else shown(main), f"{main.spread:.0%}", *("" if p is None else f"{p:.0%}" for p in parts)]
    numbers = "".join(f'<td class="n">{escape(cell)}</td>' for cell in cells)
    return f"<tr><td>{escape(rung.id)}</td>{numbers}<td>{escape(rung.diagnosis)}</td></tr>\n"
