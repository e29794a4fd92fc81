# SPDX-License-Identifier: Apache-2.0
"""Whether clients or a rebuild go first is kept, and set at once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.tune import priority, rebuild_speed
from millrace.tune.priority_verbs import priority as verb
from millrace.tune.settings import in_force
from tests.fakes.files.box import Box
from tests.fakes.files.running import server


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        # nothing below needs it
        paths.approved_plan_file().unlink()
        for name in ("data", "log"):
            made.md(name, sync_speed_min="1000 (system)")
        yield made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def floor(box: Box, name: str) -> str:
    device = (box.root / f"dev/md/millrace-{name}").readlink().name
    return (box.root / f"sys/class/block/{device}/md/sync_speed_min").read_text().strip()


def test_choice_is_kept_and_set_for_each_array(box: Box) -> None:
    box.md("data", degraded="1")
    found = priority.choose(pool(), "rebuild")
    quarter = in_force(pool()).md.sync_speed_max // 4
    assert found.warnings == [] and rebuild_speed.priority() == "rebuild"
    assert {one.array: one.sync_speed_min for one in found.arrays} == {"data": quarter, "log": 100_000}
    assert (floor(box, "data"), floor(box, "log")) == (str(quarter), "100000")


def test_every_figure_has_a_reason_and_a_source(box: Box) -> None:
    [data] = [one for one in priority.current(pool(), []).arrays if one.array == "data"]
    assert (data.survives, data.reason) == (2, "nothing is missing, priority balanced")
    assert "sync_speed_min" in data.source


def test_verb_shows_and_chooses(box: Box) -> None:
    box.md("data", degraded="2")
    said = CliRunner().invoke(verb, [], standalone_mode=False).output
    assert said.splitlines()[0] == "priority: balanced"
    said = CliRunner().invoke(verb, ["clients"], standalone_mode=False).output
    assert said.splitlines()[0] == "priority: clients"
    assert re.search(r"^data +512 MB/s +it survives 0 more failures", said, re.MULTILINE)


def test_user_may_look_and_not_choose(tmp_path: Path) -> None:
    with server(tmp_path, user=1001) as box:
        box.provision()
        assert CliRunner().invoke(verb, [], standalone_mode=False).exit_code == 0
        refused = CliRunner().invoke(verb, ["rebuild"], standalone_mode=False)
        assert "requires root" in str(refused.exception)
        assert rebuild_speed.priority() == "balanced"


def test_floor_that_cannot_be_set_is_a_warning(box: Box) -> None:
    device = (box.root / "dev/md/millrace-log").readlink().name
    (box.root / f"sys/class/block/{device}/md/sync_speed_min").unlink()
    [warning] = priority.choose(pool(), "clients").warnings
    assert "sync_speed_min cannot be read" in warning
