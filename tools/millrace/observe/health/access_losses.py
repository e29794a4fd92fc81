# SPDX-License-Identifier: Apache-2.0
"""What journald dropped of the access logs of shares, read from the journal every five minutes at most.

journalctl opens each file of the journal: with every check it would cost more than all other checks.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.observe.health.host import Host
from millrace.serve.config import store
from millrace.serve.share.access_log import losses
from millrace.serve.share.model import ShareLogLoss
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError

ASK_SECONDS = 300.0
SHOWN = timedelta(days=1)


def record_file() -> Path:
    """What journald dropped of the access logs of shares in the last day, as a health check read it."""
    return paths.run_dir() / "access-losses.json"


class AccessLosses(Contract):
    """What journald dropped in the last day, read `asked` seconds after the start."""

    asked: float
    lost: list[ShareLogLoss]


def audited() -> list[str]:
    """Return the names of the shares with an access log."""
    return [share.name for share in store.read().config.shares if share.smb.enabled and share.smb.audit]


def write(host: Host, now: datetime | None = None) -> None:
    """Read from time to time what was dropped, where a share has an access log."""
    try:
        if not audited():
            record_file().unlink(missing_ok=True)
            return
        before = last()
        if before is not None and 0 <= host.uptime - before.asked < ASK_SECONDS:
            return
        since = (now or datetime.now(UTC)) - SHOWN
        lost = losses(host.query, since.isoformat())
    except MillraceError:
        # that is no reason to check nothing else
        return
    write_model(record_file(), AccessLosses(asked=host.uptime, lost=lost))


def last() -> AccessLosses | None:
    """Return what was read last; None where nothing was, or it cannot be parsed."""
    try:
        return read_model(record_file(), AccessLosses)
    except (MillraceError, OSError):
        return None
