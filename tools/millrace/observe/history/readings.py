# SPDX-License-Identifier: Apache-2.0
"""The counters and figures of one moment, from the kernel, smbd and records of other services. No drive is asked."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from millrace.observe.history.series import Key
from millrace.observe.live import counters, latency, smbd
from millrace.serve.config import store
from millrace.serve.share.session import address
from millrace.serve.share.usage import Usage
from millrace.storage.drive import smart
from millrace.storage.record.pool_file import known_pool
from millrace.system import heartbeat, paths, sysfs
from millrace.system.documents import Contract, read_model
from millrace.system.errors import Failed, MillraceError
from millrace.system.listeners import SMB_PORT
from millrace.system.mounts import unescape
from millrace.system.run import Runner, last_words

NFS_PORT = 2049
MOST_STREAMS = 20_000
"""Connections and exports of a reading: 300 clients with 16 connections each are 4,800."""


class CounterStream(Contract):
    """What comes and goes with counters of its own: a connection, or an entry of the kernel's table of exports.

    `of` is the series to which it adds, `source` is where it was read, `began` tells it from an earlier one of the same
    name. `operations` is null where none are counted.
    """

    of: str
    source: str
    began: int
    read: int = 0
    written: int = 0
    operations: int | None = None


class Readings(Contract):
    """Counters at `uptime` seconds after boot.

    `counters` grow; `means` are a sum and what it is divided by, which grow both. `sources` could be read.
    """

    uptime: float
    counters: dict[str, float] = Field(default_factory=dict)
    means: dict[str, tuple[float, float]] = Field(default_factory=dict)
    streams: dict[str, CounterStream] = Field(default_factory=dict)
    sources: list[str] = Field(default_factory=list)


@dataclass
class SourceReader:
    """Reads everything once: `readings` gives rates with earlier ones, `figures` stand for themselves."""

    run: Runner
    uptime: float
    counters: dict[str, float] = field(default_factory=dict)
    means: dict[str, tuple[float, float]] = field(default_factory=dict)
    streams: dict[str, CounterStream] = field(default_factory=dict)
    figures: dict[Key, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def read(self) -> Readings:
        """Read all sources; one that fails is in `problems`, and the others go on."""
        sources: Mapping[str, Callable[[], None]] = {
            "nfs": self._nfs,
            "smb": self._smb,
            "shares": self._exports,
            "smb-shares": self._smb_shares,
            "clients": self._connections,
            "drives": self._drives,
            "ports": self._ports,
            "processor": self._processor,
            "capacity": self._capacity,
            "smart": self._smart,
        }
        for name, source in sources.items():
            try:
                source()
            except (OSError, ValueError, LookupError, MillraceError) as error:
                self.problems[name] = str(error)
        return Readings(
            uptime=self.uptime,
            counters=self.counters,
            means=self.means,
            streams=self.streams,
            sources=[name for name in sources if name not in self.problems],
        )

    def _nfs(self) -> None:
        latency.enable()
        counts = counters.nfs()
        if counts:
            self._count(**{"nfs-read": counts.read, "nfs-write": counts.written, "nfs-operations": counts.operations})
        if timed := latency.calls():
            self.means["nfs-latency"] = (timed[1], timed[0])

    def _smb(self) -> None:
        if sysfs.number(paths.ROOT / "run/samba/smbd.pid") is None:
            return
        counts, why = smbd.counts(counters.tcp_clients(SMB_PORT), self.run)
        if counts is None:
            raise Failed(why or "smbd has no SMB statistics")
        self._count(**{"smb-read": counts.read, "smb-write": counts.written, "smb-operations": counts.operations})
        if counts.timed is not None and counts.busy is not None:
            self.means["smb-latency"] = (counts.busy, counts.timed)

    def _exports(self) -> None:
        text = sysfs.text(paths.ROOT / "proc/fs/nfsd/export_stats")
        pool = known_pool()
        if text is None or pool is None:
            return
        names = {f"{pool.filesystem.mountpoint}/{share.name}": share.name for share in store.read().config.shares}
        for path, domain, stream in exports(text):
            if path in names and len(self.streams) < MOST_STREAMS:
                name = names[path]
                self.streams[f"share {name} {domain}"] = stream.model_copy(update={"of": f"share/{name}"})

    def _smb_shares(self) -> None:
        # smbstatus takes 3 ms of CPU time for each client of each share
        if sysfs.number(paths.ROOT / "run/samba/smbd.pid") is None or not counters.tcp_clients(SMB_PORT):
            return
        names = {share.name for share in store.read().config.shares if share.smb}
        for key, share, client, counts in counters.smb_shares(self.run):
            if share in names and len(self.streams) < MOST_STREAMS:
                made = CounterStream(of=f"client/{client}", source="smb-shares", began=0, operations=counts.operations)
                # the bytes of a client are those of its connections
                self.streams[f"smb client {key}"] = made
                self.streams[f"smb share {key}"] = made.model_copy(
                    update={"of": f"share/{share}", "read": counts.read, "written": counts.written}
                )

    def _connections(self) -> None:
        # no process for nothing
        if not counters.tcp_clients(NFS_PORT) and not counters.tcp_clients(SMB_PORT):
            return
        ports = ("(", "sport", "=", f":{NFS_PORT}", "or", "sport", "=", f":{SMB_PORT}", ")")
        result = self.run(["ss", "-HtniO", "state", "established", *ports])
        if result.status != 0:
            raise Failed(f"ss does not list connections: {last_words(result)}")
        for name, stream in connections(result.out):
            if len(self.streams) < MOST_STREAMS:
                self.streams[name] = stream

    def _drives(self) -> None:
        counts = counters.disks(known_pool())
        if counts:
            self._count(**{"drives-read": counts.read, "drives-write": counts.written})
            self.means["drives-latency"] = (counts.busy, counts.requests)

    def _ports(self) -> None:
        for name, port in counters.ports().items():
            self._count(**{f"port-receive/{name}": port.received, f"port-send/{name}": port.sent})

    def _processor(self) -> None:
        text = sysfs.text(paths.ROOT / "proc/stat") or ""
        # proc_stat(5): user nice system idle iowait irq softirq steal; guests are in user
        ticks = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
        if len(ticks) == 8:
            self.means["cpu"] = (sum(ticks) - ticks[3] - ticks[4], sum(ticks))
        memory = sysfs.text(paths.ROOT / "proc/meminfo") or ""
        sizes = dict(re.findall(r"^(MemTotal|MemAvailable): +(\d+) kB", memory, re.MULTILINE))
        if len(sizes) == 2 and int(sizes["MemTotal"]):
            self.figures["memory", ""] = 1 - int(sizes["MemAvailable"]) / int(sizes["MemTotal"])

    def _capacity(self) -> None:
        beat = heartbeat.last()
        if beat is not None and beat.size is not None and beat.used is not None:
            self.figures |= {("pool-used", ""): beat.used, ("pool-size", ""): beat.size}
        if not paths.usage_file().exists():
            return
        used = read_model(paths.usage_file(), Usage).used
        for share in store.read().config.shares:
            self.figures["share-used", share.name] = used.get(share.project, 0)

    def _smart(self) -> None:
        report = smart.last()
        for drive in report.drives if report else []:
            if drive.serial and drive.temperature is not None:
                self.figures["drive-temperature", drive.serial] = drive.temperature
            if drive.serial and drive.wear is not None:
                self.figures["drive-wear", drive.serial] = drive.wear / 100

    def _count(self, **counts: float) -> None:
        self.counters |= counts


def exports(text: str) -> Iterator[tuple[str, str, CounterStream]]:
    r"""Return path, client and counters of each export in /proc/fs/nfsd/export_stats.

    kernel 7.2, fs/nfsd/export.c: `PATH\tDOMAIN\tSTART`, then indented lines, a blank one at the end. An entry that is
    read from mountd again starts at 0 with a START of its own. ValueError: the kernel has another format.
    """
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        path, domain, began = lines[0].split("\t")
        values = dict(line.split(":", 1) for line in map(str.strip, lines[1:]))
        stream = CounterStream(
            of="", source="shares", began=int(began), read=int(values["io_read"]), written=int(values["io_write"])
        )
        yield unescape(path), unescape(domain), stream


_INFO = re.compile(r" (bytes_acked|bytes_received):(\d+)")


def connections(text: str) -> Iterator[tuple[str, CounterStream]]:
    """Return the connections in the output of `ss -HtniO state established`, by their ends.

    tcp(7), TCP_INFO: bytes that the peer acknowledged and that were received, with the headers of NFS and SMB.
    """
    for line in text.splitlines():
        words = line.split(maxsplit=4)
        if len(words) < 5:
            continue
        values = {name: int(value) for name, value in _INFO.findall(f" {words[4]}")}
        sent, received = values.get("bytes_acked", 0), values.get("bytes_received", 0)
        yield (
            f"{words[2]} {words[3]}",
            CounterStream(of=f"client/{address(words[3])}", source="clients", began=0, read=sent, written=received),
        )
