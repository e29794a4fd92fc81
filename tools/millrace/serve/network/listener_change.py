# SPDX-License-Identifier: Apache-2.0
"""NFS and SMB listen on the addresses of the links that a change is about."""

from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_interface

from millrace.serve.config.model import Config
from millrace.serve.render.registry import Change, RenderedService, RenderPart
from millrace.serve.share.server import ShareServer
from millrace.serve.share.services import restart_smbd, smbd_restart_marker
from millrace.system.errors import Failed
from millrace.system.listeners import NFS_PORT, SMB_PORT, not_listening
from millrace.system.names import several
from millrace.system.units import is_active
from millrace.system.wait import wait_until

# systemd's own limit for the restart of smbd is 90 s.
PATIENCE, PAUSE = 120.0, 0.5

_SERVERS = (("NFS", "nfs-server.service", NFS_PORT), ("SMB", "smbd.service", SMB_PORT))


class ListenerChange(RenderPart):
    """The servers of NFS and SMB on the fixed addresses of the links that change, once these are up.

    A file that was edited by hand stays: nothing else of what is served has changed.
    """

    force = False

    def __init__(self, server: Callable[[], ShareServer]) -> None:
        self._server = server

    def prepare(self, change: Change) -> None:
        """Let smbd try again to listen on addresses that it did not accept before."""
        smbd_restart_marker().unlink(missing_ok=True)

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the servers of NFS and SMB, and the files that they read."""
        # Asked each time: addresses come and go between two renderings.
        self._current = server = self._server()
        return server.services(config, server.shares(config))

    def verify(self, change: Change) -> None:
        """Wait until both servers listen. Failed: one does not. A new management port has no listener."""
        server, old, new = self._current, change.old, change.new
        managed = set(new.management)
        wanted = [
            address
            for link in new.links
            if link not in old.links and getattr(link, "mac", "") not in managed
            for address in link.addresses
        ]
        if wanted:
            change.verified += _wait_listening(server, wanted)
        if managed - set(old.management) and is_active("smbd.service", server.run):
            # It opens its listeners when it starts, and has one there.
            restart_smbd(server.run)
            change.warnings.append("the SMB server was restarted without this port: its sessions have ended")


def _wait_listening(server: ShareServer, addresses: Sequence[str]) -> list[str]:
    wanted = [ip_interface(one).ip for one in addresses]
    said = []
    for name, unit, number in _SERVERS:
        unheard = partial(not_listening, wanted, number)
        silent = wait_until(unheard, lambda found: not found, [PAUSE] * round(PATIENCE / PAUSE), server.pause)
        if silent:
            raise Failed(f"{name} does not listen on {several([str(one) for one in silent])}: systemctl status {unit}")
        said.append(f"{name} listens on {several([str(one) for one in wanted])}")
    return said
