# SPDX-License-Identifier: Apache-2.0
"""Verify that shares are served as desired, without a change."""

from collections.abc import Callable, Iterable

from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.share import verify_nfs, verify_smb
from millrace.serve.share.cleanup import clean_up
from millrace.serve.share.direct import verify as verify_direct
from millrace.serve.share.model import Share, ShareVerification, VerifyReport
from millrace.serve.share.server import ShareServer, this_server
from millrace.system.errors import BadInput, MillraceError
from millrace.system.files import describe
from millrace.system.text import shown
from millrace.system.users import only_root


def verify(names: Iterable[str] = (), server: Callable[[], ShareServer] = this_server) -> VerifyReport:
    """Mount and open these shares, or all, as a change does afterwards; wait while a change is under way.

    BadInput: there is no such share.
    """
    only_root()
    wanted = list(names)
    with store.config_lock():
        host = server()
        clean_up(host.run)
        config = store.load()
        present = {share.name: share for share in host.shares(config)}
        unknown = next((name for name in wanted if name not in present), None)
        if unknown is not None:
            raise BadInput(f"share {shown(unknown)} does not exist: millrace share list")
        every = list(present.values())
        return VerifyReport(shares=[_verified(present[name], every, config, host) for name in wanted or present])


def _verified(share: Share, every: list[Share], config: Config, host: ShareServer) -> ShareVerification:
    seen: list[str] = []
    try:
        seen += verify_nfs.verify([share], [], config.domain, host.run)
        seen += verify_smb.verify([share], [], config.domain, host.run, host.pause)
        seen += verify_direct.verify([share], every, config, host)
    except MillraceError as error:
        return ShareVerification(name=share.name, seen=seen, problem=str(error))
    except OSError as error:
        return ShareVerification(name=share.name, seen=seen, problem=describe(error))
    return ShareVerification(name=share.name, seen=seen, problem=share.obstacle)
