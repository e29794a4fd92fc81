# SPDX-License-Identifier: Apache-2.0
"""An external device that is missing, there twice or read-only is a finding; a pool on arrays has none of these."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import arrays, backend, filesystem
from millrace.observe.health.checks import pool as pool_check
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.heartbeat import Heartbeat
from tests.fakes.samples import add_external, external_pool, pool


def host(of: Pool) -> Host:
    found = Host(uptime=lambda: 10_000.0)
    found.pool = of
    return found


def partition(root: Path, name: str, linked: bool = True) -> Path:
    there = add_external(root, name, linked=linked)
    (there / "ro").write_text("0\n")
    return there


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/mountinfo").write_text("22 1 8:3 / / rw shared:1 - ext4 /dev/sda3 rw\n")
    return tmp_path


def only(found: list[HealthFinding]) -> tuple[Level, str, str | None]:
    (one,) = found
    return one.level, one.sentence, one.todo


def test_a_device_that_is_there_is_no_worry(root: Path) -> None:
    partition(root, "vda1")
    assert only(backend.check(host(external_pool("VOL")))) == (Level.OK, "External device VOL (data) is there.", None)


@pytest.mark.usefixtures("root")
def test_a_device_that_is_missing_before_the_mount_is_started_again() -> None:
    assert only(backend.check(host(external_pool("VOL")))) == (
        Level.FAIL,
        "External device VOL (data) is missing.",
        "Connect VOL again, then: systemctl restart millrace-assemble",
    )


def test_a_device_that_vanished_under_the_pool_needs_a_restart(root: Path) -> None:
    (root / "proc/1/mountinfo").write_text("90 22 9:1 / /srv/pool rw shared:50 - xfs /dev/vda1 rw\n")
    level, _, todo = only(backend.check(host(external_pool("VOL"))))
    assert (level, todo) == (Level.FAIL, "Connect VOL again, then restart the server: systemctl reboot")


def test_a_log_that_is_missing_is_named_with_what_it_is(root: Path) -> None:
    partition(root, "vda1")
    data, log = backend.check(host(external_pool("VOL", "VLOG")))
    assert (data.level, log.sentence) == (Level.OK, "External device VLOG (log) is missing.")


def test_a_snapshot_of_the_device_is_a_failure_before_the_next_start(root: Path) -> None:
    partition(root, "vda1")
    partition(root, "vdb1", linked=False)
    level, sentence, todo = only(backend.check(host(external_pool("VOL"))))
    assert (level, sentence) == (Level.FAIL, "External device VOL (data) is there 2 times: vda1, vdb1.")
    assert todo is not None and todo.startswith("Disconnect the snapshot or the second path")


def test_a_device_that_may_not_be_written_is_a_failure(root: Path) -> None:
    (partition(root, "vda1") / "ro").write_text("1\n")
    assert only(backend.check(host(external_pool("VOL"))))[:2] == (
        Level.FAIL,
        "External device VOL (data) is read-only.",
    )


@pytest.mark.usefixtures("root")
def test_no_finding_is_about_the_arrays_of_the_other_kind() -> None:
    assert backend.check(host(pool())) == []
    assert arrays.check(host(external_pool("VOL"))) == []
    (exists,) = pool_check.check(host(external_pool("VOL", "VLOG")))
    assert exists.sentence.endswith(": external device VOL, external device VLOG.")


def test_a_file_system_that_shut_down_names_the_device(root: Path) -> None:
    (root / "proc/1/mountinfo").write_text("90 22 9:1 / /srv/pool rw shared:50 - xfs /dev/vda1 rw\n")
    server = host(external_pool("VOL"))
    server.heartbeat = Heartbeat.model_validate({"uptime": 1.0, "problem": "Input/output error", "error": "EIO"})
    failed = filesystem.check(server)[0]
    assert (failed.level, "XFS has shut itself down" in failed.sentence) == (Level.FAIL, True)
    assert failed.todo == "Connect the external device VOL again, then restart the server: systemctl reboot"
