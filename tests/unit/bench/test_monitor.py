# SPDX-License-Identifier: Apache-2.0
"""A run ends before it does harm."""

from pathlib import Path

import pytest

from millrace.bench.run.monitor import Watch


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
