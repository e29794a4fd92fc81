# SPDX-License-Identifier: Apache-2.0
"""The kernel's SMB server as a service: started with the first share over SMB Direct, stopped with the last one."""

from collections.abc import Sequence

from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.render.registry import FileEntry, RenderedService, Settled
from millrace.serve.share.direct.configuration import configuration, served
from millrace.serve.share.model import Share
from millrace.system import paths
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import DIRECT
from millrace.system.units import is_active


def service(shares: Sequence[Share], run: Runner) -> RenderedService:
    """Return the service with the file that it reads, which is there only while a share needs it."""
    wanted = bool(served(shares))
    return RenderedService(
        DIRECT,
        [FileEntry(paths.SMB_DIRECT, lambda: configuration(shares), when=wanted, recorded=False)],
        lambda settled: _reload(wanted, settled, run),
    )


def disconnect(old: Config, new: Config, run: Runner) -> None:
    """End all sessions where access to a share was given by rules that `new` does not have: ksmbd closes no share.

    Clients connect again by themselves. Failed: systemd does not restart it.
    """
    after = {share.name: share for share in new.shares}
    narrowed = any(_is_direct(share) and not _as_before(share, after.get(share.name)) for share in old.shares)
    if narrowed and is_active(DIRECT, run):
        must(run, ["systemctl", "restart", "--job-mode=ignore-dependencies", DIRECT])


def _reload(wanted: bool, settled: Settled, run: Runner) -> bool:
    changed = paths.SMB_DIRECT in settled.changed
    if not wanted:
        if changed:
            must(run, ["systemctl", "stop", DIRECT])
        return changed
    if is_active(DIRECT, run):
        if changed:
            must(run, ["systemctl", "reload", DIRECT])
        return changed
    # Without waiting: it is ordered after the unit that this may run in.
    must(run, ["systemctl", "start", "--no-block", DIRECT])
    return True


def _is_direct(share: DesiredShare) -> bool:
    return share.smb.enabled and share.smb.direct


def _as_before(before: DesiredShare, after: DesiredShare | None) -> bool:
    return after is not None and (after.smb, after.type) == (before.smb, before.type)
