# SPDX-License-Identifier: Apache-2.0
"""The write-ahead journal of an adoption, and the kept state that it restores. It is over once pool.json is there."""

from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.model import Adoption
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.files import sync, write_bytes
from millrace.system.jobs import kinds


def begin(adoption: Adoption, state: bytes) -> None:
    """Record an adoption and the state that it restores; from here on a power cut does not end it."""
    write_bytes(adopt_paths.state_file(), state, 0o600)
    write_model(paths.adoption_file(), adoption)


def is_under_way() -> bool:
    """Whether an adoption is under way. With pool.json it is over, and nothing is restored any more."""
    return kinds.ADOPT.is_open()


def under_way() -> Adoption | None:
    """Return the adoption that was interrupted; None without one. BadInput: the journal cannot be read."""
    return read_model(paths.adoption_file(), Adoption) if is_under_way() else None


def end() -> bool:
    """Remove the journal of an adoption that is over, for good; return whether there was one."""
    was = paths.adoption_file().exists()
    # The journal goes last: while it is there, the next boot removes what is left.
    for path in (adopt_paths.state_file(), paths.adoption_file()):
        if path.exists():
            path.unlink()
            sync(path.parent)
    return was
