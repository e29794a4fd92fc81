# SPDX-License-Identifier: Apache-2.0
"""A server of its own for each test."""

import os
from pathlib import Path

import pytest

from millrace.system import paths
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import server_for


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of the appliance go to a directory of the test; the disk of the build host need not keep up."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    return tmp_path


@pytest.fixture
def world() -> World:
    """A blank server for the RAID6 plan, with a drive full of somebody's data and a blank one that is not planned."""
    return server_for(raid6_plan())


@pytest.fixture
def stranger(world: World) -> Disk:
    """The drive that holds somebody's data."""
    return next(disk for disk in world.disks if disk.foreign)
