# SPDX-License-Identifier: Apache-2.0
"""A RAID6 whose drives leave and come back, and `millrace pool revive`."""

import io
import os
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue import revive_job
from tests.fakes.drives.without_log import WithoutLog, without_log
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import pool_of
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.drive_life import writing as write
from tests.unit.storage.plans import raid6_plan

__all__ = ["root"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def world(root: Path, monkeypatch: pytest.MonkeyPatch) -> WithoutLog:
    """A RAID6 of D0 to D3 with its log on L0 and L1, mounted."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "admin")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    world = without_log(pool_of(raid6_plan()))
    monkeypatch.setattr("millrace.storage.array.machine.Linux", lambda: world)

    def revives() -> None:
        try:
            revive_job.execute(world, {}, lambda _: None)
        finally:
            revive_job.clean_up()

    world.unit, world.name_of_unit = revives, revive_job.JOB.unit
    # what is mounted and served is seen in a booted server
    monkeypatch.setattr("millrace.storage.rescue.revive.pools.verify", lambda _: load_pool())
    return world


def gone(world: WithoutLog, *groups: tuple[str, ...]) -> None:
    """Drives leave, those of a group at once, with writes in between; then all are put in again."""
    for group in groups:
        die(world, *group)
        write(world, "data")
    for serial in (serial for group in groups for serial in group):
        plug_in(world, next(one for one in world.disks if one.serial == serial))


def revive(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run(["pool", "revive", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def refused(world: WithoutLog, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    world.writes.clear()
    world.calls.clear()
    status, _, error = revive(capsys, *words)
    assert status in (1, 2) and world.writes == []
    assert len(error.splitlines()) == 1
    assert not [command for command in world.calls if "--force" in command]
    return error
