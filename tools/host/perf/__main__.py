# SPDX-License-Identifier: Apache-2.0
"""`tools/perf`: what Millrace's settings do, against the defaults, without any NVMe server."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from host.entry import finish
from host.layout import REPO, caches
from host.perf import benchmarks, control, emulator, results, table
from host.progress import Status

OUT = REPO / "tests" / "perf" / "out"
CACHE = caches().root / "perf"


def main(arguments: list[str]) -> int:
    """Measure, print the ratios and write the tables."""
    parser = argparse.ArgumentParser(prog="tools/perf", description="Measure the built image against stock settings.")
    parser.add_argument("benchmark", nargs="*", help=f"{', '.join(benchmarks.NAMES)}")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured on this very system")
    chosen = parser.parse_args(arguments)
    usual = [name for name in benchmarks.NAMES if name not in benchmarks.UNBANDED]
    names = [benchmarks.known(name) for name in chosen.benchmark or usual]
    image = emulator.built()
    status = Status(sys.stdout)
    waiting = [benchmarks.CONTROL, benchmarks.CONTROL, *names]

    def done(found: results.Result) -> None:
        waiting.remove(found.name)
        status.show(f"measuring {', '.join(dict.fromkeys(waiting))}" if waiting else "measured")

    status.show(f"measuring {', '.join(dict.fromkeys(waiting))}")
    run = control.measured(names, CACHE, image, chosen.fresh, done)
    status.clear()
    file = write(run, image.system, OUT)
    print(table.summary(run.results), end="")
    print(f"The tables are in {file}.")
    for sentence in (outside := table.outside(run.results)):
        print(sentence, file=sys.stderr)
    return 1 if outside else 0


def write(run: control.Run, system: str, directory: Path) -> Path:
    """Write the report; return its file."""
    directory.mkdir(parents=True, exist_ok=True)
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    text = table.report(run.results, date, system, run.null, run.drift)
    file = directory / "table.md"
    file.write_text(text)
    return file


if __name__ == "__main__":
    finish(main)
