# SPDX-License-Identifier: Apache-2.0
"""The adoption as a job of the server: it goes on when the page that began it is closed."""

from millrace import paths
from millrace.adopt import journal
from millrace.adopt.found import recorded
from millrace.adopt.model import Adopted, Adoption, FoundHere
from millrace.system.documents import read_model, write_model
from millrace.system.run import Runner, must
from millrace.system.units import is_working

UNIT = "millrace-adopt.service"


def state(run: Runner) -> FoundHere:
    """Return what the search of this boot found, and how far its adoption is. Needs no privileges; no drive is read.

    BadInput: one of the records cannot be read.
    """
    adoption = journal.under_way()
    done = paths.adopted_file()
    return FoundHere(
        # what was found before there was a pool is out of date
        found=None if paths.pool_file().exists() else recorded(),
        adoption=adoption,
        running=adoption is not None and is_working(UNIT, run),
        adopted=read_model(done, Adopted) if done.exists() else None,
    )


def start(adoption: Adoption, run: Runner) -> None:
    """Let millrace-adopt.service finish an adoption that was begun, and do not wait. Failed: it cannot be started."""
    if adoption.problem is not None:
        write_model(paths.adoption_file(), adoption.model_copy(update={"problem": None}))
    must(run, ["systemctl", "start", "--no-block", UNIT])
