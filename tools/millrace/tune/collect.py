# SPDX-License-Identifier: Apache-2.0
"""Which knobs a plan asks for on this server. Looks at sysfs for names only; writes nothing."""

from millrace import paths
from millrace.plan.model import Plan
from millrace.provision.model import Pool
from millrace.share.nfs import RDMA_LISTENER, has_rdma_device
from millrace.tune.devices import array_device, block, member_drives
from millrace.tune.knob import Knob, ListenerKnob

# KiB/s: a rebuild beside busy clients still ends within a day or two.
SPEED_LIMIT_MIN = 100_000


def collect(plan: Plan, pool: Pool) -> tuple[list[Knob], list[str]]:
    """All knobs in the order in which they are set, and a warning for each array that is not there."""
    knobs: list[Knob] = []
    warnings: list[str] = []
    drives: set[str] = set()
    for record in pool.arrays:
        device = array_device(record.array.name)
        if device is None:
            warnings.append(f"array {record.array.name} is not assembled: its settings are left alone")
            continue
        drives |= member_drives(device)
        if record.array.level in ("raid5", "raid6"):
            knobs += _parity(plan, device)
        if plan.filesystem.device == f"/dev/md/millrace-{record.array.name}":
            knobs.append(_read_ahead(plan, device))
    for drive in sorted(drives):
        knobs += _member(drive)
    return knobs + _sysctl(plan) + _listener(), warnings


def _parity(plan: Plan, device: str) -> list[Knob]:
    directory = block(device) / "md"
    wanted = {
        "group_thread_cnt": (plan.md.group_thread_cnt, "one thread computes all parity unless workers are added"),
        "stripe_cache_size": (plan.md.stripe_cache_size, "the default holds two full stripes, writes wait for a third"),
        "sync_speed_max": (plan.md.sync_speed_max, "the default of 200 MB/s rebuilds a 15 TB drive in 21 hours"),
    }
    return [Knob(directory / name, str(value), reason) for name, (value, reason) in wanted.items()]


def _read_ahead(plan: Plan, device: str) -> Knob:
    reason = "a sequential reader keeps every data drive busy"
    return Knob(block(device) / "queue/read_ahead_kb", str(plan.md.read_ahead), reason)


def _member(drive: str) -> list[Knob]:
    queue = block(drive) / "queue"
    return [
        # First: a scheduler may bring its own throttling with it.
        Knob(queue / "scheduler", "none", "an NVMe drive orders its own queues"),
        Knob(queue / "wbt_lat_usec", "0", "writeback throttling holds back md's writes to its members"),
    ]


def _sysctl(plan: Plan) -> list[Knob]:
    limits = {
        "dev.raid.speed_limit_min": str(SPEED_LIMIT_MIN),
        "dev.raid.speed_limit_max": str(plan.md.sync_speed_max),
    }
    settings = {**limits, **plan.sysctl}
    reason = "sysctl of the approved plan"
    return [Knob(paths.ROOT / "proc/sys" / key.replace(".", "/"), value, reason) for key, value in settings.items()]


def _listener() -> list[Knob]:
    """nfsd that started before its RDMA device appeared listens on TCP only."""
    directory = paths.ROOT / "proc/fs/nfsd"
    try:
        serving = (directory / "threads").read_text().strip() not in ("", "0")
    except OSError:
        serving = False
    if not (serving and has_rdma_device()):
        return []
    return [ListenerKnob(directory / "portlist", RDMA_LISTENER, "an RDMA device is there and nfsd does not use it")]
