# SPDX-License-Identifier: Apache-2.0
"""NFS over RDMA on the same machine: soft-RoCE over a virtual Ethernet device, a listener of nfsd, a client.

What a card does, soft-RoCE does in kernel workers, outside of nfsd's threads: copies and checksums of packets.
"""

from contextlib import AbstractContextManager

from host.perf.guest import nfsd
from host.perf.guest.job import Setup
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run, write

ADDRESS = "192.0.2.1"
PORT = 20049
NETDEV, PEER, DEVICE = "roce", "roce-peer", "rxe"
# of a server's data ports
MTU = 9000


def device() -> None:
    """Make an RDMA device with an address; it stays."""
    run("modprobe", "-a", "rdma_rxe", "rpcrdma")
    run("ip", "link", "add", NETDEV, "type", "veth", "peer", "name", PEER)
    run("ip", "address", "add", f"{ADDRESS}/24", "dev", NETDEV)
    for name in (NETDEV, PEER):
        run("ip", "link", "set", name, "mtu", str(MTU), "up")
    run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", NETDEV)


def listen(setup: Setup) -> None:
    """Let a running nfsd serve the pool over RDMA, too, until it stops."""
    run("exportfs", "-i", "-o", setup.export, f"{ADDRESS}:{MOUNTPOINT}")
    write(nfsd.KERNEL / "portlist", f"rdma {PORT}")


def client() -> AbstractContextManager[None]:
    """Mount the export over RDMA."""
    return nfsd.client("4.2", address=ADDRESS, transport=f"proto=rdma,port={PORT}")
