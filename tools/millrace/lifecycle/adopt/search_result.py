# SPDX-License-Identifier: Apache-2.0
"""What was found on the drives, for this boot: by millrace-find.service, and by each search after it."""

from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.model import SearchResult
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Refused


def record(found: SearchResult) -> None:
    """Record what was found; what was found before may be out of date."""
    write_model(adopt_paths.found_file(), found)


def recorded() -> SearchResult | None:
    """Return what was found last in this boot; None where no search has ended. BadInput: the file cannot be read."""
    return read_model(adopt_paths.found_file(), SearchResult) if adopt_paths.found_file().exists() else None


def forget() -> None:
    """Remove the record: the pool is the one of this server now."""
    adopt_paths.found_file().unlink(missing_ok=True)


def refuse_if_pool() -> None:
    """Refused: this server has a pool, or one is being built."""
    if paths.pool_file().exists():
        raise Refused("this server has a pool already; see it with `millrace pool show`")
    if paths.transaction_file().exists():
        raise Refused("a pool is being built on this server; follow it with `millrace status`")
