# SPDX-License-Identifier: Apache-2.0
"""The latency of NFS calls: the kernel sums it up where its tracepoint has a histogram trigger.

kernel 7.2, include/trace/events/sunrpc.h: svc_stats_latency has the microseconds from the arrival of a call to its
reply. The trigger costs a fraction of a microsecond for each call and stays set after `millrace watch` has ended.
"""

import re

from millrace.system import paths, sysfs

EVENT = "sys/kernel/tracing/events/sunrpc/svc_stats_latency"
# By CPU: few entries, however many clients there are.
KEYS = "hist:keys=common_cpu"
TRIGGER = f"{KEYS}:vals=execute"
_ENTRY = re.compile(r"hitcount:\s*(\d+)\s+execute:\s*(\d+)")
MICRO = 1e-6


def enable() -> None:
    """Set the trigger; do nothing without the privileges, or where there is no nfsd.

    A trigger that is set is left alone: to set it again would begin at 0, for all readers. The kernel lists it with
    additions of its own.
    """
    trigger = paths.ROOT / EVENT / "trigger"
    try:
        if KEYS not in trigger.read_text():
            sysfs.write(trigger, TRIGGER)
    except OSError:
        return


def calls() -> tuple[int, float] | None:
    """Return the calls since the trigger was set, and the seconds that they took together; None without it."""
    text = sysfs.text(paths.ROOT / EVENT / "hist")
    if text is None or "trigger info" not in text:
        return None
    entries = [(int(hits), int(micro)) for hits, micro in _ENTRY.findall(text)]
    return sum(hits for hits, _ in entries), sum(micro for _, micro in entries) * MICRO
