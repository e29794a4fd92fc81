# SPDX-License-Identifier: Apache-2.0
"""What is cleaned up after a power cut: nothing is started for nothing, and one failure hides no other."""

import os
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import names, unit

CLEANUP = REPO / "mkosi.extra/usr/lib/millrace/cleanup"
TUNER, BENCH = "tuner restore", "bench sweep"


def ran(root: Path, what: str, left: tuple[str, ...] = (), failing: str = "") -> tuple[int, list[str]]:
    """Return the exit status of a cleanup below a root in which something is left, and the verbs that it ran."""
    for path in left:
        (root / path).mkdir(parents=True)
    program = root / "millrace"
    program.write_text(f'#!/bin/sh\necho "$@" >> {root}/said\n[ "$*" != "{failing}" ]\n')
    program.chmod(0o755)
    script = root / "cleanup"
    script.write_text(CLEANUP.read_text().replace("/srv/pool", f"{root}/pool").replace("/var/lib", f"{root}/var"))
    done = subprocess.run(["sh", script, what], env={"PATH": f"{root}:{os.environ['PATH']}"}, check=False)
    said = root / "said"
    return done.returncode, said.read_text().splitlines() if said.exists() else []


@pytest.mark.parametrize("what", ["backup", "clone", "measurements", "schedule", "snapshot", "volumes"])
def test_nothing_is_started_where_nothing_is_left(tmp_path: Path, what: str) -> None:
    assert ran(tmp_path, what, ("pool/.millrace-volumes/stage", "pool/.millrace-snapshots/.stage")) == (0, [])


@pytest.mark.parametrize(
    ("what", "left", "verbs"),
    [
        ("backup", "var/millrace/backup/backups.json", ["backup upkeep"]),
        ("clone", "pool/.millrace-clone", ["share clone-sweep"]),
        ("clone", "var/millrace/clone.json", ["share clone-sweep"]),
        ("measurements", "var/millrace/bench", [BENCH]),
        ("measurements", "var/millrace/tuner", [TUNER]),
        ("snapshot", "pool/.millrace-snapshots/.stage/new", ["snapshot sweep"]),
        ("snapshot", "pool/.millrace-snapshots/.rollback", ["snapshot sweep"]),
        ("volumes", "pool/.millrace-volumes/stage/0b1e", ["volume sweep"]),
        ("schedule", "pool/.millrace-snapshots/data/20261129T120000Z-hourly", ["snapshot upkeep"]),
    ],
)
def test_what_is_left_is_removed_by_its_verb(tmp_path: Path, what: str, left: str, verbs: list[str]) -> None:
    assert ran(tmp_path, what, (left,)) == (0, verbs)


@pytest.mark.parametrize("failing", [BENCH, TUNER])
def test_cleanup_that_fails_keeps_the_next_one_from_nothing_and_is_reported(tmp_path: Path, failing: str) -> None:
    left = ("var/millrace/bench", "var/millrace/tuner")
    assert ran(tmp_path, "measurements", left, failing) == (1, [BENCH, TUNER])


def test_backups_that_are_due_start_before_snapshots_are_thinned(tmp_path: Path) -> None:
    left = ("var/millrace/backup/backups.json", "pool/.millrace-snapshots/data")
    assert ran(tmp_path, "schedule", left) == (0, ["backup upkeep", "snapshot upkeep"])
    assert ran(tmp_path, "schedule", (), "backup upkeep")[0] == 1


def test_schedule_without_a_snapshot_is_carried_out(tmp_path: Path) -> None:
    (tmp_path / "var/millrace").mkdir(parents=True)
    (tmp_path / "var/millrace/config.json").write_text('{"shares": [{"snapshots": {"hourly": 24}}]}')
    assert ran(tmp_path, "schedule") == (0, ["snapshot upkeep"])


def test_replica_that_ended_starts_the_next_one(tmp_path: Path) -> None:
    assert ran(tmp_path, "replica") == (0, [])
    (tmp_path / "var/millrace").mkdir(parents=True)
    (tmp_path / "var/millrace/config.json").write_text('{\n  "replica": {\n  }\n}\n')
    assert ran(tmp_path, "replica") == (0, ["replica upkeep"])


def test_timer_of_schedules_is_up_only_while_shares_are_served() -> None:
    timer = unit("millrace-upkeep@snapshot.timer")
    assert timer["Unit"] == ["millrace-cleanup@schedule.service"] and timer["OnCalendar"][-1] == "*:1/15"
    assert timer["PartOf"] == ["millrace-serving.target"] == timer["After"]
    assert "millrace-upkeep@snapshot.timer" in names(unit("millrace-serving.target"), "Wants")


def test_unknown_name_is_refused(tmp_path: Path) -> None:
    assert ran(tmp_path, "benches") == (2, [])


def test_each_cleanup_runs_at_each_boot_and_no_boot_waits_for_it() -> None:
    wanted = {one for one in names(unit("millrace-serving.target"), "Wants") if "cleanup" in one}
    assert wanted == {f"millrace-cleanup@{one}.service" for one in ("clone", "measurements", "snapshot", "volumes")}
    found = unit("millrace-cleanup@.service")
    assert found["ExecStart"] == ["/usr/lib/millrace/cleanup %i"] and found["Type"] == ["exec"]
    # the settings of the plan are in force before the record of a tuner is ended
    assert {"millrace-tune.service", "millrace-serving.target"} <= names(found, "After")


def test_each_cleanup_may_write_what_its_job_needs_and_no_more() -> None:
    common = {"/run/millrace", "/srv/pool", "/var/lib/millrace"}
    for name in ("clone", "volumes"):
        cleanup = unit(f"millrace-cleanup@{name}.service")
        assert set(" ".join(cleanup["ReadWritePaths"]).split()) == common
        assert cleanup["ProtectKernelTunables"] == cleanup["ProtectHostname"] == ["yes"]
        assert "CAP_NET_ADMIN" not in " ".join(cleanup["CapabilityBoundingSet"])
    # exports of a benchmark, settings of a tuner
    cleanup = unit("millrace-cleanup@measurements.service")
    assert set(" ".join(cleanup["ReadWritePaths"]).split()) == {*common, "/var/lib/nfs", "/etc/exports.d"}
    assert cleanup["ProtectKernelTunables"] == ["no"]
    assert "CAP_NET_ADMIN" in " ".join(cleanup["CapabilityBoundingSet"]).split()
