# SPDX-License-Identifier: Apache-2.0
"""Settings of our arrays and of the drives under them, by the kernel names of this boot."""

from millrace.plan.defaults import DegradedReads, MemberSettings
from millrace.plan.labels import array_path
from millrace.plan.model import MdSettings, Role
from millrace.storage.array import md, resync
from millrace.storage.array.devices import array_device, backend_drives, block, member_drives, requests
from millrace.storage.record.model import Pool
from millrace.tune.discard import discard_settings
from millrace.tune.knob import Knob, Setting

# Stripes of 4 KiB that a rebuild keeps in flight beside clients; the kernel's 32 hold it to about 1 GB/s.
SYNC_DEPTH = 512
_KERNELS = MemberSettings()


def array_settings(md: MdSettings, pool: Pool, members: MemberSettings = _KERNELS) -> tuple[list[Setting], list[str]]:
    """Return the settings in the order in which they are set, and a warning for each array that is missing."""
    settings: list[Setting] = []
    warnings: list[str] = []
    drives: set[str] = set()
    for record in pool.arrays:
        device = array_device(record.array.name)
        if device is None:
            warnings.append(f"array {record.array.name} is not assembled; its settings are not changed")
            continue
        drives |= member_drives(device)
        if record.array.level in ("raid5", "raid6"):
            settings += _parity(md, device)
        if record.array.role is Role.DATA:
            settings += discard_settings(pool, device)
        if pool.filesystem.device == array_path(record.array.name):
            settings.append(_read_ahead(md, device))
    # how the queue of an external device is best set is for its maker to say
    settings += [_read_ahead(md, device) for device in backend_drives(pool, Role.DATA)]
    for drive in sorted(drives):
        for queue in requests(drive):
            settings += _member(queue, members)
    return settings, warnings


def read_settings(wanted: DegradedReads) -> list[Setting]:
    """Return how reads of degraded arrays go; nothing where the raid456 that runs is Debian's, or none runs."""
    path = md.degraded_reads_switch()
    reason = "reads of a degraded array bypass the stripe cache, or the policy has switched that off"
    return [Knob(path, "Y" if wanted.direct else "N", reason, default="Y")] if path.exists() else []


def _parity(md: MdSettings, device: str) -> list[Setting]:
    directory = block(device) / "md"
    # what it is limited to is set again at its end
    checked = resync.action(device) == resync.CHECK
    limits = [] if checked else [_speed(md, device)]
    return [
        Knob(
            directory / "group_thread_cnt",
            str(md.group_thread_cnt),
            "the default of one thread computes all parity",
            "0",
        ),
        Knob(
            directory / "stripe_cache_size",
            str(md.stripe_cache_size),
            "the default caches two full stripes only, and further writes wait",
            "256",
        ),
        *limits,
        Knob(
            directory / "sync_io_depth",
            str(SYNC_DEPTH),
            "the default of 32 stripes in flight keeps a rebuild below the speed of the drives",
            "system",
        ),
    ]


def _speed(md: MdSettings, device: str) -> Setting:
    return Knob(
        block(device) / "md/sync_speed_max",
        str(md.sync_speed_max),
        "the default of 200 MB/s rebuilds a 15 TB drive in 21 hours",
        "system",
    )


def _read_ahead(md: MdSettings, device: str) -> Setting:
    reason = "keeps all data drives busy for a sequential reader"
    return Knob(block(device) / "queue/read_ahead_kb", str(md.read_ahead), reason)


def _member(device: str, members: MemberSettings) -> list[Setting]:
    queue = block(device) / "queue"
    reason = "set by the policy"
    sizes = [("nr_requests", members.requests), ("max_sectors_kb", members.max_kib)]
    return [
        # First: a scheduler may bring its own throttling with it.
        Knob(queue / "scheduler", "none", "NVMe drives schedule requests themselves"),
        Knob(queue / "wbt_lat_usec", "0", "writeback throttling slows down md writes to the members", "2000"),
        *(Knob(queue / name, str(value), reason) for name, value in sizes if value is not None),
    ]
