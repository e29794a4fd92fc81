# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace watch --json`: one of these a line, every second, or less often where a look takes long."""

from typing import Literal

from millrace.observe.health.model import Level
from millrace.observe.jobs.job_list import CurrentJob
from millrace.system.documents import Contract


class ProtocolRates(Contract):
    """What clients of one protocol got in the last second; null is not known, never nothing.

    `nfs` is NFS over TCP and RDMA together: the kernel counts bytes for both in one. Operations are RPC calls (an
    NFSv4 compound is one) or SMB2 requests; SMB bytes are with their headers of about 80 bytes. `latency_seconds` is
    the mean time from a request's arrival to its answer in the server, null where nothing was asked. `clients` over
    TCP are addresses with a connection: SMB multichannel over two ports of a client counts two.
    """

    name: Literal["nfs-tcp", "nfs", "smb"]
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    operations_per_second: float | None
    latency_seconds: float | None
    clients: int | None


class DriveRates(Contract):
    """All drives of the pool together; `latency_seconds` is the mean of their requests."""

    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    latency_seconds: float | None


class PortRates(Contract):
    """One network port."""

    name: str
    receive_bytes_per_second: float | None
    send_bytes_per_second: float | None


class LiveSample(Contract):
    """One sample. `time` is seconds since 1970; rates are over the second before, null in the first line.

    `localio` is 1 or more where NFS clients on the server itself go around nfsd: what they read and write is not in
    `protocols`. It is null where there are no such clients, or the kernel cannot do it. `notes` are why something is
    not known.
    """

    schema_version: Literal[1] = 1
    time: float
    health: Level
    protocols: list[ProtocolRates]
    drives: DriveRates
    ports: list[PortRates]
    jobs: list[CurrentJob]
    localio: int | None
    notes: list[str]
