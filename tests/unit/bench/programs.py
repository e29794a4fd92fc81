# SPDX-License-Identifier: Apache-2.0
"""What every program that runs on clients must be."""

import ast
import sys
from pathlib import Path

NEWER_THAN_3_8 = ("removeprefix", "removesuffix", "strict=", "functools.cache")


def runs_on_clients(path: Path) -> None:
    """Python 3.8, and nothing that does not come with it."""
    text = path.read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    assert "from __future__ import annotations" in text
    assert not [name for name in NEWER_THAN_3_8 if name in text]
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
