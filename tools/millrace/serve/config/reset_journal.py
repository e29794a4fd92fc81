# SPDX-License-Identifier: Apache-2.0
"""The journal of a factory reset. While it is there, nothing is decided: it would be lost."""

from typing import Literal

from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import Refused
from millrace.system.files import sync

What = Literal["keep", "forget"]
"""What a reset does with the state on the pool: it stays, or it forgets people as well."""


class Reset(Contract):
    """A factory reset. `at` is ISO 8601 in UTC. `pool` is the UUID of the file system of the pool; None without one.

    `requests` is how often the next boot was asked to reset the server.
    """

    schema_version: Literal[1] = 1
    what: What
    by: str
    at: str
    pool: str | None = None
    requests: int = 0


def begin(reset: Reset) -> None:
    """Record a reset; from here on a power cut does not end it."""
    write_model(paths.reset_file(), reset)


def under_way() -> Reset | None:
    """Return the reset that is under way; None without one. BadInput: its journal cannot be read."""
    return read_model(paths.reset_file(), Reset) if paths.reset_file().exists() else None


def end() -> None:
    """Remove the journal of a reset that did not begin, for good."""
    paths.reset_file().unlink(missing_ok=True)
    sync(paths.state_dir())


def refuse_if_reset() -> None:
    """Refused: a factory reset is under way."""
    if paths.reset_file().exists():
        raise Refused(
            "a factory reset of this server is under way: nothing is changed any more; see `millrace reset show`"
        )
