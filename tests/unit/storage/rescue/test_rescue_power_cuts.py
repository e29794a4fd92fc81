# SPDX-License-Identifier: Apache-2.0
"""After a power cut or a kill at any moment the step goes on; no XFS is mounted with a log that is not its own."""

import copy
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.storage.assemble.assemble import assemble
from millrace.storage.rescue.rescue import carry_out
from millrace.storage.rescue.step_names import STEPS
from millrace.system import paths
from millrace.system.errors import Failed
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.without_log import POOL, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.provision.test_apply_power_cuts import reset, wire_journal
from tests.unit.storage.rescue.lost import SERVERS, log_record, lost, rescued

__all__ = ["root"]

# Every moment of the small server; of the others a sample.
EVERY = {name: 1 if number == 0 else 7 for number, name in enumerate(SERVERS)}


def power_cut(world: WithoutLog) -> None:
    """The next boot: what can be assembled is, and the pool is mounted if its unit allows it."""
    world.boot()
    with suppress(Failed):
        assemble(world, lambda _: None)
    world.serve()


def killed(world: WithoutLog) -> None:
    """The terminal was closed; what is mounted and attached stays."""
    world.cut_at = None


@pytest.mark.parametrize("after", [power_cut, killed])
@pytest.mark.parametrize("server", SERVERS)
def test_one_cut_at_every_moment(
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    after: Callable[[WithoutLog], None],
) -> None:
    plan, choices = SERVERS[server]
    before, files = lost(plan(), *choices.drives), tmp_path_factory.mktemp("before")
    old = log_record().uuid
    shutil.copytree(root, files, dirs_exist_ok=True)
    moment = 0
    while True:
        moment += EVERY[server]
        reset(root)
        shutil.copytree(files, root, dirs_exist_ok=True)
        world = copy.deepcopy(before)
        with monkeypatch.context() as patch:
            wire_journal(world, patch)
            world.moment, world.cut_at = 0, moment
            try:
                rescued(world, choices)
            except PowerCut:
                after(world)
            else:
                break
            for name in STEPS:
                if paths.rescue_file().exists() or not paths.rescued_file().exists():
                    carry_out(world, name, choices, "admin", lambda _: None)
        assert log_record().uuid not in (old, None), f"cut at moment {moment}"
        assert log_record().uuid == world.repaired_log, f"cut at moment {moment}"
        assert POOL in world.points and not world.loops, f"cut at moment {moment}"
        assert not paths.rescue_file().exists() and not paths.unrepaired_file().exists()
        power_cut(world)
        assert POOL in world.points, f"cut at moment {moment}"
    assert moment > 60
