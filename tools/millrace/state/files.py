# SPDX-License-Identifier: Apache-2.0
"""Where the wanted state is kept."""

import re
from pathlib import Path

from millrace import paths

_NUMBERED = re.compile(r"(\d{4,})\.json")


def config_file() -> Path:
    """What is wanted now."""
    return paths.state_dir() / "config.json"


def unreadable_file() -> Path:
    """A config.json that could not be read, kept by the change that replaced it."""
    return paths.state_dir() / "config.json.unreadable"


def history_dir() -> Path:
    """The last changes, one file each."""
    return paths.state_dir() / "config-history"


def history_file(number: int) -> Path:
    """The change of this number."""
    return history_dir() / f"{number:04}.json"


def lock_file() -> Path:
    """Held by whoever changes or renders the wanted state."""
    return paths.run_dir() / "config.lock"


def history_numbers() -> list[int]:
    """Numbers of the changes that are kept, oldest first."""
    directory = history_dir()
    names = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    return sorted(int(match[1]) for match in map(_NUMBERED.fullmatch, names) if match)
