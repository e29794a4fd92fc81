# SPDX-License-Identifier: Apache-2.0
"""Records of a server that sources of metrics read."""

from millrace.observe.alert.model import Alert, Report
from millrace.observe.health.deliveries import Delivery
from millrace.observe.health.model import Level
from millrace.system.mounts import mounted
from tests.fakes.files.box import Box

# The groups as fs/xfs/xfs_stats.c writes them.
XFS = """extent_alloc 812 99120 11 4096
abt 0 0 0 0
blk_map 91 820 12 700 3 911 0
bmbt 0 0 0 0
dir 40 30 20 10
trans 5 900 7
ig 100 80 1 20 0 3 50
log 60 4000 2 33 31
push_ail 950 4 0 700 0 10 0 25 0 9
xstrat 700 0
rw 820 91
attr 3 0 0 0
icluster 4 4 60
vnodes 21 0 0 0 100 100 100 0
buf 2000 30 1970 2 4 30 0 30 1
abtb2 100 900 10 9 0 0 0 0 0 0 0 0 0 0 20
qm 0 0 0 0 0 0 0 0
xpc 405995520 3221225472 9000000000
defer_relog 12
debug 0
"""

POOL_STATS = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 70 70 60 0\n1 9 9 9 0\n"
AT = "2026-11-20T12:00:00+00:00"


def alert_report() -> Report:
    wrong = Alert(
        key="arrays/data", check="arrays", subject="data", level=Level.FAIL, sentence="x", todo=None, since=AT
    )
    return Report(
        open=[wrong],
        deliveries=[
            Delivery(route="ops", delivered=AT),
            Delivery(route="hook", problem="the host does not respond", dropped=3),
        ],
        queued={"hook": 7},
        oldest={"hook": AT},
        tests=[],
    )


def xfs_stats(box: Box, text: str) -> None:
    """The statistics of the file system that is mounted as the pool, beside those of another."""
    mount = mounted("/srv/pool")
    assert mount is not None
    device = (box.root / "sys/dev/block" / mount.device).resolve().name
    box.tree.write(f"sys/fs/xfs/{device}/stats/stats", text)
    box.tree.write("sys/fs/xfs/other/stats/stats", text.replace("9000000000", "1"))
    box.tree.write("sys/fs/xfs/stats/stats", text.replace("9000000000", "2"))
