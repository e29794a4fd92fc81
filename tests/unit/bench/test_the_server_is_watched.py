# SPDX-License-Identifier: Apache-2.0
"""Counters become shares; heat, errors and a lost drive end a run."""

from pathlib import Path

import pytest

from millrace.bench.result.figures import middle
from millrace.bench.result.model import Moment
from millrace.bench.run.monitor import Watch
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


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """Two drives and their array, all well."""
    for drive in ("nvme0n1", "nvme1n1"):
        sensor = tmp_path / "sys/class/block" / drive / "device/hwmon3"
        sensor.mkdir(parents=True)
        (sensor / "temp1_input").write_text("40850\n")
        (sensor / "temp1_max").write_text("69850\n")
        member = tmp_path / "sys/class/block/md127/md" / f"dev-{drive}p1"
        member.mkdir(parents=True)
        (member / "errors").write_text("3\n")
    (tmp_path / "sys/class/block/md127/md/degraded").write_text("0\n")
    return tmp_path


def watch(root: Path) -> Watch:
    return Watch([("nvme0n1", "A"), ("nvme1n1", "B")], [("md127", "data")], root)


def test_a_well_server_is_left_alone(box: Path) -> None:
    assert watch(box).complaint() is None
    assert watch(box).hottest() == 40.85


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("nvme1n1/device/hwmon3/temp1_input", "70000", "drive B has 70 degrees Celsius, its limit is 70"),
        ("md127/md/dev-nvme0n1p1/errors", "5", "nvme0n1p1 in array data counted 2 new errors"),
        ("md127/md/degraded", "1", "array data lost a drive"),
    ],
)
def test_a_run_ends_before_it_does_harm(box: Path, path: str, text: str, complaint: str) -> None:
    here = watch(box)
    (box / "sys/class/block" / path).write_text(text)
    assert here.complaint() == complaint


def test_a_drive_that_is_gone_ends_a_run(box: Path) -> None:
    here = watch(box)
    (box / "sys/class/block/nvme0n1").rename(box / "gone")
    assert here.complaint() == "drive A is gone"


def test_a_drive_without_a_limit_has_a_careful_one(box: Path) -> None:
    (box / "sys/class/block/nvme0n1/device/hwmon3/temp1_max").write_text("65261850")
    assert watch(box).temperature("nvme0n1") == (40.85, 70.0)
