# SPDX-License-Identifier: Apache-2.0
"""Interrupts of queues are recognised by the names that each driver gives them."""

from pathlib import Path

import pytest

from millrace.system import paths
from millrace.tune.vectors import Vector, vectors
from tests.unit.tune.machine import Machine


@pytest.mark.parametrize(
    ("handler", "queue"),
    [
        ("mlx5_comp17@pci:0000:81:00.0", 17),
        ("mlx5_async0@pci:0000:81:00.0", None),
        ("ice-mgmt0-TxRx-3", 3),
        ("ice-0000:81:00.0:misc", None),
        ("irdma-mgmt0-CEQ-2", 2),
        ("irdma-mgmt0-AEQ", None),
        ("mgmt0-TxRx-11", 11),
        ("mgmt0", None),
        ("virtio3-input.0", 0),
        ("virtio3-output.1", 1),
        ("virtio3-config", None),
        ("ena-mgmnt@pci:0000:81:00.0", None),
        ("mgmt0-Tx-Rx-4", 4),
        ("i40e-0000:81:00.0:misc", None),
        ("mana_q5@pci:0000:81:00.0", 5),
        ("mana_hwc@pci:0000:81:00.0", None),
    ],
)
def test_by_the_name_that_the_driver_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handler: str, queue: int | None
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    irq = machine.vector(machine.port("mgmt0", 0), handler)
    assert vectors("mgmt0") == ([] if queue is None else [Vector(irq, queue)])


def test_a_vector_without_a_handler_serves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    function = machine.port("ens1", 0)
    (function / "msi_irqs/77").write_text("msix\n")
    machine.write("proc/irq/77/smp_affinity_list", "0-3")
    assert vectors("ens1") == []


def test_a_port_without_such_vectors_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (Machine(tmp_path).port("ens1", 0) / "msi_irqs").rmdir()
    assert vectors("ens1") == [] and vectors("gone") == []
