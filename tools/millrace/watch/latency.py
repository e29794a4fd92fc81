# SPDX-License-Identifier: Apache-2.0
"""How long nfsd takes for a call: the kernel adds it up where its tracepoint has a histogram trigger.

kernel 7.2, include/trace/events/sunrpc.h: svc_stats_latency has the microseconds from the arrival of a call to its
answer. The trigger costs a fraction of a microsecond a call and stays after whoever looked first.
"""

import re

from millrace import paths
from millrace.system import sysfs

EVENT = "sys/kernel/tracing/events/sunrpc/svc_stats_latency"
# By CPU: few entries, however many clients there are.
KEYS = "hist:keys=common_cpu"
TRIGGER = f"{KEYS}:vals=execute"
_ENTRY = re.compile(r"hitcount:\s*(\d+)\s+execute:\s*(\d+)")
MICRO = 1e-6


def enable() -> None:
    """Let the kernel count from now on; nothing happens to whoever may not, or where there is no nfsd.

    A trigger that is set is left alone: once more would begin at 0, for everybody who looks. The kernel lists it with
    what it added by itself.
    """
    trigger = paths.ROOT / EVENT / "trigger"
    try:
        if KEYS not in trigger.read_text():
            trigger.write_text(TRIGGER)
    except OSError:
        return


def calls() -> tuple[int, float] | None:
    """Calls since it counts, and the seconds that they took together; None where it does not."""
    text = sysfs.text(paths.ROOT / EVENT / "hist")
    if text is None or "trigger info" not in text:
        return None
    entries = [(int(hits), int(micro)) for hits, micro in _ENTRY.findall(text)]
    return sum(hits for hits, _ in entries), sum(micro for _, micro in entries) * MICRO
