# SPDX-License-Identifier: Apache-2.0
"""Inspect shares without changing them: what a change would serve, and whether the desired state is served now."""

from collections.abc import Callable, Iterable, Sequence

from millrace.errors import BadInput, MillraceError
from millrace.share import nfs, smb, truth_nfs, truth_smb
from millrace.share.demands import refuse_unmet
from millrace.share.leftovers import sweep
from millrace.share.model import Look, LookReport, Preview, Share
from millrace.share.server import Server, this_server
from millrace.state import store
from millrace.state.model import Domain
from millrace.system.files import describe
from millrace.system.text import shown
from millrace.system.users import only_root


def preview(names: Sequence[str], mutate: store.Mutate, server: Callable[[], Server] = this_server) -> Preview:
    """Return what a change of these shares would serve; nothing is written. BadInput, Refused: as the change."""
    config = store.would_be(mutate)
    here = server()
    shares = [one for one in here.shares(config) if one.name in names]
    for one in shares:
        refuse_unmet(one, here.run)
    lines = [line for one in shares for line in smb.section(one)]
    return Preview(share=shares[0], exports=_said(nfs.exports(shares).splitlines()), smb=_said(lines))


def verify(names: Iterable[str] = (), server: Callable[[], Server] = this_server) -> LookReport:
    """Mount and open these shares, or all, as a change does afterwards; wait while a change is under way.

    BadInput: there is no such share.
    """
    only_root()
    wanted = list(names)
    with store.only_writer():
        here = server()
        sweep(here.run)
        config = store.load()
        there = {one.name: one for one in here.shares(config)}
        unknown = next((name for name in wanted if name not in there), None)
        if unknown is not None:
            raise BadInput(f"share {shown(unknown)} does not exist: millrace share list")
        return LookReport(shares=[_look(there[name], config.domain, here) for name in wanted or there])


def _look(share: Share, domain: Domain | None, here: Server) -> Look:
    seen: list[str] = []
    try:
        seen += truth_nfs.verify([share], [], domain, here.run)
        seen += truth_smb.verify([share], [], domain, here.run, here.pause)
    except MillraceError as error:
        return Look(name=share.name, seen=seen, problem=str(error))
    except OSError as error:
        return Look(name=share.name, seen=seen, problem=describe(error))
    return Look(name=share.name, seen=seen, problem=share.obstacle)


def _said(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.strip() and not line.startswith("#")]
