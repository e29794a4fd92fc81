# SPDX-License-Identifier: Apache-2.0
"""Commands, and files that the kernel reads and writes."""

import subprocess
from pathlib import Path


class NotMeasurable(Exception):
    """What this image cannot measure, in a sentence that says what to do."""


def run(*argv: str, check: bool = True) -> str:
    """Run a command and return what it printed; with `check` a failure raises with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def write(path: Path | str, value: object) -> None:
    """Write a kernel setting."""
    Path(path).write_text(f"{value}\n")
