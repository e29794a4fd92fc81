# SPDX-License-Identifier: Apache-2.0
"""The files of the tree: what git does not ignore, or in a copy without git what no tool makes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from millrace.system.errors import Failed

# Where .gitignore cannot be asked; `out` is below tests/.
MADE = {"mkosi.output", "mkosi.sandbox", "site", "node_modules", "dist", "out", "__pycache__"}


def files(root: Path) -> list[Path]:
    """Return the files of the tree at `root`, sorted, links to files too. Failed: git cannot list them."""
    found = _listed(root) if (root / ".git").exists() else _walked(root)
    return sorted(path for path in found if path.is_file())


def _listed(root: Path) -> Iterator[Path]:
    # under sudo the clone belongs to another user
    argv = ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"git cannot list the files of {root}: {done.stderr.strip()}")
    return (root / name for name in done.stdout.split("\0") if name)


def _walked(root: Path) -> Iterator[Path]:
    for directory, below, names in os.walk(root):
        below[:] = [name for name in below if name not in MADE and not name.endswith("_cache")]
        yield from (Path(directory) / name for name in names if not name.endswith(".pyc"))
