# SPDX-License-Identifier: Apache-2.0
"""What `millrace pool rescue` prints while a pool is rescued whose log is lost: before, within and after it."""

import tempfile
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from millrace.storage.rescue import rescue_job
from millrace.storage.rescue.step_names import StepName
from millrace.system import paths
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.plugin.week import DIRECTORY, said
from tests.unit.storage.plans import planned_1u12
from tests.unit.storage.rescue.lost import lost


def documents() -> dict[str, str]:
    """The text of every document by its path below the golden files."""
    with tempfile.TemporaryDirectory(prefix="millrace-rescue-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", Path(directory))
        patch.setenv("SUDO_USER", "admin")
        patch.setattr("os.geteuid", lambda: 0)
        patch.setattr("os.fsync", lambda *arguments: None)
        patch.setattr("uuid.uuid4", _numbered())
        world = lost(planned_1u12())
        world.unit = lambda: rescue_job.execute(world, lambda _: None)
        patch.setattr("millrace.storage.array.machine.Linux", lambda: world)
        return {f"{DIRECTORY}/{name}": text.replace(directory, "") for name, text in _printed(world)}


def _numbered() -> Callable[[], uuid.UUID]:
    numbers = count(1)
    return lambda: uuid.UUID(int=next(numbers))


def _printed(world: WithoutLog) -> Iterator[tuple[str, str]]:
    yield "pool-rescue.json", said("pool", "rescue")
    yield "pool-rescue-status.none.json", said("pool", "rescue", "--status")
    for name in ("stop", "image", "judge"):
        _confirm(name)
    yield "pool-rescue.log.json", said("pool", "rescue")
    _confirm("log")
    yield "pool-rescue.repair.json", said("pool", "rescue")
    yield "pool-rescue-status.repair.json", said("pool", "rescue", "--status")
    world.unit_hangs = True
    _confirm("repair", "--detach")
    yield "pool-rescue-status.running.json", said("pool", "rescue", "--status")
    world.unit_hangs = world.unit_runs = False
    yield "pool-rescue-status.interrupted.json", said("pool", "rescue", "--status")
    _confirm("repair")
    _confirm("serve")
    yield "pool-rescue-status.ended.json", said("pool", "rescue", "--status")


def _confirm(name: StepName, *words: str) -> str:
    return said("pool", "rescue", f"--step={name}", "--yes", *words)
