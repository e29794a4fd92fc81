# SPDX-License-Identifier: Apache-2.0
"""How this server serves now, and what is worse than it was."""

from collections.abc import Callable

from millrace.lifecycle.update.model import Serving
from millrace.serve.share.desired import shares
from millrace.serve.share.services import NFS, SMB
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import nfsd, probes
from millrace.system.errors import MillraceError
from millrace.system.mounts import mounted
from millrace.system.run import Runner
from millrace.system.units import active_state, is_active

LOOPBACK = "127.0.0.1"
CONSOLE = "cockpit.socket"

Probe = Callable[[str], str | None]


def serving(run: Runner, nfs: Probe = probes.nfs, smb: Probe = probes.smb) -> Serving:
    """Return how this server serves. BadInput: the pool's document cannot be read."""
    pool = known_pool()
    return Serving(
        pool=pool is not None and mounted(pool.filesystem.mountpoint) is not None,
        arrays=_members(pool) if pool else {},
        nfs=nfs(LOOPBACK) is None,
        smb=smb(LOOPBACK) is None,
        exported=_exported(),
        console=is_active(CONSOLE, run),
    )


def still_wanted(before: Serving) -> Serving:
    """Return how this server served, without the shares that were removed or closed since.

    BadInput: the pool's document cannot be read.
    """
    pool = known_pool()
    if pool is None:
        return before
    try:
        wanted = {share.path for share in shares(pool) if share.exports}
    except (MillraceError, OSError):
        # it is not known what is wanted: all of it counts
        return before
    below = f"{pool.filesystem.mountpoint}/"
    exported = [path for path in before.exported if path in wanted or not path.startswith(below)]
    return before.model_copy(update={"exported": exported})


def worse(before: Serving, now: Serving) -> list[str]:
    """Return what this server did before and does not do now, in sentences."""
    problems = []
    if before.pool and not now.pool:
        problems.append("The pool is not mounted.")
    for name, count in before.arrays.items():
        left = now.arrays.get(name, 0)
        if left < count:
            problems.append(f"Array {name} has {left} members in sync, it had {count}.")
    if before.nfs and not now.nfs:
        problems.append("NFS does not answer.")
    if before.smb and not now.smb:
        problems.append("SMB does not answer.")
    lost = [path for path in before.exported if path not in now.exported]
    if lost and now.nfs:
        problems.append(f"NFS does not export {', '.join(lost)}.")
    if before.console and not now.console:
        problems.append("The web console does not run.")
    return problems


def given_up(before: Serving, now: Serving, run: Runner) -> bool:
    """Whether something answered before and does not now because its unit failed: systemd does not start it again.

    Failed: systemd does not report a unit.
    """
    units = ((NFS, before.nfs, now.nfs), (SMB, before.smb, now.smb), (CONSOLE, before.console, now.console))
    return any(active_state(unit, run) == "failed" for unit, answered, answers in units if answered and not answers)


def _members(pool: Pool) -> dict[str, int]:
    return {one.name: sum(member.state == "in-sync" for member in one.members) for one in live_arrays(pool, {})}


def _exported() -> list[str]:
    try:
        return sorted(set(nfsd.exported() or []))
    except OSError:
        return []
