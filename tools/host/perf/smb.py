# SPDX-License-Identifier: Apache-2.0
"""The configuration of smbd in the guest: that of a server of Millrace with one share."""

from uuid import UUID

from host.perf.guest.job import SMB_CONF, SMB_SHARE
from host.perf.guest.pool import MOUNTPOINT
from millrace.serve.share.model import Share, SmbAccess
from millrace.serve.share.smb import configuration

# The type for large files that are written and read again, with io_uring.
SHARE = Share(
    name=SMB_SHARE,
    path=MOUNTPOINT,
    type="checkpoint",
    comment="",
    project=0,
    size=None,
    soft_size=None,
    nfs=False,
    networks=[],
    exports=[],
    privileged_ports=True,
    fsid=UUID(int=0),
    smb=SmbAccess(users=["root"], groups=[], networks=[], encryption="offered", time_machine=False, io_uring=True),
    homes={},
    obstacle=None,
)


def files() -> dict[str, bytes]:
    """Return the file that the guest starts smbd with, by its path."""
    return {SMB_CONF: configuration([SHARE], []).encode()}
