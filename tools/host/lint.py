# SPDX-License-Identifier: Apache-2.0
"""`tools/lint`: what is checked by reading the tree; `tools/test unit` begins with the same."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from host.entry import finish
from host.layout import REPO

TYPED = ("tools/millrace", "tools/millrace_client", "tools/host", "tools/vm")
LINTED = ("tools", "tests")
CHECKS: dict[str, tuple[str, ...]] = {
    "ruff": ("ruff", "check", "--no-cache", *LINTED),
    "format": ("ruff", "format", "--no-cache", "--check", *LINTED),
    "mypy": ("mypy", "--strict", f"--cache-dir={os.devnull}", *TYPED),
    "spelling": ("host.spelling",),
    "shell": ("host.shell",),
    "units": ("host.systemd",),
}
"""Modules of Python with their arguments; one that ends with another status than 0 has found something."""


def passes(argv: Sequence[str]) -> bool:
    """Run a check, which prints what it finds; return whether that is nothing."""
    environment = os.environ | {"PYTHONPATH": str(REPO / "tools"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", *argv], cwd=REPO, env=environment, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """Run checks; 0 where none finds anything."""
    parser = argparse.ArgumentParser(prog="tools/lint", description="Check style, types, spelling, scripts and units.")
    parser.add_argument("check", nargs="*", help=f"{', '.join(CHECKS)} (default: all)")
    chosen = parser.parse_args(arguments).check or list(CHECKS)
    if unknown := [name for name in chosen if name not in CHECKS]:
        parser.error(f"there is no check {unknown[0]!r}, only {', '.join(CHECKS)}")
    failed = []
    for name in chosen:
        print(f"== {name}", flush=True)
        if not passes(CHECKS[name]):
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    finish(main)
