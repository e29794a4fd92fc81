# SPDX-License-Identifier: Apache-2.0
"""GPUs and network ports as sysfs shows them: where they are on PCIe, and how the IOMMU translates for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from millrace_client.finding import FAIL, OK, UNSEEN, WARN, Finding

if TYPE_CHECKING:
    from millrace_client.this_client import System

PCI = "sys/bus/pci/devices"
VENDORS = {"nvidia": "0x10de", "amd": "0x1002"}
# Display controllers and processing accelerators; bridges and sound of the same makers are neither.
CLASSES = ("0x03", "0x12")
# What the kernel writes for a group whose addresses are not translated.
PASSED_THROUGH = ("identity",)


class Device(NamedTuple):
    """A PCI device; `path` has its bridges from the root complex on, `node` is its NUMA node (None: unknown)."""

    address: str
    path: list[str]
    node: int | None


def device(system: System, directory: str) -> Device | None:
    """Return the PCI device that a link of sysfs leads to; None where it leads to none."""
    parts = [one for one in system.real(directory).split("/") if one]
    begin = next((number for number, one in enumerate(parts) if one.startswith("pci") and ":" in one), None)
    path = [one for one in parts[begin:] if ":" in one] if begin is not None else []
    # a virtio port lies below its PCI device
    if len(path) < 2:
        return None
    node = system.number(directory + "/numa_node")
    return Device(path[-1], path, node if node is not None and node >= 0 else None)


def gpus(system: System, maker: str) -> list[Device]:
    """Return the GPUs of a maker in the order of their addresses."""
    found = []
    for address in system.listed(PCI):
        at = PCI + "/" + address
        vendor, kind = (system.read(at + "/vendor") or "").strip(), (system.read(at + "/class") or "").strip()
        if vendor == VENDORS[maker] and kind.startswith(CLASSES):
            there = device(system, at)
            found += [there] if there else []
    return found


def ports(system: System, interface: str) -> list[Device]:
    """Return the PCI devices below a network interface: those of its members where it is a bond, a bridge or a VLAN."""
    at = "sys/class/net/" + interface
    own = device(system, at + "/device") if system.exists(at + "/device") else None
    if own:
        return [own]
    below = [one[len("lower_") :] for one in system.listed(at) if one.startswith("lower_")]
    return [each for one in below for each in ports(system, one)]


def software_rdma(system: System, interface: str) -> bool:
    """Whether RDMA of an interface is made by the CPU (rxe), which alone names its interface."""
    devices = system.listed("sys/class/infiniband")
    return interface in [(system.read(f"sys/class/infiniband/{one}/parent") or "").strip() for one in devices]


def check_distance(gpu: Device, nics: list[Device]) -> Finding:
    """Check whether a GPU has a network port of the mount near: a switch of both, else the socket of both."""
    name = "distance " + gpu.address
    for nic in nics:
        # the root complex and the root port are no switch
        if len(_common(gpu, nic)) > 2:
            return Finding(name, OK, f"one PCIe switch with the port {nic.address}")
    near = next((nic for nic in nics if nic.node is not None and nic.node == gpu.node), None)
    if near:
        return Finding(
            name, OK, f"one socket with the port {near.address} (NUMA node {gpu.node}), no common PCIe switch"
        )
    if gpu.node is None or any(nic.node is None for nic in nics):
        return Finding(
            name, UNSEEN, "the firmware does not name NUMA nodes", "see nvidia-smi topo -m or rocm-smi --showtopo"
        )
    others = ", ".join(f"{nic.address} on NUMA node {nic.node}" for nic in nics)
    fix = "mount over a port on the socket of this GPU, or move the card; data crosses the link between the sockets"
    return Finding(name, WARN, f"NUMA node {gpu.node}, the port of the mount is {others}", fix)


def _common(one: Device, other: Device) -> list[str]:
    shared = []
    for left, right in zip(one.path, other.path):
        if left != right:
            break
        shared.append(left)
    return shared


def check_iommu(system: System, devices: list[Device]) -> Finding:
    """Check that addresses of GPUs and ports are not translated: off, or in passthrough mode."""
    if not system.listed("sys/kernel/iommu_groups"):
        return Finding("iommu", OK, "off")
    kinds = {
        pci_device.address: (system.read(f"{PCI}/{pci_device.address}/iommu_group/type") or "").strip()
        for pci_device in devices
    }
    translated = [f"{address} ({kind})" for address, kind in kinds.items() if kind and kind not in PASSED_THROUGH]
    if translated:
        fix = "add iommu=pt to the kernel command line (with amd_iommu=on or intel_iommu=on) and reboot"
        return Finding("iommu", FAIL, f"it translates addresses of {', '.join(translated)}", fix)
    if not all(kinds.values()):
        return Finding(
            "iommu", UNSEEN, "the kernel does not show the mode of every device", "see /proc/cmdline for iommu="
        )
    return Finding("iommu", OK, "passthrough mode (identity)")
