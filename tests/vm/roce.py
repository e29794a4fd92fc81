# SPDX-License-Identifier: Apache-2.0
"""RDMA without a network card for it: soft-RoCE over a port."""

from vm.machine import Machine


def port_of(machine: Machine, address: str) -> str:
    """The port that has an address."""
    return machine.run(f"ip -o address show to {address} | awk '{{print $2}}'").out.strip()


def soft_roce(machine: Machine, address: str) -> None:
    """Give the port with an address an RDMA device, until the next boot."""
    machine.run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {port_of(machine, address)}")


def fast_port(machine: Machine, address: str) -> None:
    """Give the port of a Millrace an RDMA device, and wait until its firewall is open for it."""
    soft_roce(machine, address)
    opened(machine)


def opened(machine: Machine) -> None:
    """Wait until the firewall of a Millrace is open for its RDMA device."""
    machine.wait_command(
        "systemctl is-active --quiet millrace-firewall@roce.service", "the firewall's port of RoCE", 120
    )
