# SPDX-License-Identifier: Apache-2.0
"""The counters of the kernel and of smbd at one moment; None is what cannot be read."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millrace.serve.share.session import NOT_ROOT
from millrace.storage.array.devices import array_device, backend_drives, block, member_drives
from millrace.storage.record.model import Pool
from millrace.system import net, nfsd, paths, sysfs
from millrace.system.errors import Failed
from millrace.system.run import Runner, last_words

SECTOR = 512
MICRO = 1e-6
MILLI = 1e-3


@dataclass(frozen=True)
class ProtocolCounters:
    """Since the server started: bytes read and written by clients, requests, and where it is counted their time.

    `timed` requests took `busy` seconds together.
    """

    read: int
    written: int
    operations: int
    timed: int | None = None
    busy: float | None = None


@dataclass(frozen=True)
class DriveCounters:
    """Since boot: bytes, requests and the seconds that these took together."""

    read: int
    written: int
    requests: int
    busy: float


@dataclass(frozen=True)
class PortCounters:
    """Since boot, in bytes."""

    received: int
    sent: int


def nfs() -> ProtocolCounters | None:
    """Read /proc/net/rpc/nfsd: `io` is bytes read and written, `rpc` starts with the calls."""
    lines = (sysfs.text(paths.ROOT / "proc/net/rpc/nfsd") or "").splitlines()
    words = {line.split()[0]: line.split()[1:] for line in lines if line.strip()}
    try:
        return ProtocolCounters(int(words["io"][0]), int(words["io"][1]), int(words["rpc"][0]))
    except (KeyError, IndexError, ValueError):
        return None


def smb(run: Runner) -> tuple[ProtocolCounters | None, str | None]:
    """Read the profile of all smbd processes; return why where there is none.

    As text: the JSON has the counters of each share and client, too, and costs 3 ms of CPU time for each of them.
    """
    result = run(["smbstatus", "--profile"])
    if result.status == 127:
        return None, None
    calls = defaultdict[str, dict[str, int]](dict)
    for name, counter, value in _COUNTER.findall(result.out):
        calls[name][counter] = int(value)
    try:
        asked = [call for name, call in calls.items() if name not in _WAITING]
        count, time = sum(call["count"] for call in asked), sum(call["time"] for call in asked)
        # smbd can be configured to count without times.
        is_timed = time > 0 or count == 0
        return ProtocolCounters(
            read=calls["smb2_read"]["outbytes"],
            written=calls["smb2_write"]["inbytes"],
            operations=sum(call["count"] for call in calls.values()),
            timed=count if is_timed else None,
            busy=time * MICRO if is_timed else None,
        ), None
    except KeyError:
        if NOT_ROOT in result.err + result.out:
            return None, "SMB statistics require root"
        return None, "smbd has no SMB statistics"


def smb_shares(run: Runner) -> Iterator[tuple[str, str, str, ProtocolCounters]]:
    """Read what each client did in each share since it connected: a name of the record, share, client and counters.

    Samba 4.25, `smbd profiling share`; the record is gone when the client disconnects from the share. Failed: smbstatus
    does not show the profile.
    """
    result = run(["smbstatus", "--profile", "--json"])
    try:
        # the key is missing where nobody is connected
        records = json.loads(result.out).get("Extended Profile", {})
        for name, record in records.items():
            if key := _RECORD.fullmatch(name):
                calls = record["SMB2 Calls"]
                done = sum(call["count"] for call in calls.values())
                counts = ProtocolCounters(calls["smb2_read"]["outbytes"], calls["smb2_write"]["inbytes"], done)
                yield name, key[1], key[2].removeprefix("::ffff:"), counts
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failed(f"smbstatus does not show the profile of shares: {last_words(result)}") from error


# smb2_read_failed_count is none of smb2_read_failed
_COUNTER = re.compile(r"^(smb2_(?:(?!_failed)\w)+?)_(count|time|inbytes|outbytes): +(\d+)$", re.MULTILINE)
# SHARE:PROCESS.SECTION[CLIENT]
_RECORD = re.compile(r"([^:]+):\d+\.\d+\[(.*)\]")


# A client waits in these for something to happen, and that is no latency.
_WAITING = {"smb2_notify", "smb2_lock", "smb2_break"}


def disks(pool: Pool | None) -> DriveCounters | None:
    """Read the drives under the arrays of the pool (Documentation/admin-guide/iostats.rst, kernel 7.2)."""
    names = pool_drives(pool)
    stats = [_stat(name) for name in names]
    if not stats or any(len(stat) < 11 for stat in stats):
        return None
    return DriveCounters(
        read=sum(stat[2] for stat in stats) * SECTOR,
        written=sum(stat[6] for stat in stats) * SECTOR,
        requests=sum(stat[0] + stat[4] for stat in stats),
        busy=sum(stat[3] + stat[7] for stat in stats) * MILLI,
    )


def pool_drives(pool: Pool | None) -> set[str]:
    """Return the kernel names of the drives of the pool."""
    if pool is None:
        return set()
    devices = [array_device(record.array.name) for record in pool.arrays]
    return {drive for device in devices if device for drive in member_drives(device)} | {*backend_drives(pool)}


def ports() -> dict[str, PortCounters]:
    """Read the counters of all physical ports."""
    found = {}
    for name in filter(net.is_port, sysfs.names(paths.ROOT / "sys/class/net")):
        received = sysfs.number(net.directory(name) / "statistics/rx_bytes")
        sent = sysfs.number(net.directory(name) / "statistics/tx_bytes")
        if received is not None and sent is not None:
            found[name] = PortCounters(received, sent)
    return found


def listeners() -> set[str]:
    """Return the transports on which nfsd listens: `tcp`, `rdma`."""
    return {line.split()[0] for line in nfsd.lines("portlist") if line}


def tcp_clients(port: int) -> int | None:
    """Return how many hosts have a connection to a TCP port; None where the kernel does not list connections."""
    tables = [sysfs.text(paths.ROOT / "proc/net" / name) for name in ("tcp", "tcp6")]
    if not any(tables):
        return None
    return len({peer for table in tables for peer in _peers((table or "").splitlines()[1:], port)})


def nfs_clients() -> int | None:
    """Return how many NFS clients there are; None where the kernel tells only root, as over RDMA."""
    if listeners() <= {"tcp"}:
        return tcp_clients(2049)
    try:
        return sum(1 for _ in (paths.ROOT / "proc/fs/nfsd/clients").iterdir())
    except OSError:
        return None


def _peers(rows: Iterable[str], port: int) -> Iterable[str]:
    """proc_net_tcp: `sl local remote state …`, addresses in hexadecimal, 01 is established."""
    for row in rows:
        fields = row.split()
        if len(fields) > 3 and fields[3] == "01" and int(fields[1].rpartition(":")[2], 16) == port:
            # An IPv4 client of a socket for both is ::ffff:a.b.c.d; its last 32 bits are what the other table has.
            yield fields[2].rpartition(":")[0].removeprefix("0000000000000000FFFF0000")


def _stat(drive: str) -> list[int]:
    return [int(word) for word in (sysfs.text(block(drive) / "stat") or "").split()]
