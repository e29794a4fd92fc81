# SPDX-License-Identifier: Apache-2.0
"""Repeats become a median with its range, beside what was predicted and the layer below, with one sentence."""

from collections.abc import Sequence

import pytest

from millrace.bench.result import figures
from millrace.bench.result.capacity import accelerators, checkpoint
from millrace.bench.result.ceilings import with_ceilings
from millrace.bench.result.choices import Profile
from millrace.bench.result.model import Moment, Rung
from millrace_client.au import TRAININGS
from tests.unit.bench.rungs import done, repeat, waiting
from tests.unit.bench.sites import site

GIGA = 1e9


def judged(*rungs: Rung, degraded: bool = False) -> Sequence[Rung]:
    here = site()
    return with_ceilings(rungs, here.inventory, here.plan, degraded)


def test_the_median_and_the_range_are_kept_with_every_repeat() -> None:
    repeats = [repeat(bandwidth=value) for value in (100.0, 96.0, 104.0)]
    rung = figures.completed(waiting("L1/xfs/seq/read"), repeats, [], 3)
    found = rung.find("bandwidth", "read")
    assert found is not None
    assert (found.values, found.median, found.low, found.high) == ([100, 96, 104], 100, 96, 104)
    assert found.spread == pytest.approx(0.04)
    assert found.repeatable
    assert "not-repeatable" not in rung.flags


def test_repeats_that_differ_by_more_than_5_percent_are_flagged() -> None:
    rung = figures.completed(waiting("L1/xfs/seq/read"), [repeat(bandwidth=b) for b in (100.0, 94.0, 101.0)], [], 3)
    assert "not-repeatable" in rung.flags
    assert "repeats differ by more than 5 %" in judged(rung)[0].diagnosis


def test_latencies_are_of_all_repeats_together() -> None:
    rung = figures.completed(waiting("L1/xfs/rand/read"), [repeat(nanoseconds=n) for n in (10, 10, 1000)], [], 3)
    (latency,) = rung.latencies
    assert latency.count == 30
    assert latency.p50 == pytest.approx(10e-9)
    assert latency.p95 == pytest.approx(1000e-9)


def test_what_came_out_of_the_memory_is_told() -> None:
    rung = done("L2/nfs-tcp/seq/read", 5 * GIGA, now=Moment(at=1, read=0.1 * GIGA))
    assert "cached" in rung.flags
    assert "from the server's page cache" in judged(rung)[0].diagnosis
    assert "cached" not in done("L0/drives/seq/read", now=Moment(at=1, read=0)).flags


def test_drives_are_compared_with_their_data_sheets() -> None:
    (rung,) = judged(done("L0/drives/seq/read", 60 * GIGA))
    # 10 Gen5 drives of 12 GB/s
    assert (rung.ceiling.predicted, rung.ceiling.predicted_by) == (120 * GIGA, "drives")
    assert rung.ceiling.of_predicted == pytest.approx(0.5)
    assert rung.diagnosis.startswith("Reached 50% of the predicted limit of the drives; bottleneck: drives")


def test_each_layer_is_compared_with_the_one_below() -> None:
    drives, array, xfs, nfs = judged(
        done("L0/drives/seq/read", 100 * GIGA),
        done("L1/array/seq/read", 90 * GIGA),
        done("L1/xfs/seq/read", 88 * GIGA),
        done("L2/nfs-tcp/seq/read", 11 * GIGA),
    )
    assert drives.ceiling.below is None
    assert (array.ceiling.below, array.ceiling.of_below) == ("L0/drives/seq/read", pytest.approx(0.9))
    assert array.binding == "drives"
    assert (xfs.ceiling.below, xfs.binding) == ("L1/array/seq/read", "drives")
    assert (nfs.ceiling.below, nfs.ceiling.of_below) == ("L1/xfs/seq/read", pytest.approx(0.125))
    assert nfs.binding == "unknown"
    assert "12% of L1/xfs/seq/read" in nfs.diagnosis


def test_training_files_are_compared_with_the_stream_of_the_array() -> None:
    _, volumes = judged(done("L1/array/seq/read", 90 * GIGA), done("L1/xfs/unet3d/read", 45 * GIGA))
    assert (volumes.ceiling.below, volumes.ceiling.of_below) == ("L1/array/seq/read", pytest.approx(0.5))


@pytest.mark.parametrize(
    ("now", "binding", "words"),
    [
        (Moment(at=1, read=GIGA, cpu=0.97, interrupts=0.2), "cpu", "97% busy, 20% of it in interrupts"),
        (Moment(at=1, read=GIGA, cpu=0.2, nfsd_queued=0.4), "nfsd", "40% of the requests waited for an nfsd thread"),
        (Moment(at=1, read=GIGA, cpu=0.3, busiest=0.99), "cpu", r"one CPU is full \(99%\)"),
        (Moment(at=1, read=GIGA, cpu=0.3, busiest=0.5), "unknown", "no resource was at its limit"),
    ],
)
def test_the_sentence_names_what_was_at_its_limit(now: Moment, binding: str, words: str) -> None:
    _, rung = judged(done("L1/xfs/seq/read", 50 * GIGA), done("L2/nfs-tcp/seq/read", GIGA, now=now))
    assert rung.binding == binding
    assert pytest.approx(0.02) == rung.ceiling.of_below
    __import__("re").search(words, rung.diagnosis) or pytest.fail(rung.diagnosis)


def test_a_server_that_does_more_for_itself_is_not_what_binds_its_clients() -> None:
    idle = Moment(at=1, read=4 * GIGA, cpu=0.2, busiest=0.4)
    alone = done("L2/nfs-tcp/seq/read", 9 * GIGA)
    (_, slower) = judged(alone, done("L3/nfs-tcp/seq/read", 4 * GIGA, now=idle))
    assert slower.binding == "client"
    assert slower.diagnosis.startswith("Reached 44% of L2/nfs-tcp/seq/read and ")
    assert "clients or their network; no resource of this server was at its limit" in slower.diagnosis
    (_, busy) = judged(alone, done("L3/nfs-tcp/seq/read", 4 * GIGA, now=idle.model_copy(update={"cpu": 0.95})))
    assert busy.binding == "cpu"


def test_a_commit_is_bound_by_its_latency() -> None:
    (rung,) = judged(done("L1/xfs/fsync/fsync", operations=5000, nanoseconds=200_000))
    assert rung.binding == "latency"
    assert "one request at a time: 200 microseconds each" in rung.diagnosis


def test_a_degraded_run_is_compared_with_the_degraded_prediction() -> None:
    (healthy,), (degraded,) = judged(done("L0/drives/seq/read")), judged(done("L0/drives/seq/read"), degraded=True)
    assert healthy.ceiling.predicted and degraded.ceiling.predicted
    assert degraded.ceiling.predicted == pytest.approx(healthy.ceiling.predicted * 9 / 10)


def test_every_sentence_is_one() -> None:
    for rung in judged(*(done(name) for name in ("L0/drives/seq/read", "L1/xfs/rand/write", "L2/smb/mixed/mixed"))):
        assert rung.diagnosis.endswith(".")
        assert rung.diagnosis.count(". ") == 0


# facts: exact bytes/s at the floor
@pytest.mark.parametrize(
    ("accelerator", "bandwidth", "count"),
    [("H100", 2.860e9, 1), ("H100", 2.859e9, 0), ("B200", 5.702e9, 1), ("B200", 5.701e9, 0)],
)
def test_an_accelerator_is_kept_busy_or_not(accelerator: str, bandwidth: float, count: int) -> None:
    found = {one.accelerator: one.count for one in accelerators(Profile.UNET3D, bandwidth)}
    assert found[accelerator] == count


@pytest.mark.parametrize(("bandwidth", "h100", "b200"), [(10e9, 3, 1), (20e9, 6, 3), (45e9, 15, 7), (90e9, 31, 15)])
def test_accelerators_of_the_reference_targets(bandwidth: float, h100: int, b200: int) -> None:
    assert [one.count for one in accelerators(Profile.UNET3D, bandwidth)] == [h100, b200]
    assert len(TRAININGS) == 3


def test_minutes_of_a_checkpoint_count_gibibytes() -> None:
    found = checkpoint("405b", 1 << 30, save=40e9, load=45e9)
    assert found.size == 5292 << 30
    assert found.save_seconds == pytest.approx(5292 * 1.073741824 / 40)
    assert found.load_seconds == pytest.approx(126.27, rel=1e-3)


def test_the_slowest_rank_is_the_checkpoint() -> None:
    rung = waiting("L1/xfs/checkpoint/save")
    repeats = [repeat("write", bandwidth=8e9, slowest=4.0)] * 3
    saved = figures.worth(figures.completed(rung, repeats, [], 3), "8b")
    assert saved.checkpoint is not None
    assert saved.find("bandwidth", "write").median == pytest.approx(2e9)  # type: ignore[union-attr]
    assert saved.checkpoint.save_seconds == pytest.approx(105 * (1 << 30) / 2e9)
