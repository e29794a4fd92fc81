# SPDX-License-Identifier: Apache-2.0
"""One file, nothing but Python 3.8 and what comes with it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from millrace.client import check
from tests.unit.client.servers import expectation

SCRIPT = Path(check.__file__)
NEWER_THAN_3_8 = ("removeprefix", "removesuffix", "math.lcm", "zip(*", "strict=", "functools.cache", "is_relative_to")


def test_it_is_written_in_python_3_8() -> None:
    text = SCRIPT.read_text()
    ast.parse(text, feature_version=(3, 8))
    assert not [name for name in NEWER_THAN_3_8 if name in text]
    # `list[str]` and `X | None` are for readers only: with this line no interpreter looks at them.
    assert "from __future__ import annotations" in text


def test_it_needs_nothing_that_does_not_come_with_python() -> None:
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(SCRIPT.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


def test_it_runs_alone_and_says_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(SCRIPT.read_text())
    expect = tmp_path / "expect.json"
    expect.write_text(json.dumps(expectation()))
    command = [sys.executable, "-I", "-S", str(script), str(tmp_path), "--expect", str(expect)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL  mount: nothing from a server is mounted" in done.stdout
