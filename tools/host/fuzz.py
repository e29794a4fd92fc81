# SPDX-License-Identifier: Apache-2.0
"""`tools/test fuzz [TARGET]`: what parses hostile input gets inputs that atheris makes, guided by coverage.

By hand: 10 million inputs take minutes to days, by target. docs/evidence/soak.jsonl keeps the runs.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from host import soak_rows
from host.layout import REPO, Caches, caches
from host.soak_rows import FAILED, PASSED, Row
from millrace.system.errors import Failed

LOCK = REPO / "tools/host/requirements-fuzz.lock"
TARGETS = REPO / "tests/fuzz"
CORPUS = TARGETS / "corpus"
GOAL = 10_000_000
# A run takes one processor; whatever else the host does comes first.
NICE = ("nice", "-n", "15")
SECONDS, MEMORY, LONGEST = 10, 1024, 16384
"""What one input may take: seconds, MiB of the process; and its bytes at most."""
EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """How a target ended: inputs that it got, minutes, and the file of the one that broke the contract."""

    target: str
    inputs: int
    minutes: float
    broken: Path | None


def targets() -> list[str]:
    """Return the names of all targets: each has a directory of inputs."""
    return sorted(path.name for path in CORPUS.iterdir())


def atheris(cache: Caches) -> Path:
    """Return the directory of the lock file's packages, installed where it is not there yet. Failed: pip fails."""
    place = cache.root / f"fuzz-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]}"
    if not (place / "complete").is_file():
        shutil.rmtree(place, ignore_errors=True)
        print("Installing atheris", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:"]
        log = cache.root / "fuzz.log"
        with log.open("w") as out:
            argv = [*pip, "--target", str(place), "-r", str(LOCK)]
            done = subprocess.run(argv, stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"atheris cannot be installed, see {log}.")
        (place / "complete").touch()
    return place


def command(target: str, work: Path, runs: int, seconds: int) -> list[str]:
    """Return the command line of a target; what it finds is kept in `work`. No limit of time where `seconds` is 0."""
    return [
        *NICE,
        sys.executable,
        "-m",
        "tests.fuzz.run",
        target,
        f"-runs={runs}",
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={work.parent}/{target}-",
        "-print_final_stats=1",
        "-verbosity=0",
        str(work),
        str(CORPUS / target),
    ]


def fuzz(target: str, packages: Path, cache: Caches, runs: int, seconds: int) -> Run:
    """Run a target. Failed: it ends without the count of its inputs."""
    work = cache.root / "fuzz" / target
    work.mkdir(parents=True, exist_ok=True)
    before = _broken(work.parent, target)
    environment = os.environ | {"PYTHONPATH": f"{REPO / 'tools'}:{REPO}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
    log = work.parent / f"{target}.log"
    began = time.monotonic()
    with log.open("w") as out:
        done = subprocess.run(
            command(target, work, runs, seconds),
            cwd=REPO,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    new = sorted(_broken(work.parent, target) - before)
    executed = EXECUTED.findall(log.read_text(errors="replace"))
    if not executed or (done.returncode and not new):
        raise Failed(f"target {target} ended with status {done.returncode}, see {log}")
    return Run(target, int(executed[-1]), (time.monotonic() - began) / 60, new[0] if new else None)


def _broken(directory: Path, target: str) -> set[Path]:
    return set(directory.glob(f"{target}-*-*"))


def row(run: Run, commit: str) -> Row:
    """Return the row of a run for docs/evidence/soak.jsonl."""
    today = datetime.now(UTC).date().isoformat()
    story, result = f"tests/fuzz/{run.target}.py", FAILED if run.broken else PASSED
    return Row(story, today, commit, result, round(run.minutes, 1), f"{run.inputs:,} inputs")


def main(arguments: list[str]) -> int:
    """Run targets one after another; 0 where none breaks its contract. Failed: a target cannot be run."""
    parser = argparse.ArgumentParser(prog="tools/test fuzz", description="Fuzz what parses hostile input.")
    parser.add_argument("target", nargs="*", help=f"{', '.join(targets())} (default: all)")
    parser.add_argument("--runs", type=int, default=GOAL, metavar="N", help=f"inputs of each (default: {GOAL})")
    parser.add_argument("--seconds", type=int, default=0, metavar="N", help="at most so long for each")
    parser.add_argument("--record", action="store_true", help="write a row for each to docs/evidence/soak.jsonl")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.seconds < 0:
        parser.error("--runs must be at least 1, and --seconds at least 0")
    if unknown := [name for name in options.target if name not in targets()]:
        parser.error(f"there is no target {unknown[0]!r}, only {', '.join(targets())}")
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout.strip()
    cache, broken = caches(), False
    packages = atheris(cache)
    for target in options.target or targets():
        print(f"== {target}", flush=True)
        done = fuzz(target, packages, cache, options.runs, options.seconds)
        print(f"   {done.inputs:,} inputs in {done.minutes:.1f} minutes", flush=True)
        if done.broken:
            broken = True
            print(f"   broke its contract: {done.broken}, and {cache.root}/fuzz/{target}.log", flush=True)
        if options.record:
            soak_rows.append([row(done, commit)])
    return 1 if broken else 0
