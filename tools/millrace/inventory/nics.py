# SPDX-License-Identifier: Apache-2.0
"""Physical network ports."""

from pathlib import Path

from millrace.inventory import sysfs
from millrace.inventory.model import Nic


def nics(sysroot: Path) -> list[Nic]:
    """Return the network ports that are devices; bridges, bonds and the loopback are none."""
    directory = sysroot / "sys/class/net"
    software_rdma = _software_rdma(sysroot)
    return [
        _nic(directory / name, software_rdma.get(name))
        for name in sysfs.names(directory)
        if (directory / name / "device").exists()
    ]


def _nic(port: Path, software_rdma: str | None) -> Nic:
    function = sysfs.pci_function(port / "device")
    speed = sysfs.number(port / "speed")
    hardware_rdma = sysfs.names(port / "device/infiniband")
    driver = port / "device/driver"
    return Nic(
        name=port.name,
        driver=driver.resolve().name if driver.exists() else "",
        pci_address=function.name if function else None,
        numa_node=sysfs.numa_node(function),
        # -1 is how a port without link says that it does not know
        speed=speed if speed is not None and speed > 0 else None,
        carrier=sysfs.text(port / "carrier") == "1",
        queues=sum(name.startswith("rx-") for name in sysfs.names(port / "queues")),
        rdma_device=hardware_rdma[0] if hardware_rdma else software_rdma,
        link=sysfs.pcie_link(function),
    )


def _software_rdma(sysroot: Path) -> dict[str, str]:
    """Soft-RoCE devices by the port that they run over."""
    directory = sysroot / "sys/class/infiniband"
    parents = {name: sysfs.text(directory / name / "parent") for name in sysfs.names(directory)}
    return {parent: name for name, parent in parents.items() if parent}
