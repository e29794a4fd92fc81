# SPDX-License-Identifier: Apache-2.0
"""Two looks at the counters of the kernel make a moment."""

from dataclasses import replace
from pathlib import Path

import pytest

from millrace.measure.bench.result.figures import median_moment
from millrace.measure.bench.result.model import Moment
from millrace.measure.bench.run.samples import RungSample, Sampler

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
    before = sampler.sample(10.0)
    counters(tmp_path, 2)
    moment = sampler.moment(before, sampler.sample(11.0), 9.0)
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
    moment = sampler.moment(sampler.sample(1.0), sampler.sample(2.0), 0.0)
    assert moment == Moment(at=2.0)


def test_the_middle_of_a_rung_is_a_median_and_keeps_what_is_unknown() -> None:
    found = median_moment([Moment(at=1, cpu=0.1), Moment(at=2, cpu=0.9), Moment(at=3, cpu=0.5)])
    assert found == Moment(at=3, cpu=0.5)
    assert median_moment([]) is None


def test_what_drives_write_is_not_what_they_read(tmp_path: Path) -> None:
    # the fields of the oldest kernels; later ones have more
    line = " 259 0 {} 9 9 {} 9 9 9 {} 9 9 {} {}\n"

    def disks(*values: tuple[str, int, int, int, int]) -> None:
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc/diskstats").write_text("short line\n" + "".join(line.format(*one) for one in values))

    sampler = Sampler(["a", "b", "gone"], "md1", None, tmp_path)
    disks(("a", 100, 10, 5, 7), ("b", 200, 20, 5, 7), ("md1", 0, 0, 0, 0))
    before = sampler.sample(3.0)
    disks(("a", 110, 14, 1005, 1007), ("b", 220, 26, 5005, 7), ("md1", 0, 0, 9000, 0))
    moment = sampler.moment(before, sampler.sample(5.0), 1.0)
    assert (moment.at, moment.read, moment.written) == (4.0, 30 * 512 / 2, 10 * 512 / 2)
    # nothing is more than always busy; the mean depth is that of all drives
    assert (moment.drives_busy, moment.array_busy, moment.drives_depth) == (1.0, 1.0, 0.5)
    assert moment.cpu is None and moment.nfsd_queued is None and moment.rpc_queue is None


def test_waiting_for_disks_is_idle_and_soft_interrupts_are_interrupts(tmp_path: Path) -> None:
    def sample(at: float, *ticks: int) -> RungSample:
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc/stat").write_text(f"cpu  {' '.join(map(str, ticks))} 99 99\nintr 1\n")
        return Sampler([], None, None, tmp_path).sample(at)

    before = sample(0, 0, 0, 0, 0, 0, 0, 0, 0)
    # user nice system idle iowait irq softirq steal
    now = sample(1, 10, 10, 10, 20, 20, 5, 15, 10)
    moment = Sampler([], None, None, tmp_path).moment(before, now, 0)
    assert (moment.cpu, moment.interrupts, moment.busiest) == (0.6, 0.2, None)
    # a clock that stood still says nothing about load
    still = Sampler([], None, None, tmp_path).moment(now, now, 0)
    assert (still.cpu, still.interrupts) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("before", "now", "share"),
    [("100 40", "200 90", 0.5), ("100 40", "100 40", None), ("200 40", "100 40", None), ("0 0", "10 0", 1.0)],
)
def test_requests_that_waited_for_a_thread_are_those_without_one_woken(
    tmp_path: Path, before: str, now: str, share: float | None
) -> None:
    def sample(text: str) -> RungSample:
        (tmp_path / "proc/fs/nfsd").mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/fs/nfsd/pool_stats").write_text(f"# pool packets\n\n0 7 {text} 0\n")
        return Sampler([], None, None, tmp_path).sample(0)

    assert Sampler([], None, None, tmp_path).moment(sample(before), sample(now), 0).nfsd_queued == share


def test_a_mount_that_answered_nothing_has_no_time_in_the_queue(tmp_path: Path) -> None:
    sampler = Sampler([], None, "/run/m", tmp_path)
    counters(tmp_path, 1)
    sample = sampler.sample(1.0)
    assert sample.rpc == (100, 300)
    assert sampler.moment(sample, sample, 0).rpc_queue is None
    assert sampler.moment(replace(sample, rpc=None), sample, 0).rpc_queue is None
    assert sampler.moment(sample, replace(sample, rpc=None), 0).rpc_queue is None
