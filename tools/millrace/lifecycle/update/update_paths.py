# SPDX-License-Identifier: Apache-2.0
"""Where an update keeps its files: those of this boot in /run, what outlives it in the state directory."""

from pathlib import Path

from millrace.system import paths


def directory() -> Path:
    """What is known of updates: where they come from, the one that is on trial, versions that failed."""
    return paths.state_dir() / "update"


def source_file() -> Path:
    """The URL of updates, as the owner of this server set it."""
    return directory() / "source.json"


def checked_file() -> Path:
    """The newest release that the source offered at the last check."""
    return directory() / "checked.json"


def trial_file() -> Path:
    """How this server served before the version that is on trial; there until that is accepted or has failed."""
    return directory() / "before.json"


def failed_file() -> Path:
    """The versions that failed on this server; none of them is offered again."""
    return directory() / "failed.json"


def last_file() -> Path:
    """How the last update ended."""
    return directory() / "last.json"


def staged_dir() -> Path:
    """The files of a version before it is installed; root alone reads and writes them."""
    return directory() / "staged"


def incoming_file() -> Path:
    """One file while it is downloaded by a process without rights, which has it as its standard output."""
    return directory() / "incoming"


def fetch_error_file() -> Path:
    """Why a download failed; the standard error of that process."""
    return paths.run_dir() / "update/fetch.err"


def order_file() -> Path:
    """What millrace-update.service is to install."""
    return paths.run_dir() / "update/order.json"


def reboot_file() -> Path:
    """When the server is to reboot, and why it waits after that."""
    return paths.run_dir() / "update/reboot.json"


def fetch_file() -> Path:
    """What millrace-update-fetch.service is to download."""
    return paths.run_dir() / "update/fetch.json"
