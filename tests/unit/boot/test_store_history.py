# SPDX-License-Identifier: Apache-2.0
"""The history is copied to the pool once an hour, and no Python is started to find out that it is too early."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from host.layout import REPO

STORE = REPO / "mkosi.extra/usr/lib/millrace/store-history"
HOUR = 3600


def ran(root: Path) -> tuple[int, str]:
    """Return the exit status of the script below a root, and what the program was told."""
    program = root / "millrace"
    program.write_text(f'#!/bin/sh\necho "$*" >> {root}/said\n')
    program.chmod(0o755)
    script = root / "store-history"
    script.write_text(STORE.read_text().replace("/srv/pool", str(root)))
    done = subprocess.run(["sh", script], env={"PATH": f"{root}:{os.environ['PATH']}"}, check=False)
    said = root / "said"
    return done.returncode, said.read_text() if said.exists() else ""


@pytest.mark.parametrize(("age", "stored"), [(60, False), (HOUR - 600, False), (HOUR - 240, True), (-600, True)])
def test_history_that_was_stored_within_the_hour_starts_no_python(tmp_path: Path, age: int, stored: bool) -> None:
    history = tmp_path / ".millrace/history/history.db"
    history.parent.mkdir(parents=True)
    history.touch()
    os.utime(history, (time.time() - age,) * 2)
    assert ran(tmp_path) == (0, "history --store\n" if stored else "")


def test_history_is_stored_where_the_pool_has_none(tmp_path: Path) -> None:
    assert ran(tmp_path) == (0, "history --store\n")
