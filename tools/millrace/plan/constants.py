# SPDX-License-Identifier: Apache-2.0
"""The constants of the performance model, each with its evidence.

One that is `unknown` is an assumption: no prediction is made from it until this server has measured it. One that is
`derived` was counted on the emulated CPU of tools/perf.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.plan.model import Direction, Evidence, Transport

GIGA = 1_000_000_000
MEGABIT = 1_000_000
BITS = 8  # of a byte


@dataclass(frozen=True)
class Constant:
    """A number and its evidence; `measure` is what would find it out, where it is unknown or derived."""

    value: float
    evidence: Evidence
    measure: str | None = None


@dataclass(frozen=True)
class DriveClass:
    """Sequential bytes/s of drives of one PCIe generation, from data sheets."""

    read: Constant
    write: Constant


def _drive(read: float, write: float) -> DriveClass:
    return DriveClass(Constant(read * GIGA, "specification"), Constant(write * GIGA, "specification"))


TCP_MEASURE = "a network benchmark (iperf3) from the clients: how much of the line rate TCP reaches"
CPU_MEASURE = "a benchmark over the network with the CPU load: cycles for each byte of NFS and SMB"
MEMORY_MEASURE = "a memory benchmark on this server: how much of the modules' bandwidth is usable"
MD_MEASURE = "a benchmark of each array alone on this server: the write rate of md, and its read rate when degraded"


@dataclass(frozen=True)
class Constants:
    """The constants of the model. Replace an unknown one by a measured one to have its layer predicted.

    Bytes/s, fractions, bytes of memory traffic and CPU cycles for each byte served.
    """

    # By transfers per lane in GT/s: Gen5 and Gen4.
    drives: Mapping[float, DriveClass] = field(default_factory=lambda: {32.0: _drive(12, 6), 16.0: _drive(6.5, 3.5)})
    # Headers of packets with 256 to 512 bytes of payload: 55 of 63 GB/s of a Gen5 x16 slot.
    pcie_payload: Constant = Constant(0.875, "specification")
    # 45 of 50 GB/s on one 400 Gbit/s port, the reference 1U12.
    nic_rdma: Constant = Constant(0.90, "calibrated")
    nic_tcp: Constant = Constant(0.80, "unknown", TCP_MEASURE)
    memory_usable: Constant = Constant(0.7, "unknown", MEMORY_MEASURE)
    read_traffic: Mapping[Transport, Constant] = field(
        default_factory=lambda: {"rdma": Constant(2.0, "textbook"), "tcp": Constant(3.0, "textbook")}
    )
    # Between kernel and smbd, and through the cipher: each reads and writes.
    smb_copies: Constant = Constant(4.0, "textbook")
    # Into and out of the stripe cache.
    stripe_copy: Constant = Constant(2.0, "textbook")
    # Derived: the instructions of nfsd's threads, of smbd and of md (tools/perf cost arrays), taken for cycles. The
    # copying of emulated drives is in them, and over loopback a part of the client's network; of RDMA what a card does
    # is not.
    read_cycles: Mapping[Transport, Constant] = field(
        default_factory=lambda: {
            "rdma": Constant(1.24, "derived", CPU_MEASURE),
            "tcp": Constant(1.58, "derived", CPU_MEASURE),
            "smb": Constant(3.74, "derived", CPU_MEASURE),
        }
    )
    write_cycles: Mapping[Transport, Constant] = field(
        default_factory=lambda: {
            "rdma": Constant(0.96, "derived", CPU_MEASURE),
            "tcp": Constant(1.5, "derived", CPU_MEASURE),
            "smb": Constant(2.93, "derived", CPU_MEASURE),
        }
    )
    parity_cycles: Constant = Constant(2.16, "derived", CPU_MEASURE)
    # What is left to the one thread of an array when its workers do the rest; of reads without a drive it is next to
    # nothing. How the threads wait for the array's locks is not in it.
    md_cycles: Mapping[Direction, Constant] = field(
        default_factory=lambda: {
            "read": Constant(0.005, "derived", MD_MEASURE),
            "write": Constant(0.06, "derived", MD_MEASURE),
        }
    )
