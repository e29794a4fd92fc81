# SPDX-License-Identifier: Apache-2.0
"""Two samples of the counters make the rates between them."""

import time
from dataclasses import dataclass, replace

from millrace.observe.health.current import level_now
from millrace.observe.health.host import Host
from millrace.observe.health.jobs import jobs
from millrace.observe.live import counters, latency
from millrace.observe.live.counters import DriveCounters, PortCounters, ProtocolCounters
from millrace.observe.live.model import DriveRates, LiveSample, PortRates, ProtocolRates
from millrace.storage.record.model import Pool
from millrace.system import nfsd, paths, sysfs
from millrace.system.run import Runner

Counters = ProtocolCounters | DriveCounters | PortCounters


@dataclass(frozen=True)
class CounterSample:
    """All counters; `at` is the monotonic clock in seconds."""

    at: float
    nfs: ProtocolCounters | None
    smb: ProtocolCounters | None
    disks: DriveCounters | None
    ports: dict[str, PortCounters]
    notes: list[str]


def read_sample(pool: Pool | None, run: Runner) -> CounterSample:
    """Read all counters."""
    notes: list[str] = []
    nfs = counters.nfs()
    spent = latency.calls()
    if nfs and spent:
        nfs = replace(nfs, timed=spent[0], busy=spent[1])
    elif nfs:
        notes.append("NFS latency requires root")
    smb = None
    # No process for nothing: smbstatus would find no profile.
    if sysfs.number(paths.ROOT / "run/samba/smbd.pid") is not None:
        smb, why = counters.smb(run)
        notes += [why] if why else []
    return CounterSample(time.monotonic(), nfs, smb, counters.disks(pool), counters.ports(), notes)


def line(before: CounterSample | None, now: CounterSample, host: Host) -> LiveSample:
    """Return one line; without an earlier sample there is no rate yet."""
    return LiveSample(
        time=round(time.time(), 3),
        health=level_now(host),
        protocols=[
            _protocol("nfs" if "rdma" in counters.listeners() else "nfs-tcp", before, now),
            _protocol("smb", before, now),
        ],
        drives=_drives(before, now),
        ports=[_port(name, before, now) for name in now.ports],
        jobs=jobs(host.pool),
        localio=nfsd.gone_around(),
        notes=now.notes,
    )


def _protocol(name: str, before: CounterSample | None, now: CounterSample) -> ProtocolRates:
    smb = name == "smb"
    new = now.smb if smb else now.nfs
    old = (before.smb if smb else before.nfs) if before else None
    seconds = now.at - before.at if before else 0.0
    clients = counters.tcp_clients(445) if smb else counters.nfs_clients()
    return ProtocolRates.model_validate(
        {
            "name": name,
            "read_bytes_per_second": _rate(old, new, "read", seconds),
            "write_bytes_per_second": _rate(old, new, "written", seconds),
            "operations_per_second": _rate(old, new, "operations", seconds),
            "latency_seconds": _mean(old, new),
            "clients": clients,
        }
    )


def _drives(before: CounterSample | None, now: CounterSample) -> DriveRates:
    old, new = before.disks if before else None, now.disks
    seconds = now.at - before.at if before else 0.0
    mean = None
    if old and new and new.requests > old.requests:
        mean = (new.busy - old.busy) / (new.requests - old.requests)
    return DriveRates(
        read_bytes_per_second=_rate(old, new, "read", seconds),
        write_bytes_per_second=_rate(old, new, "written", seconds),
        latency_seconds=mean,
    )


def _port(name: str, before: CounterSample | None, now: CounterSample) -> PortRates:
    old, new = before.ports.get(name) if before else None, now.ports[name]
    seconds = now.at - before.at if before else 0.0
    return PortRates(
        name=name,
        receive_bytes_per_second=_rate(old, new, "received", seconds),
        send_bytes_per_second=_rate(old, new, "sent", seconds),
    )


def _rate(old: Counters | None, new: Counters | None, name: str, seconds: float) -> float | None:
    """A counter that went back belongs to a server that was started again: nothing is known of this second."""
    if old is None or new is None or seconds <= 0:
        return None
    grown = float(getattr(new, name) - getattr(old, name))
    return grown / seconds if grown >= 0 else None


def _mean(old: ProtocolCounters | None, new: ProtocolCounters | None) -> float | None:
    if old is None or new is None or old.timed is None or new.timed is None or old.busy is None or new.busy is None:
        return None
    if new.timed <= old.timed or new.busy < old.busy:
        return None
    return (new.busy - old.busy) / (new.timed - old.timed)
