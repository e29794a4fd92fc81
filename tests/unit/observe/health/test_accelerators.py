# SPDX-License-Identifier: Apache-2.0
"""What the server feeds: as clients measured it, else as the server did, else as the hardware allows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.measure.bench.result import store
from millrace.measure.bench.result.model import Accelerators, BenchRun
from millrace.observe.health import accelerators as feeding
from millrace.observe.health.accelerators import Fed, FedCount, fed, sentence
from millrace.storage.record.model import Pool
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run

CLIENTS, LOOPBACK = "L3/nfs-tcp/unet3d/train", "L2/nfs-tcp/unet3d/train"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        yield made


@pytest.fixture
def pool(box: Box, monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = box.provision()
    monkeypatch.setattr(feeding, "_is_degraded", lambda _: False)
    return made


def measured(
    name: str, started: str, *labels: str, count: int = 24, au: float = 92.0, bandwidth: float = 7e10
) -> BenchRun:
    busy = Accelerators(accelerator="H100", count=count, floor=90.0, au=au, bandwidth=bandwidth)
    rung = done(name).model_copy(update={"accelerators": [busy]})
    made = run(rung, labels=labels)
    rungs = [one.model_copy(update={"binding": "network"}) for one in made.rungs]
    made = made.model_copy(update={"rungs": rungs, "id": started.replace("-", "") + "-120000", "started": started})
    store.save(made)
    return made


def test_nothing_measured_is_predicted_with_its_bottleneck(pool: Pool) -> None:
    found = fed(pool)
    assert found is not None and found.basis == "predicted" and found.run is None
    assert {one.accelerator for one in found.counts} == {"H100", "B200"} and found.bound_by
    assert "predicted, not measured yet; bottleneck: " in sentence(found)


def test_nothing_is_predicted_of_an_external_device_whose_drives_do_not_show(pool: Pool) -> None:
    assert fed(pool) is not None
    external = pool.model_copy(update={"backend": "external", "arrays": []})
    assert fed(external) is None
    measured(LOOPBACK, "2026-11-19", count=40)
    found = fed(external)
    assert found is not None and found.basis == "server"


def test_measurement_of_clients_comes_before_a_newer_one_of_the_server(pool: Pool) -> None:
    measured(LOOPBACK, "2026-11-19", count=40)
    found = fed(pool)
    assert found is not None and (found.basis, found.counts[0].count) == ("server", 40)
    measured(CLIENTS, "2026-11-20")
    measured(LOOPBACK, "2026-11-21", count=40)
    found = fed(pool)
    assert found is not None and (found.basis, found.run) == ("clients", "20261120-120000")
    assert sentence(found) == "24 H100 with 3D-U-Net (measured by clients on 2026-11-20; bottleneck: network)"


def test_emulated_server_and_another_state_of_the_arrays_say_nothing_of_now(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(CLIENTS, "2026-11-20", "emulated")
    measured(CLIENTS, "2026-11-21", "degraded", count=11)
    found = fed(pool)
    assert found is not None and found.basis == "predicted"
    monkeypatch.setattr(feeding, "_is_degraded", lambda _: True)
    found = fed(pool)
    assert found is not None and found.counts[0].count == 11 and ", degraded (" in sentence(found)


def test_imported_run_below_the_floor_is_not_what_the_server_feeds(pool: Pool) -> None:
    measured(CLIENTS, "2026-11-20")
    measured(CLIENTS, "2026-11-21", "imported", count=400, au=31.0)
    found = fed(pool)
    assert found is not None and (found.run, found.counts[0].count) == ("20261120-120000", 24)


@pytest.mark.parametrize(("bandwidth", "shown"), [(2e10, 24), (9e10, 30)])
def test_imported_run_counts_where_it_fed_more_than_the_clients(pool: Pool, bandwidth: float, shown: int) -> None:
    measured(CLIENTS, "2026-11-20")
    measured(LOOPBACK, "2026-11-21", count=40)
    measured(CLIENTS, "2026-11-22", "imported", count=30, bandwidth=bandwidth)
    found = fed(pool)
    assert found is not None and (found.basis, found.counts[0].count) == ("clients", shown)


def test_imported_run_comes_before_what_the_server_measured(pool: Pool) -> None:
    measured(LOOPBACK, "2026-11-21", count=40)
    measured(CLIENTS, "2026-11-20", "imported", count=3, bandwidth=2e10)
    found = fed(pool)
    assert found is not None and (found.basis, found.counts[0].count) == ("clients", 3)


def test_array_with_a_missing_member_is_degraded(box: Box) -> None:
    made = box.provision()
    before = fed(made)
    assert before is not None and not before.degraded
    counters = list((box.root / "sys").rglob("md/degraded"))
    assert counters
    counters[0].write_text("1\n")
    after = fed(made)
    assert after is not None and after.degraded and after.bandwidth <= before.bandwidth


def test_damaged_run_and_no_inventory_hide_nothing_else(pool: Pool, box: Box) -> None:
    measured(CLIENTS, "2026-11-20")
    (store.directory("20261121-120000")).mkdir(parents=True)
    (store.directory("20261121-120000") / "run.json").write_text("{")
    found = fed(pool)
    assert found is not None and found.basis == "clients"
    (store.directory("20261120-120000") / "run.json").unlink()
    (box.root / "run/millrace/inventory.json").unlink()
    assert fed(pool) is None


def test_types_are_alternatives() -> None:
    counts = [FedCount(accelerator=one, count=number, floor=90) for one, number in (("H100", 24), ("B200", 12))]
    found = Fed(counts=counts, basis="predicted", bandwidth=1, bound_by=None, run=None, at=None, degraded=False)
    assert sentence(found) == "24 H100, or 12 B200 with 3D-U-Net (predicted, not measured yet)"
