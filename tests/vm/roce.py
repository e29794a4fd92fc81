# SPDX-License-Identifier: Apache-2.0
"""RDMA without a network card for it: soft-RoCE over a port."""

from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES
from vm.machine import Machine


def port_of(machine: Machine, address: str) -> str:
    """The port that has an address."""
    return machine.run(f"ip -o address show to {address} | awk '{{print $2}}'").out.strip()


def soft_roce(machine: Machine, address: str) -> None:
    """Give the port with an address an RDMA device until the next boot, if it has none yet."""
    add = f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {port_of(machine, address)}"
    machine.run(f"rdma link show | grep -q rxe0 || {{ {add}; }}")


def fast_port(machine: Machine, address: str) -> None:
    """Give the port of a Millrace an RDMA device, and wait until its firewall is open for it."""
    soft_roce(machine, address)
    opened(machine)


def opened(machine: Machine) -> None:
    """Wait until the firewall of a Millrace is open for its RDMA device."""
    machine.wait_command(
        "systemctl is-active --quiet millrace-firewall@roce.service", "the firewall's port of RoCE", 120
    )


def nfs_over_rdma(server: Machine, client: Machine) -> None:
    """Give the first data port of a Millrace and that of its client RDMA devices; wait until NFS listens over RDMA."""
    soft_roce(client, CLIENT_ADDRESSES[0])
    fast_port(server, SERVER_ADDRESSES[0])
    server.wait_command("grep -q 'rdma 20049' /proc/fs/nfsd/portlist", "RDMA listener after the hot-plug", 120)
