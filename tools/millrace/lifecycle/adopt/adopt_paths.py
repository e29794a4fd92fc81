# SPDX-License-Identifier: Apache-2.0
"""Where the search for a pool and its adoption keep files; others read the journal, in system/paths."""

from pathlib import Path

from millrace.system import paths


def found_file() -> Path:
    """The pool on the drives of a server that has none, as millrace-find.service found it."""
    return paths.run_dir() / "found.json"


def find_dir() -> Path:
    """What exists for the seconds in which a pool is looked for: changes in memory, a mount point."""
    return paths.run_dir() / "find"


def progress_file() -> Path:
    """Which step of an adoption is under way."""
    return paths.run_dir() / "adoption-progress.json"


def adopted_file() -> Path:
    """What the adoption of this boot restored, and what did not come back."""
    return paths.run_dir() / "adopted.json"


def state_file() -> Path:
    """The kept state that an adoption under way restores."""
    return paths.state_dir() / "adoption.state"
