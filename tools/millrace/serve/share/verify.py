# SPDX-License-Identifier: Apache-2.0
"""Verify that shares are served as desired, without a change."""

import time
from collections.abc import Callable, Iterable, Mapping

from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.share import file_sids, kept_results, machine_sid, sid_record, verify_nfs, verify_smb
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

# Homes with a hundred million files are not walked to their end.
SID_SECONDS = 60.0


class _SidTimeOver(Exception):
    """The time for a walk is over."""


def verify(names: Iterable[str] = (), server: Callable[[], ShareServer] = this_server) -> VerifyReport:
    """Open these shares, or all, as a change does afterwards; wait while a change is under way.

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
    report = VerifyReport(shares=[_with_files(result, present[result.name], host) for result in verified])
    kept_results.keep(report.shares)
    return report


def _verified(shares: list[Share], every: list[Share], config: Config, host: ShareServer) -> list[ShareVerification]:
    """Verify all in one session of each protocol; where that fails, each half, down to the shares that fail."""
    seen: dict[str, list[str]] = {share.name: [] for share in shares}
    try:
        _add(seen, verify_nfs.verify_each(shares, config.domain, host.run))
        _add(seen, verify_smb.verify_each(shares, config.domain, host.run, host.pause))
        for share in shares:
            seen[share.name] += verify_direct.verify([share], every, config, host)
    except (MillraceError, OSError) as error:
        if len(shares) == 1:
            why = describe(error)
            return [ShareVerification(name=share.name, seen=seen[share.name], problem=why) for share in shares]
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
    except (MillraceError, OSError) as error:
        return verification.model_copy(update={"files": [f"files were not examined: {describe(error)}"]})


def _files(share: Share, host: ShareServer) -> list[str]:
    """What SMB clients cannot see, open or tell apart in a share that they can open, in sentences."""
    if share.smb is None:
        return []
    troubles = survey(paths.ROOT / share.path.lstrip("/"), share.type != "dataset-ro")
    some, sid = file_sids.homes([share]), machine_sid.recorded(host.pool)
    if some and sid is not None:
        troubles += _former_sids(some, sid, host)
        sid_record.sample([share], host.pool, host.run)
    return troubles


def _former_sids(
    some: list[file_sids.Home], sid: str, host: ShareServer, clock: Callable[[], float] = time.monotonic
) -> list[str]:
    """How many files have former SIDs, in sentences; it ends after SID_SECONDS, with a sentence."""
    end = clock() + SID_SECONDS

    def tick() -> None:
        if clock() > end:
            raise _SidTimeOver

    counted, left = file_sids.SidCount(), []
    try:
        file_sids.count(some, sid, file_sids.rids(some, host.run), counted, replace=False, tick=tick)
    except _SidTimeOver:
        left = [f"SIDs of files were not all examined, only for {SID_SECONDS:.0f} s"]
    former = [
        f"files that name their owners by {other}, a former SID of this server, are closed to them ({number}): "
        "millrace share repair-sid"
        for other, number in counted.others.items()
    ]
    return [*former, *left]
