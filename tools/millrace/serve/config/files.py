# SPDX-License-Identifier: Apache-2.0
"""The files of the desired state."""

import re
from pathlib import Path

from millrace.system import paths

_NUMBERED = re.compile(r"(\d{4,})\.json")


def config_file() -> Path:
    """The desired state."""
    return paths.state_dir() / "config.json"


def unreadable_file() -> Path:
    """A config.json that could not be read, kept by the change that replaced it."""
    return paths.state_dir() / "config.json.unreadable"


def history_dir() -> Path:
    """The last changes, one file each."""
    return paths.state_dir() / "config-history"


def history_file(number: int) -> Path:
    """The file of the change `number`."""
    return history_dir() / f"{number:04}.json"


def lock_file() -> Path:
    """The lock of changes and renderings of the desired state."""
    return paths.run_dir() / "config.lock"


def history_numbers() -> list[int]:
    """Return the numbers of the changes that are kept, oldest first."""
    directory = history_dir()
    names = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    return sorted(int(match[1]) for match in map(_NUMBERED.fullmatch, names) if match)
