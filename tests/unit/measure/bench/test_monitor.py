# SPDX-License-Identifier: Apache-2.0
"""A run ends before it does harm."""

import time
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest

from millrace.measure.bench.result.model import Moment
from millrace.measure.bench.run.monitor import Monitor, RunWatch
from millrace.measure.bench.run.samples import RungSample, Sampler


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


def watch(root: Path) -> RunWatch:
    return RunWatch([("nvme0n1", "A"), ("nvme1n1", "B")], [("md127", "data")], root)


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


@pytest.mark.parametrize("place", ["device/hwmon3", "device/hwmon/hwmon3", "device/device/hwmon/hwmon3"])
def test_a_sensor_is_found_where_each_kind_of_drive_has_it(tmp_path: Path, place: str) -> None:
    sensor = tmp_path / "sys/class/block/sda" / place
    sensor.mkdir(parents=True)
    (sensor / "temp1_input").write_text("51000")
    assert watch(tmp_path).temperature("sda") == (51.0, 70.0)
    (sensor / "temp1_max").write_text("65000")
    assert watch(tmp_path).temperature("sda") == (51.0, 65.0)
    for nonsense in ("0", "120000"):
        (sensor / "temp1_max").write_text(nonsense)
        assert watch(tmp_path).temperature("sda") == (51.0, 70.0)
    (sensor / "temp1_max").write_text("1")
    assert watch(tmp_path).temperature("sda") == (51.0, 0.001)


def test_a_drive_without_a_sensor_is_never_too_hot(tmp_path: Path) -> None:
    (tmp_path / "sys/class/block/sda/device").mkdir(parents=True)
    here = RunWatch([("sda", "A")], [], tmp_path)
    assert here.temperature("sda") == (None, 70.0)
    assert here.hottest() is None and here.complaint() is None


def test_errors_that_a_drive_counts_itself_end_a_run(box: Path) -> None:
    count = box / "sys/class/block/nvme1n1/device/ioerr_cnt"
    count.write_text("0x1f\n")
    here = watch(box)
    assert here.complaint() is None
    count.write_text("0x20\n")
    assert here.complaint() == "drive B counted 1 new errors"
    # what was counted before the first look is not new
    count.unlink()
    quiet = watch(box)
    count.write_text("0x20\n")
    assert quiet.complaint() is None


def test_warmest_drive_is_reported(box: Path) -> None:
    (box / "sys/class/block/nvme1n1/device/hwmon3/temp1_input").write_text("45000")
    assert watch(box).hottest() == 45.0


class Looks(Sampler):
    """A sampler whose looks are numbered."""

    def __init__(self) -> None:
        super().__init__([], None)
        self.pairs: list[tuple[float, float]] = []
        self.count = 0

    def sample(self, at: float) -> RungSample:
        self.count += 1
        return RungSample(self.count, [], {}, None, None)

    def moment(self, before: RungSample, now: RungSample, began: float) -> Moment:
        assert 0 < began <= time.monotonic()
        self.pairs.append((before.at, now.at))
        return Moment(at=now.at)


def test_moments_count_only_while_a_repeat_is_measured(box: Path) -> None:
    sampler = Looks()
    monitor = Monitor(sampler, watch(box), Event())
    monitor.rung("/run/m")
    assert sampler.mount == "/run/m"
    monitor._tick()
    assert sampler.count == 0
    monitor.record(True)
    for _ in range(3):
        monitor._tick()
    monitor.record(False)
    monitor._tick()
    monitor.record(True)
    for _ in range(2):
        monitor._tick()
    # nothing from before a pause to after it
    assert sampler.pairs == [(1, 2), (2, 3), (4, 5)]
    assert monitor.moments() == [Moment(at=at, temperature=40.85) for at in (2, 3, 5)]
    monitor.rung(None)
    assert monitor.moments() == [] and sampler.mount is None
    monitor._tick()
    assert monitor.moments() == []


@pytest.mark.parametrize(("many", "kept"), [(1, 1), (300, 300), (301, 151), (900, 300)])
def test_a_chart_has_no_more_than_300_moments_evenly_spread(box: Path, many: int, kept: int) -> None:
    monitor = Monitor(Looks(), watch(box), Event())
    monitor.rung(None)
    monitor.record(True)
    for _ in range(many + 1):
        monitor._tick()
    found = [one.at for one in monitor.moments()]
    assert len(found) == kept
    assert found[0] == 2 and len({b - a for a, b in pairwise(found)}) <= 1


def test_harm_stops_the_run_once_with_its_reason(box: Path) -> None:
    stop = Event()
    monitor = Monitor(Looks(), watch(box), stop)
    monitor._tick()
    assert not stop.is_set() and monitor.reason is None
    (box / "sys/class/block/md127/md/degraded").write_text("1")
    monitor._tick()
    assert stop.is_set() and monitor.reason == "array data lost a drive"
    (box / "sys/class/block/nvme0n1").rename(box / "gone")
    monitor._tick()
    assert monitor.reason == "array data lost a drive"


def test_a_stop_of_the_user_has_no_reason_of_the_hardware(box: Path) -> None:
    stop = Event()
    monitor = Monitor(Looks(), watch(box), stop)
    stop.set()
    (box / "sys/class/block/md127/md/degraded").write_text("1")
    monitor._tick()
    assert monitor.reason is None


def test_it_looks_until_it_is_closed(box: Path) -> None:
    stop = Event()
    monitor = Monitor(Looks(), watch(box), stop, period=0.001)
    (box / "sys/class/block/md127/md/degraded").write_text("1")
    monitor.start()
    assert stop.wait(10)
    monitor.close()
    assert not monitor.is_alive()
    # one that was never started has nothing to wait for
    Monitor(Looks(), watch(box), Event()).close()
