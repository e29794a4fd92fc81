# SPDX-License-Identifier: Apache-2.0
"""NFS and SMB are heard on the addresses of a port."""

from collections.abc import Sequence
from functools import partial
from ipaddress import ip_interface

from millrace.errors import Failed
from millrace.share.apply import restarted_for
from millrace.share.server import Server
from millrace.state.model import Config
from millrace.system.listeners import NFS_PORT, SMB_PORT, unheard
from millrace.system.names import several
from millrace.system.wait import wait_until

# systemd's own limit for the restart of smbd is 90 s.
PATIENCE, PAUSE = 120.0, 0.5

_SERVERS = (("NFS", "nfs-server.service", NFS_PORT), ("SMB", "smbd.service", SMB_PORT))


def hear(server: Server, config: Config, addresses: Sequence[str]) -> list[str]:
    """Render for the new addresses and wait until both servers listen on them; Failed where one does not."""
    restarted_for().unlink(missing_ok=True)
    server.apply(config)
    wanted = [ip_interface(one).ip for one in addresses]
    if not wanted:
        return []
    said = []
    for name, unit, number in _SERVERS:
        look = partial(unheard, wanted, number)
        silent = wait_until(look, lambda found: not found, [PAUSE] * round(PATIENCE / PAUSE), server.pause)
        if silent:
            raise Failed(f"{name} does not listen on {several([str(one) for one in silent])}: systemctl status {unit}")
        said.append(f"{name} listens on {several([str(one) for one in wanted])}")
    return said
