# SPDX-License-Identifier: Apache-2.0
"""The priorities that the rebuild benchmark measures are those of the appliance, and their bands would notice."""

from pathlib import Path

import pytest

from host.perf import table
from host.perf.guest.rebuild import LIMIT, PARTS, TEST
from host.perf.results import Result, result
from millrace.system import paths
from millrace.tune import rebuild_speed
from tests.fakes.samples import plan, pool
from tests.unit.perf.samples import record
from tests.unit.tune.fake_sysfs import add_array


def test_floors_are_the_parts_of_the_limit_that_the_appliance_guarantees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_array(tmp_path, "data", "md127", [], parity=True)
    # of RAID6, whose sample has it: no more failure is survived
    (tmp_path / "sys/class/block/md127/md/degraded").write_text("2\n")
    most = plan().md.sync_speed_max
    assert list(PARTS) == list(rebuild_speed.PRIORITIES)
    for priority in rebuild_speed.PRIORITIES:
        [data] = rebuild_speed.paces(plan().md, pool(), priority)
        assert (data.left, data.kib) == (0, most // PARTS[priority])
        assert LIMIT % PARTS[priority] == 0


def measured(**ratios: float) -> Result:
    rows = [record(TEST, "a drive dead", 1.0)]
    rows += [record(TEST, priority, 1 / ratio) for priority, ratio in ratios.items()]
    return result("rebuild", [{"kernel": "7.2.12"}, *rows])


def test_ratios_as_measured_are_within_their_bands() -> None:
    assert table.outside([measured(clients=0.16, balanced=0.207, rebuild=0.001)]) == []


def test_priority_without_effect_is_outside() -> None:
    [line] = table.outside([measured(clients=0.216, balanced=0.216, rebuild=0.216)])
    assert line.endswith("rebuild against a drive dead is 0.216, outside of 0 to 0.05.")


def test_rebuild_that_starves_clients_at_every_priority_is_outside() -> None:
    found = table.outside([measured(clients=0.001, balanced=0.001, rebuild=0.001)])
    assert len(found) == 2
    assert "clients against a drive dead is 0.001" in found[0] and "balanced" in found[1]
