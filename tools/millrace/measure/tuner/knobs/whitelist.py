# SPDX-License-Identifier: Apache-2.0
"""The whitelist: what may be tried, its levels on a server, and what is left out with the reason. Pure.

Nothing here makes an answer come before the data is safe, and nothing is fixed when the file system is made.
"""

from collections.abc import Callable

from millrace.measure.tuner.knobs.entry import LevelFacts, WhitelistEntry, field
from millrace.measure.tuner.model import Level
from millrace.plan.defaults import ADAPTIVE, AIO_BYTES, BUFFERED, CREDITS, RebuildSettings
from millrace.plan.memory import stripe_cache_memory, thread_memory
from millrace.plan.settings import Settings
from millrace.system.text import GIB, KIB, MIB
from millrace.tune.ethtool import Direction
from millrace.tune.nfsd import IO_MODES
from millrace.tune.rebuild_speed import WITH_NONE, WITH_ONE, healthy

MEMORY = 0.10
"""Part of the memory that one setting may take while it is tried; the policy's own limit is a quarter."""
PAGE = 4096
STRIPES = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
WORKERS = (0, 1, 2, 4, 8, 16, 32)
READ_AHEAD = (128, 512, 2048, 8192, 16384, 32768, 65536)
THREADS = (8, 16, 32, 64, 128, 256)
FEWEST = (1, 4, 8, 16, 32)
REQUESTS = (32, 64, 128, 256, 512)
LARGEST = (128, 256, 512, 1024)
USECS = (8, 32, 128, 0)
RINGS = (256, 1024, 4096, 8192)
REBUILD = (1000, 10_000, 100_000, 500_000)
FOLLOWING = ("/smp_affinity_list", "/xps_cpus")
"""What a port needs again when its driver has started again: the cores of its interrupts, and who sends where."""
IN_FLIGHT = (512, 1024, 2048, 4096, CREDITS, 2 * CREDITS)
ASYNCHRONOUS = (AIO_BYTES, 8 * KIB, 64 * KIB, MIB, 16 * MIB)


def _dirty(of: Settings) -> int | None:
    text = of.sysctl.get("vm.dirty_bytes", "")
    return int(text) if text.isdigit() else None


def _with_dirty(of: Settings, value: Level) -> Settings:
    limits = {"vm.dirty_background_bytes": str(int(value) // 4), "vm.dirty_bytes": str(value)}
    return of.model_copy(update={"sysctl": {**of.sysctl, **limits}})


def _rebuild(of: Settings) -> int:
    return of.rebuild.least or healthy(of.md.sync_speed_max)


def _with_rebuild(of: Settings, value: Level) -> Settings:
    return of.model_copy(update={"rebuild": RebuildSettings(least=int(value))})


def _paces(facts: LevelFacts) -> list[int]:
    most = facts.settings.md.sync_speed_max
    return [one for one in (*REBUILD, most // WITH_ONE, most // WITH_NONE) if one <= most]


def _stripes(facts: LevelFacts) -> list[int]:
    each = stripe_cache_memory(1, facts.arrays.members) * facts.arrays.legs
    return [one for one in STRIPES if one * each <= facts.server.memory * MEMORY]


def _threads(facts: LevelFacts) -> list[int]:
    # every pool keeps its fewest threads, whatever the number in all
    least = facts.settings.nfsd.threads_min * facts.pools
    held = thread_memory(facts.settings.nfsd.max_block_size)
    return [one for one in THREADS if least <= one and one * held <= facts.server.memory * MEMORY]


def _fewest(facts: LevelFacts) -> list[int]:
    most = min([*_threads(facts), facts.settings.nfsd.threads_max])
    return [one for one in FEWEST if one * facts.pools <= most]


def _limits(facts: LevelFacts) -> list[int]:
    wanted = (64 * MIB, 256 * MIB, GIB, 4 * GIB)
    return [one for one in wanted if one <= facts.server.memory // 4]


def _port_cores(facts: LevelFacts) -> int:
    return max(facts.server.port_cores.values(), default=facts.server.cores)


def _halves(facts: LevelFacts) -> list[int]:
    most = _port_cores(facts)
    return [most >> shift for shift in range(most.bit_length())][:4]


def _below(values: tuple[int, ...], key: str) -> Callable[[LevelFacts], list[int]]:
    """What the driver can do is known by what the kernel began with: levels are below it."""
    return lambda facts: [one for one in values if one < int(facts.kernel.get(key, 0))]


def _no_parity(facts: LevelFacts) -> str | None:
    return None if facts.arrays.parity else "the pool has no parity array"


def _no_clients(facts: LevelFacts) -> str | None:
    return None if facts.load.clients else "only clients over the network make ports raise interrupts: give --client"


def _no_rebuild(facts: LevelFacts) -> str | None:
    return None if facts.load.rebuild else "only beside a rebuild does it do anything: add the goal rebuild"


def _no_smb(facts: LevelFacts) -> str | None:
    return None if facts.load.smb else "no goal is measured over SMB, such as smb-seq-read"


def _ring(direction: Direction, title: str) -> WhitelistEntry:
    return WhitelistEntry(
        f"ports.{direction}_ring",
        title,
        (f" {direction}", *FOLLOWING),
        "link",
        *field("ports", f"{direction}_ring"),
        lambda facts: [size for size in RINGS if size <= facts.rings.get(direction, 0)],
        obstacle=_no_clients,
        setting=f"ethtool -G PORT {direction}",
        may_refuse=True,
    )


WHITELIST: tuple[WhitelistEntry, ...] = (
    WhitelistEntry(
        "nfsd.threads",
        "NFS server threads",
        ("nfsdctl threads",),
        "none",
        *field("nfsd", "threads_max"),
        _threads,
        # nfs-utils 3.1: nfsdctl autostart
        lambda _: 16,
        reported=False,
    ),
    WhitelistEntry(
        "nfsd.threads_min",
        "threads that each pool of the NFS server keeps",
        ("nfsdctl threads",),
        "none",
        *field("nfsd", "threads_min"),
        _fewest,
        reported=False,
    ),
    WhitelistEntry(
        "nfsd.io_cache_read",
        "how the NFS server reads files",
        ("/nfsd/io_cache_read",),
        "none",
        *field("io", "read"),
        lambda _: IO_MODES,
        lambda _: BUFFERED,
        reported=False,
    ),
    WhitelistEntry(
        "nfsd.io_cache_write",
        "how the NFS server writes files",
        ("/nfsd/io_cache_write",),
        "none",
        *field("io", "write"),
        lambda _: IO_MODES,
        lambda _: BUFFERED,
        reported=False,
    ),
    WhitelistEntry(
        "md.stripe_cache_size",
        "stripe cache of each parity array",
        ("/md/stripe_cache_size",),
        "pause",
        *field("md", "stripe_cache_size"),
        _stripes,
        lambda _: 256,
        obstacle=_no_parity,
    ),
    WhitelistEntry(
        "md.group_thread_cnt",
        "worker threads of each parity array on each node",
        ("/md/group_thread_cnt",),
        "pause",
        *field("md", "group_thread_cnt"),
        lambda facts: [one for one in WORKERS if one <= facts.server.cores_per_node],
        lambda _: 0,
        obstacle=_no_parity,
    ),
    WhitelistEntry(
        "md.read_ahead_kib",
        "read-ahead of the pool in KiB",
        ("/queue/read_ahead_kb",),
        "none",
        *field("md", "read_ahead"),
        lambda _: list(READ_AHEAD),
        lambda _: 128,
    ),
    WhitelistEntry(
        "md.member_requests",
        "requests that wait in the queue of each drive",
        ("/queue/nr_requests",),
        "pause",
        *field("members", "requests"),
        _below(REQUESTS, "md.member_requests"),
    ),
    WhitelistEntry(
        "md.member_max_kib",
        "largest request to each drive in KiB",
        ("/queue/max_sectors_kb",),
        "none",
        *field("members", "max_kib"),
        _below(LARGEST, "md.member_max_kib"),
    ),
    WhitelistEntry(
        "md.rebuild_min_kib",
        "what a rebuild gets of each drive at least in KiB/s",
        ("/md/sync_speed_min",),
        "none",
        _rebuild,
        _with_rebuild,
        _paces,
        # kernel 7.2: dev.raid.speed_limit_min
        lambda _: 1000,
        _no_rebuild,
        reported=False,
    ),
    WhitelistEntry(
        "sysctl.dirty_bytes",
        "dirty page cache at which writers wait",
        ("/vm/dirty_bytes", "/vm/dirty_background_bytes"),
        "none",
        _dirty,
        _with_dirty,
        _limits,
        # kernel 7.2: vm.dirty_ratio is 20, and 0 of the limits in bytes means that
        lambda facts: facts.server.memory // 5 // PAGE * PAGE,
        reported=False,
    ),
    WhitelistEntry(
        "ports.rx_usecs",
        "microseconds that each network port waits before an interrupt",
        (" rx-usecs",),
        "none",
        *field("ports", "rx_usecs"),
        lambda facts: [*([ADAPTIVE] if facts.adaptive else []), *USECS],
        obstacle=_no_clients,
        may_refuse=True,
    ),
    WhitelistEntry(
        "ports.interrupt_cores",
        "cores of its node that take the interrupts of each network port",
        ("/smp_affinity_list",),
        "none",
        *field("ports", "interrupt_cores"),
        _halves,
        _port_cores,
        obstacle=_no_clients,
        may_refuse=True,
        reported=False,
    ),
    WhitelistEntry(
        "ports.most_queues",
        "queues of each network port at most",
        (" combined", *FOLLOWING),
        "link",
        *field("ports", "most_queues"),
        _halves,
        _port_cores,
        _no_clients,
        "ethtool -L PORT combined",
        may_refuse=True,
        reported=False,
    ),
    _ring("rx", "descriptors of each receive ring of the network ports"),
    _ring("tx", "descriptors of each transmit ring of the network ports"),
    # samba 4.25: smb2_server.c smbd_initialize_smb2 takes them for each connection
    WhitelistEntry(
        "smbd.max_credits",
        "credits of each connection over SMB",
        (),
        "none",
        *field("smbd", "max_credits"),
        lambda _: list(IN_FLIGHT),
        lambda _: CREDITS,
        _no_smb,
        "smb.conf: smb2 max credits",
    ),
    # samba 4.25: smb2_aio.c schedule_smb2_aio_read compares each request with them
    WhitelistEntry(
        "smbd.aio_min_bytes",
        "smallest read or write that smbd does asynchronously",
        (),
        "none",
        *field("smbd", "aio_min_bytes"),
        lambda _: list(ASYNCHRONOUS),
        lambda _: AIO_BYTES,
        _no_smb,
        "smb.conf: aio read size, aio write size",
    ),
)

LEFT_OUT: dict[str, str] = {
    "scheduler": "NVMe drives schedule requests themselves; it stays none",
    "largest read and write of smbd": "they are at 8 MiB, the most that Samba has, and a client may choose less",
}
"""What has an effect on speed and is not tried, by what an administrator calls it, with the reason."""
