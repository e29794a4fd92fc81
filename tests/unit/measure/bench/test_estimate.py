# SPDX-License-Identifier: Apache-2.0
"""What a run takes is known before it starts."""

from typing import Any

import pytest

from millrace.measure.bench.plan.estimate import estimate, seconds_of
from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import layouts, planned_steps
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.sites import GIB, request, site


def test_an_estimate_adds_up() -> None:
    wanted = request(profiles=["seq"], layers=["L1"], seconds=10, repeats=4)
    here = site()
    measure = sizes(wanted, here.free, here.memory, here.cores)
    found = estimate(wanted, planned_steps(wanted, here), measure)
    assert len(found.rungs) == 3
    assert all(rung.seconds > 4 * 10 for rung in found.rungs)
    assert found.seconds >= sum(rung.seconds for rung in found.rungs)
    assert 0 < found.space <= measure.budget
    assert found.written == found.space * (1 + 4)


def seconds(name: str, **wanted: Any) -> float:
    here = site(clients=[client("a", rdma=True), client("b", rdma=True)])
    asked = request(seconds=10, repeats=4, size=16 * GIB, clients=["a", "b"], **wanted)
    measure = sizes(asked, 1 << 40, GIB, 16)
    (step,) = [step for step in planned_steps(asked, here) if step.id == name]
    return seconds_of(step, measure)


def test_a_timed_rung_takes_its_warm_up_and_its_repeats() -> None:
    # two seconds to start each time, two of warming up in a quick run
    assert seconds("L1/xfs/seq/read") == 2 + 2 + 4 * (2 + 10)
    assert seconds("L0/drives/rand/read") == 2 + 2 + 4 * (2 + 10)


def test_work_of_a_given_amount_takes_its_bytes_at_a_guessed_speed() -> None:
    size = 16 * GIB
    checkpoint = {"profiles": ["checkpoint"]}
    assert seconds("L1/xfs/checkpoint/save", **checkpoint) == pytest.approx(5 * (2 + size / 2e9))
    assert seconds("L2/smb/checkpoint/save", **checkpoint) == pytest.approx(5 * (2 + size / 5e8))
    # each of two clients has files of its own
    assert seconds("L3/nfs-tcp/checkpoint/load", **checkpoint) == pytest.approx(5 * (2 + 2 * size / 5e8))


def test_a_search_for_accelerators_takes_six_tries_and_the_confirmation_of_each() -> None:
    # RetinaNet: 21 steps of 0.04755 s are shorter than the 2 s of a try and the 10 s of the confirmation
    assert seconds("L1/xfs/retinanet/train", profiles=["retinanet"]) == pytest.approx(4 * (2 + 6 * 2 + 10))
    # 3D-U-Net: two accelerators, whose 21 steps of 0.323 and 0.162 s are longer than a try
    tries = 6 * 21 * (0.323 + 0.162) + 2 * 10
    assert seconds("L1/xfs/unet3d/train", profiles=["unet3d"]) == pytest.approx(4 * (2 + tries))


def test_space_is_of_each_set_of_files_and_what_is_left_out_takes_nothing() -> None:
    wanted = request(profiles=["seq", "checkpoint"], layers=["L2"], seconds=10, repeats=4, size=32 * GIB)
    here = site(protocols=["nfs-tcp", "smb"])
    steps = planned_steps(wanted, here)
    estimated = estimate(wanted, steps, sizes(wanted, 1 << 40, GIB, 16, layouts(steps)))
    assert estimated.space == 2 * 16 * GIB
    # over two protocols a stream and a checkpoint are written four times each, after both were laid out
    assert estimated.written == 2 * 16 * GIB + 2 * 2 * 4 * 16 * GIB
    skipped = [rung for rung in estimated.rungs if rung.skipped]
    assert {(rung.target, rung.seconds) for rung in skipped} == {("nfs-rdma", 0)}
    assert len(skipped) == 4
    assert estimated.seconds == pytest.approx(sum(rung.seconds for rung in estimated.rungs) + 32 * GIB / 2e9)
    assert (estimated.mode, estimated.repeats, estimated.repeat_seconds) == ("quick", 4, 10)
    first = estimated.rungs[0]
    assert (first.id, first.layer, first.target, first.profile) == ("L2/nfs-tcp/seq/read", "L2", "nfs-tcp", "seq")
