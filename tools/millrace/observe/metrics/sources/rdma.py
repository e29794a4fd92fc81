# SPDX-License-Identifier: Apache-2.0
"""Counters of RDMA drivers by their own names, from sysfs.

node_exporter has those of mlx5 only, under names of its own.
"""

from pathlib import Path

from millrace.observe.metrics.family import Family, counter
from millrace.system import paths, sysfs


def families() -> list[Family]:
    """Return each counter of the drivers of RDMA ports."""
    ports = [
        (directory, {"device": device, "port": directory.name})
        for device in sysfs.names(paths.ROOT / "sys/class/infiniband")
        for directory in _below(paths.ROOT / "sys/class/infiniband" / device / "ports")
    ]
    return [
        counter(
            "rdma_driver_events",
            "Counters of an RDMA driver by its own names (hw_counters in sysfs).",
            *(
                (sysfs.number(each), {**labels, "counter": each.name})
                for port, labels in ports
                for each in _below(port / "hw_counters")
                if each.name != "lifespan"
            ),
        ),
    ]


def _below(directory: Path) -> list[Path]:
    return [directory / name for name in sysfs.names(directory)]
