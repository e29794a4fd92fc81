# SPDX-License-Identifier: Apache-2.0
"""Two looks at the counters of the kernel make a moment."""

from pathlib import Path

import pytest

from millrace.bench.result.figures import middle
from millrace.bench.result.model import Moment
from millrace.bench.run.samples import Sampler

STAT = "cpu  {user} 0 100 {idle} 0 {irq} 0 0 0 0\ncpu0 {user} 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 {idle} 0 0 0 0 0 0\n"


DISK = " 259 0 {name} 10 0 {read} 0 10 0 0 0 0 {busy} {weighted} 0 0 0 0 0 0\n"


POOLS = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 {a} {a} {w} 0\n1 {a} {a} {a} 0\n"


MOUNTS = """device x mounted on /other with fstype nfs4 statvers=1.1
\t        READ: 900 900 0 1 1 99999 1 1 0
device 127.0.0.1:/srv/pool/x mounted on /run/m with fstype nfs4 statvers=1.1
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0 0
\t        READ: {ops} {ops} 0 100 100 {queue} 5 7 0
"""


def counters(root: Path, step: int) -> None:
    """A kernel that counted `step` seconds of the same load."""
    for path, text in {
        "proc/stat": STAT.format(user=150 * step, idle=40 * step, irq=10 * step),
        "proc/diskstats": DISK.format(name="nvme0n1", read=2000 * step, busy=500 * step, weighted=4000 * step)
        + DISK.format(name="nvme1n1", read=2000 * step, busy=900 * step, weighted=4000 * step)
        + DISK.format(name="md127", read=4000 * step, busy=1000 * step, weighted=8000 * step),
        "proc/fs/nfsd/pool_stats": POOLS.format(a=500 * step, w=400 * step),
        "proc/self/mountstats": MOUNTS.format(ops=100 * step, queue=300 * step),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_two_looks_make_a_moment(tmp_path: Path) -> None:
    sampler = Sampler(["nvme0n1", "nvme1n1"], "md127", "/run/m", tmp_path)
    counters(tmp_path, 1)
    before = sampler.look(10.0)
    counters(tmp_path, 2)
    moment = sampler.moment(before, sampler.look(11.0), 9.0)
    assert moment.at == 2.0
    assert moment.read == 4000 * 512
    assert moment.written == 0
    assert moment.cpu == pytest.approx(0.8)
    assert moment.interrupts == pytest.approx(0.05)
    assert moment.busiest == 1.0
    assert (moment.drives_busy, moment.drives_depth, moment.array_busy) == (0.9, 8.0, 1.0)
    assert moment.nfsd_queued == pytest.approx(0.1)
    assert moment.rpc_queue == pytest.approx(0.003)


def test_what_a_kernel_does_not_count_is_unknown_and_not_zero(tmp_path: Path) -> None:
    sampler = Sampler(["nvme0n1"], None, "/run/m", tmp_path)
    moment = sampler.moment(sampler.look(1.0), sampler.look(2.0), 0.0)
    assert moment == Moment(at=2.0)


def test_the_middle_of_a_rung_is_a_median_and_keeps_what_is_unknown() -> None:
    found = middle([Moment(at=1, cpu=0.1), Moment(at=2, cpu=0.9), Moment(at=3, cpu=0.5)])
    assert found == Moment(at=3, cpu=0.5)
    assert middle([]) is None
