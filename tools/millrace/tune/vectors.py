# SPDX-License-Identifier: Apache-2.0
"""The interrupt vectors of a port, and which queue each of them serves."""

import re
from dataclasses import dataclass

from millrace.system import paths, sysfs

# Vectors for commands, events and link changes: rare, so they stay where the kernel put them.
CONTROL = re.compile(r"async|misc|mgm|ctrl|control|config|admin|aeq|hwc|cmd|mbx|mailbox|event", re.IGNORECASE)
# mlx5_comp3@pci:0000:81:00.0, ice-ens1f0-TxRx-3, virtio2-input.0, irdma-ens1f0-CEQ-3
QUEUE = re.compile(r"([A-Za-z]*)[-_.:]?(\d+)$")


@dataclass(frozen=True)
class Vector:
    """One interrupt and the number of the queue (or RDMA completion queue) that raises it."""

    irq: int
    queue: int


def vectors(port: str) -> list[Vector]:
    """Return the vectors of a port's queues; none where it has no MSI-X or its driver does not number them."""
    function = sysfs.pci_function(paths.ROOT / "sys/class/net" / port / "device")
    numbers = sorted(int(name) for name in sysfs.names(function / "msi_irqs")) if function else []
    found = []
    for irq in numbers:
        queue = _queue(irq, port)
        if queue is not None:
            found.append(Vector(irq, queue))
    return found


def _queue(irq: int, port: str) -> int | None:
    """The kernel makes a directory for each handler of an interrupt, with the name that the driver gave it."""
    directory = paths.ROOT / f"proc/irq/{irq}"
    names = [name for name in sysfs.names(directory) if (directory / name).is_dir()]
    for name in names:
        handler = name.partition("@")[0]
        match = QUEUE.search(handler)
        # A vector that is called like the port itself is its only one, or the one for everything else.
        if match and handler != port and not CONTROL.search(match[1]):
            return int(match[2])
    return None
