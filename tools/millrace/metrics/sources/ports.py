# SPDX-License-Identifier: Apache-2.0
"""Network ports and RDMA devices, from sysfs."""

from collections.abc import Iterator
from pathlib import Path

from millrace import paths
from millrace.metrics.family import Family, Labels, Value, counter, gauge
from millrace.system import net, sysfs

MEGABIT = 125_000
# InfiniBand counts data in words of 4 bytes (Documentation/ABI/stable/sysfs-class-infiniband).
WORD = 4


def port_families() -> list[Family]:
    """Return the metrics of all physical ports."""
    names = [name for name in sysfs.names(paths.ROOT / "sys/class/net") if net.is_port(name)]

    def values(attribute: str) -> Iterator[tuple[Value, Labels]]:
        return ((sysfs.number(net.directory(one) / "statistics" / attribute), {"port": one}) for one in names)

    return [
        gauge("port_link_up", "Whether a port has a link.", *((net.has_carrier(one), _port(one)) for one in names)),
        gauge(
            "port_speed_bytes_per_second",
            "Speed of the link of a port.",
            *((speed * MEGABIT if (speed := net.speed(one)) else None, _port(one)) for one in names),
        ),
        counter("port_receive_bytes", "Bytes that a port received.", *values("rx_bytes")),
        counter("port_transmit_bytes", "Bytes that a port sent.", *values("tx_bytes")),
        counter("port_receive_errors", "Packets received with errors.", *values("rx_errors")),
        counter("port_transmit_errors", "Packets not sent because of errors.", *values("tx_errors")),
        counter("port_receive_dropped", "Received packets that were dropped.", *values("rx_dropped")),
        counter("port_transmit_dropped", "Packets to be sent that were dropped.", *values("tx_dropped")),
    ]


def rdma_families() -> list[Family]:
    """Return what RDMA devices count: bytes where the device counts them, and each counter of its driver."""
    ports = [
        (directory, {"device": device, "port": directory.name})
        for device in sysfs.names(paths.ROOT / "sys/class/infiniband")
        for directory in _below(paths.ROOT / "sys/class/infiniband" / device / "ports")
    ]
    return [
        counter(
            "rdma_receive_bytes",
            "Bytes that an RDMA port received.",
            *((_words(one / "counters/port_rcv_data"), labels) for one, labels in ports),
        ),
        counter(
            "rdma_transmit_bytes",
            "Bytes that an RDMA port sent.",
            *((_words(one / "counters/port_xmit_data"), labels) for one, labels in ports),
        ),
        counter(
            "rdma_driver_events",
            "Counters of an RDMA driver by its own names (hw_counters in sysfs).",
            *(
                (sysfs.number(each), {**labels, "counter": each.name})
                for one, labels in ports
                for each in _below(one / "hw_counters")
                if each.name != "lifespan"
            ),
        ),
    ]


def _port(name: str) -> Labels:
    return {"port": name}


def _below(directory: Path) -> list[Path]:
    return [directory / name for name in sysfs.names(directory)]


def _words(path: Path) -> int | None:
    found = sysfs.number(path)
    return None if found is None else found * WORD
