# SPDX-License-Identifier: Apache-2.0
"""The whitelist: what may be tried, its levels on a server, and what is left out with the reason. Pure.

Nothing here makes an answer come before the data is safe, and nothing is fixed when the file system is made.
"""

from collections.abc import Callable
from dataclasses import dataclass

from millrace.plan.md import DataArrays
from millrace.plan.memory import stripe_cache_memory, thread_memory
from millrace.plan.server import Server
from millrace.plan.settings import Settings
from millrace.system.text import GIB, MIB
from millrace.tuner.model import Cost

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


@dataclass(frozen=True)
class Facts:
    """What levels depend on: the settings of the plan, and of the kernel before any of them was set, by key."""

    settings: Settings
    server: Server
    arrays: DataArrays
    kernel: dict[str, int]

    @property
    def pools(self) -> int:
        """The thread pools of nfsd."""
        return self.server.compute_nodes if self.settings.nfsd.pool_mode == "pernode" else 1


@dataclass(frozen=True)
class Entry:
    """One line of the whitelist; `key` is that of the policy.

    `files` are the ends of the paths that it sets, or the command; the first is the one that is read. `value` of the
    plan is None where the plan leaves it to the kernel. `default` is the kernel's, where that is documented.
    """

    key: str
    title: str
    files: tuple[str, ...]
    cost: Cost
    value: Callable[[Settings], int | None]
    change: Callable[[Settings, int], Settings]
    levels: Callable[[Facts], list[int]]
    default: Callable[[Facts], int | None] = lambda _: None
    parity: bool = False


def _md(key: str) -> tuple[Callable[[Settings], int | None], Callable[[Settings, int], Settings]]:
    return (
        lambda of: int(getattr(of.md, key)),
        lambda of, value: of.model_copy(update={"md": of.md.model_copy(update={key: value})}),
    )


def _member(key: str) -> tuple[Callable[[Settings], int | None], Callable[[Settings, int], Settings]]:
    return (
        lambda of: getattr(of.members, key),
        lambda of, value: of.model_copy(update={"members": of.members.model_copy(update={key: value})}),
    )


def _nfsd(key: str) -> tuple[Callable[[Settings], int | None], Callable[[Settings, int], Settings]]:
    return (
        lambda of: int(getattr(of.nfsd, key)),
        lambda of, value: of.model_copy(update={"nfsd": of.nfsd.model_copy(update={key: value})}),
    )


def _dirty(of: Settings) -> int | None:
    text = of.sysctl.get("vm.dirty_bytes", "")
    return int(text) if text.isdigit() else None


def _with_dirty(of: Settings, value: int) -> Settings:
    limits = {"vm.dirty_background_bytes": str(value // 4), "vm.dirty_bytes": str(value)}
    return of.model_copy(update={"sysctl": {**of.sysctl, **limits}})


def _stripes(facts: Facts) -> list[int]:
    each = stripe_cache_memory(1, facts.arrays.members) * facts.arrays.legs
    return [one for one in STRIPES if one * each <= facts.server.memory * MEMORY]


def _threads(facts: Facts) -> list[int]:
    # every pool keeps its fewest threads, whatever the number in all
    least = facts.settings.nfsd.threads_min * facts.pools
    held = thread_memory(facts.settings.nfsd.max_block_size)
    return [one for one in THREADS if least <= one and one * held <= facts.server.memory * MEMORY]


def _fewest(facts: Facts) -> list[int]:
    most = min([*_threads(facts), facts.settings.nfsd.threads_max])
    return [one for one in FEWEST if one * facts.pools <= most]


def _limits(facts: Facts) -> list[int]:
    wanted = (64 * MIB, 256 * MIB, GIB, 4 * GIB)
    return [one for one in wanted if one <= facts.server.memory // 4]


def _below(values: tuple[int, ...], key: str) -> Callable[[Facts], list[int]]:
    """What the driver can do is known by what the kernel began with: levels are below it."""
    return lambda facts: [one for one in values if one < facts.kernel.get(key, 0)]


WHITELIST: tuple[Entry, ...] = (
    Entry(
        "nfsd.threads",
        "NFS server threads",
        ("nfsdctl threads",),
        "none",
        *_nfsd("threads_max"),
        _threads,
        # nfs-utils 3.1: nfsdctl autostart
        lambda _: 16,
    ),
    Entry(
        "nfsd.threads_min",
        "threads that each pool of the NFS server keeps",
        ("nfsdctl threads",),
        "none",
        *_nfsd("threads_min"),
        _fewest,
    ),
    Entry(
        "md.stripe_cache_size",
        "stripe cache of each parity array",
        ("/md/stripe_cache_size",),
        "pause",
        *_md("stripe_cache_size"),
        _stripes,
        lambda _: 256,
        parity=True,
    ),
    Entry(
        "md.group_thread_cnt",
        "worker threads of each parity array on each node",
        ("/md/group_thread_cnt",),
        "pause",
        *_md("group_thread_cnt"),
        lambda facts: [one for one in WORKERS if one <= facts.server.cores_per_node],
        lambda _: 0,
        parity=True,
    ),
    Entry(
        "md.read_ahead_kib",
        "read-ahead of the pool in KiB",
        ("/queue/read_ahead_kb",),
        "none",
        *_md("read_ahead"),
        lambda _: list(READ_AHEAD),
        lambda _: 128,
    ),
    Entry(
        "md.member_requests",
        "requests that wait in the queue of each drive",
        ("/queue/nr_requests",),
        "pause",
        *_member("requests"),
        _below(REQUESTS, "md.member_requests"),
    ),
    Entry(
        "md.member_max_kib",
        "largest request to each drive in KiB",
        ("/queue/max_sectors_kb",),
        "none",
        *_member("max_kib"),
        _below(LARGEST, "md.member_max_kib"),
    ),
    Entry(
        "sysctl.dirty_bytes",
        "dirty page cache at which writers wait",
        ("/vm/dirty_bytes", "/vm/dirty_background_bytes"),
        "none",
        _dirty,
        _with_dirty,
        _limits,
        # kernel 7.2: vm.dirty_ratio is 20
        lambda facts: facts.server.memory // 5 // PAGE * PAGE,
    ),
)

LEFT_OUT: dict[str, str] = {
    "sync_speed_min": "no rebuild runs while a server is measured, so nothing would show what it does",
    "scheduler": "NVMe drives schedule requests themselves; it stays none",
    "NIC queues, rings and coalescing": "a driver may take the link down for a change, and clients with it",
    "interrupts of network ports": "loopback measurements raise none of them; they follow the cores of the port",
    "io_cache_read, io_cache_write of nfsd": "debugfs, for all shares at once, and refused under lockdown",
    "asynchronous I/O and credits of smbd": "they are read when smbd starts, and a restart disconnects all clients",
}
"""What has an effect on speed and is not tried, by what an administrator calls it, with the reason."""
