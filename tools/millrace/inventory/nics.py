# SPDX-License-Identifier: Apache-2.0
"""Physical network ports."""

import re
from collections import Counter
from pathlib import Path

from millrace.inventory import pci
from millrace.inventory.model import Nic
from millrace.system import sysfs
from millrace.system.run import Runner


def nics(sysroot: Path, run: Runner) -> list[Nic]:
    """Return the network ports that are devices, without bridges, bonds and the loopback."""
    directory = sysroot / "sys/class/net"
    software_rdma, slots = _software_rdma(sysroot), pci.slots(sysroot)
    all_nics = [
        _nic(directory / name, software_rdma.get(name), slots, run)
        for name in sysfs.names(directory)
        if (directory / name / "device").exists()
    ]
    ports = Counter(_card(nic) for nic in all_nics)
    return [nic.model_copy(update={"card_ports": ports[_card(nic)] if nic.pci_address else None}) for nic in all_nics]


def port_functions(sysroot: Path) -> list[Path | None]:
    """Return the PCI functions of the network ports."""
    directory = sysroot / "sys/class/net"
    return [sysfs.pci_function(directory / name / "device") for name in sysfs.names(directory)]


def _card(nic: Nic) -> str:
    """Ports of one card are functions of one PCI device, or share a function."""
    return (nic.pci_address or nic.name).rpartition(".")[0]


def _nic(port: Path, software_rdma: str | None, slots: dict[str, str], run: Runner) -> Nic:
    function = sysfs.pci_function(port / "device")
    switch = pci.switch_port(function)
    speed = sysfs.number(port / "speed")
    hardware_rdma = sysfs.names(port / "device/infiniband")
    driver = port / "device/driver"
    return Nic(
        name=port.name,
        driver=driver.resolve().name if driver.is_symlink() else "",
        pci_address=function.name if function else None,
        numa_node=sysfs.numa_node(function),
        # -1 is how a port without link says that it does not know
        speed=speed if speed is not None and speed > 0 else None,
        carrier=sysfs.text(port / "carrier") == "1",
        queues=sum(name.startswith("rx-") for name in sysfs.names(port / "queues")),
        rdma_device=hardware_rdma[0] if hardware_rdma else software_rdma,
        link=pci.link(function),
        software_rdma=bool(software_rdma and not hardware_rdma),
        firmware=_firmware(port.name, run),
        slot=pci.slot(function, slots),
        switch=switch.name if switch else None,
    )


def _firmware(name: str, run: Runner) -> str | None:
    result = run(["ethtool", "-i", name])
    found = re.search(r"^firmware-version:[ \t]*(\S.*)$", result.out, re.MULTILINE) if result.status == 0 else None
    return found[1].strip() if found and found[1].strip() != "N/A" else None


def _software_rdma(sysroot: Path) -> dict[str, str]:
    """Soft-RoCE devices by the port that they run over."""
    directory = sysroot / "sys/class/infiniband"
    parents = {name: sysfs.text(directory / name / "parent") for name in sysfs.names(directory)}
    return {parent: name for name, parent in parents.items() if parent}
