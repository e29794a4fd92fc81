# SPDX-License-Identifier: Apache-2.0
"""The runtime settings that were recorded: of this boot, else of the last one."""

from pathlib import Path

from millrace.plan.settings import SettingsFile
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import BadInput


def recorded() -> SettingsFile | None:
    """Return the settings of this boot, else those of the last one; None where neither can be read."""
    return read_settings(paths.settings_file()) or read_settings(paths.last_settings_file())


def read_settings(path: Path) -> SettingsFile | None:
    """Return a record of settings; None where it cannot be read."""
    try:
        return read_model(path, SettingsFile)
    except BadInput:
        return None
