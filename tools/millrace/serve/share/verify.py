# SPDX-License-Identifier: Apache-2.0
"""Verify that shares are served as desired, without a change."""

from collections.abc import Callable, Iterable, Mapping

from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.share import file_sids, machine_sid, verify_nfs, verify_smb
from millrace.serve.share.cleanup import clean_up
from millrace.serve.share.direct import verify as verify_direct
from millrace.serve.share.model import Share, ShareVerification, VerifyReport
from millrace.serve.share.name_survey import survey
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
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
        shares = [present[name] for name in wanted or present]
        verified = _verified(shares, list(present.values()), config, host)
    # Trees are walked without the lock: a change of shares does not wait for them.
    return VerifyReport(shares=[_with_files(result, present[result.name], host) for result in verified])


def _verified(shares: list[Share], every: list[Share], config: Config, host: ShareServer) -> list[ShareVerification]:
    """Verify all together, in one mount and one session; where that fails, each half, down to the shares that fail."""
    seen: dict[str, list[str]] = {share.name: [] for share in shares}
    try:
        _add(seen, verify_nfs.verify_each(shares, config.domain, host.run))
        _add(seen, verify_smb.verify_each(shares, config.domain, host.run, host.pause))
        for share in shares:
            seen[share.name] += verify_direct.verify([share], every, config, host)
    except (MillraceError, OSError) as error:
        if len(shares) == 1:
            problem = describe(error) if isinstance(error, OSError) else str(error)
            return [ShareVerification(name=share.name, seen=seen[share.name], problem=problem) for share in shares]
        half = len(shares) // 2
        parts = (shares[:half], shares[half:])
        return [result for part in parts for result in _verified(part, every, config, host)]
    return [ShareVerification(name=share.name, seen=seen[share.name], problem=share.obstacle) for share in shares]


def _add(seen: dict[str, list[str]], more: Mapping[str, list[str]]) -> None:
    for name, sentences in more.items():
        seen[name] += sentences


def _with_files(verification: ShareVerification, share: Share, host: ShareServer) -> ShareVerification:
    if verification.problem is not None:
        return verification
    try:
        return verification.model_copy(update={"files": _files(share, host)})
    except MillraceError as error:
        return verification.model_copy(update={"files": [f"files were not examined: {error}"]})
    except OSError as error:
        return verification.model_copy(update={"files": [f"files were not examined: {describe(error)}"]})


def _files(share: Share, host: ShareServer) -> list[str]:
    """What SMB clients cannot see, open or tell apart in a share that they can open, in sentences."""
    if share.smb is None:
        return []
    troubles = survey(paths.ROOT / share.path.lstrip("/"), share.profile != "dataset-ro")
    some, sid = file_sids.homes([share]), machine_sid.recorded(host.pool)
    if some and sid is not None:
        counted = file_sids.SidCount()
        known = file_sids.rids(some, host.run)
        file_sids.count(some, sid, known, counted, replace=False, tick=lambda: None)
        troubles += [
            f"files that name their owners by {other}, a former SID of this server, are closed to them ({number}): "
            "millrace share repair-sid"
            for other, number in counted.others.items()
        ]
    return troubles
