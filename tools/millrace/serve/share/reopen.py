# SPDX-License-Identifier: Apache-2.0
"""Another directory has the place of that of a share: servers that have opened it open it again."""

from millrace.serve.config.model import DesiredShare
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import DIRECT
from millrace.system.units import is_active


def reopen(share: DesiredShare, run: Runner) -> None:
    """Let the servers of a share look for its directory again; SMB clients are disconnected and connect by themselves.

    Failed: a server does not.
    """
    if share.nfs.enabled and is_active("nfs-server.service", run):
        # the cache of nfsd holds the directory of an export, and not its name
        must(run, ["exportfs", "-f"])
    if not share.smb.enabled:
        return
    if share.smb.direct and is_active(DIRECT, run):
        # ksmbd closes no share
        must(run, ["systemctl", "restart", "--job-mode=ignore-dependencies", DIRECT])
    elif not share.smb.direct and is_active("smbd.service", run):
        must(run, ["smbcontrol", "smbd", "close-share", share.name])
