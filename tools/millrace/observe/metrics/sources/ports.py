# SPDX-License-Identifier: Apache-2.0
"""Network ports and RDMA devices, from sysfs."""

from collections.abc import Iterator
from pathlib import Path

from millrace.observe.metrics.family import Family, Labels, Value, counter, gauge
from millrace.system import net, paths, sysfs

MEGABIT = 125_000
# InfiniBand counts data in words of 4 bytes (Documentation/ABI/stable/sysfs-class-infiniband).
WORD = 4
# Those that mean a bad cable, a bad port or lost packets (Documentation/ABI/stable/sysfs-class-infiniband).
RDMA_ERRORS = (
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_errors",
    "port_xmit_discards",
    "symbol_error",
)


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
        counter("port_receive_missed", "Packets lost because the port had no buffer.", *values("rx_missed_errors")),
        counter("port_receive_crc_errors", "Packets received with a wrong checksum.", *values("rx_crc_errors")),
        counter(
            "port_carrier_changes",
            "How often the link came or went.",
            *((sysfs.number(net.directory(one) / "carrier_changes"), _port(one)) for one in names),
        ),
        *_bonds(),
    ]


def _bonds() -> list[Family]:
    """The members of bonds (Documentation/networking/bonding.rst, kernel 7.2)."""
    found = [
        (net.directory(member) / "bonding_slave", {"bond": bond, "port": member})
        for bond in sysfs.names(paths.ROOT / "sys/class/net")
        for member in (sysfs.text(net.directory(bond) / "bonding/slaves") or "").split()
    ]
    states = [(sysfs.text(one / "mii_status"), labels) for one, labels in found]
    return [
        gauge(
            "bond_member_up",
            "Whether a bond uses the link of a member.",
            *((None if state is None else state == "up", labels) for state, labels in states),
        ),
        counter(
            "bond_member_link_failures",
            "How often the link of a member of a bond failed.",
            *((sysfs.number(one / "link_failure_count"), labels) for one, labels in found),
        ),
    ]


def rdma_families() -> list[Family]:
    """Return what RDMA devices count: bytes where the device counts them, and each counter of its driver."""
    ports = [
        (directory, {"device": device, "port": directory.name})
        for device in sysfs.names(paths.ROOT / "sys/class/infiniband")
        for directory in _below(paths.ROOT / "sys/class/infiniband" / device / "ports")
    ]
    return [
        gauge(
            "rdma_link_up",
            "Whether an RDMA port is active.",
            *((_is_active(sysfs.text(one / "state")), labels) for one, labels in ports),
        ),
        counter(
            "rdma_errors",
            "Errors of an RDMA port by their names in sysfs.",
            *(
                (sysfs.number(one / "counters" / name), {**labels, "error": name})
                for one, labels in ports
                for name in RDMA_ERRORS
            ),
        ),
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


def _is_active(state: str | None) -> bool | None:
    """The kernel writes it as number and name: `4: ACTIVE`."""
    return None if state is None else state.partition(":")[0] == "4"


def _below(directory: Path) -> list[Path]:
    return [directory / name for name in sysfs.names(directory)]


def _words(path: Path) -> int | None:
    found = sysfs.number(path)
    return None if found is None else found * WORD
