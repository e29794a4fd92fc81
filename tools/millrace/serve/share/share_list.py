# SPDX-License-Identifier: Apache-2.0
"""The shares for tables and pages."""

from collections.abc import Sequence

from millrace.serve.share.desired import shares
from millrace.serve.share.model import Share
from millrace.serve.share.usage import usage
from millrace.storage.record.model import Pool
from millrace.system.net import Interface
from millrace.system.printing import table
from millrace.system.run import Runner, attempt
from millrace.system.text import size


def listed(pool: Pool, ports: Sequence[Interface] | None = None, run: Runner = attempt) -> list[Share]:
    """Return all shares with their usage; null where XFS does not report it: quotas are off, or not read yet."""
    used, _ = usage(pool, run)
    return [one.model_copy(update={"used": used.get(one.project)}) for one in shares(pool, ports)]


def rows(found: Sequence[Share]) -> list[str]:
    """Return the table of shares as lines; without shares there are none."""
    cells = [(one.name, one.type, space(one), served(one)) for one in found]
    return list(table(("Name", "Type", "Used", "Served"), cells))


def space(share: Share) -> str:
    """Return what a share uses, of its limit where it has one."""
    used = "?" if share.used is None else size(share.used)
    return used if share.size is None else f"{used} of {size(share.size)}"


def served(share: Share) -> str:
    """Return to whom a share is served, or why not."""
    nfs = f"NFS to {', '.join(share.networks)}" if share.networks else ""
    side = share.smb or share.direct
    people = [*side.users, *(f"@{group}" for group in side.groups)] if side else []
    smb = f"{'SMB' if share.smb else 'SMB Direct'} for {', '.join(people)}" if people else ""
    how = "; ".join(filter(None, (nfs, smb))) or "not served"
    return f"{how} ({share.obstacle})" if share.obstacle else how
