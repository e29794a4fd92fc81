# SPDX-License-Identifier: Apache-2.0
"""Repeats become a median with its range, beside what was predicted and the layer below, with one sentence."""

from collections.abc import Sequence
from typing import Any

import pytest

from millrace.measure.bench.result import figures
from millrace.measure.bench.result.capacity import accelerators, checkpoint
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.model import Ceiling, Moment, Rung
from millrace_client.au import TRAININGS
from tests.unit.measure.bench.rungs import done, repeat, waiting
from tests.unit.measure.bench.sites import site

GIGA = 1e9


def judged(*rungs: Rung, degraded: bool = False) -> Sequence[Rung]:
    here = site()
    return with_ceilings(rungs, here.inventory, here.arrays, degraded)


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


def test_reads_from_the_page_cache_are_reported() -> None:
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


def test_smb_is_compared_with_the_prediction_for_smb() -> None:
    here = site()
    slow = here.inventory.model_copy(update={"cpu_mhz": 1000})
    rungs = [done(f"L2/{target}/seq/write") for target in ("nfs-tcp", "smb")]
    nfs, smb = (rung.ceiling for rung in with_ceilings(rungs, slow, here.arrays, False))
    assert (nfs.predicted_by, smb.predicted_by) == ("cpu", "cpu")
    assert nfs.predicted and smb.predicted
    # each byte of parity and of the protocol: 2.16 + 1.36 and 2.16 + 2.93 cycles
    assert smb.predicted / nfs.predicted == pytest.approx(3.66 / 5.09, rel=1e-3)


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
    found = {one.accelerator: one.count for one in accelerators(BenchProfile.UNET3D, bandwidth)}
    assert found[accelerator] == count


@pytest.mark.parametrize(("bandwidth", "h100", "b200"), [(10e9, 3, 1), (20e9, 6, 3), (45e9, 15, 7), (90e9, 31, 15)])
def test_accelerators_of_the_reference_targets(bandwidth: float, h100: int, b200: int) -> None:
    assert [one.count for one in accelerators(BenchProfile.UNET3D, bandwidth)] == [h100, b200]
    assert len(TRAININGS) == 3


def test_minutes_of_a_checkpoint_count_gibibytes() -> None:
    found = checkpoint("405b", 1 << 30, save=40e9, load=45e9)
    assert found.size == 5292 << 30
    assert found.save_seconds == pytest.approx(5292 * 1.073741824 / 40)
    assert found.load_seconds == pytest.approx(126.27, rel=1e-3)


def test_the_slowest_rank_is_the_checkpoint() -> None:
    rung = waiting("L1/xfs/checkpoint/save")
    repeats = [repeat("write", bandwidth=8e9, slowest=4.0)] * 3
    saved = figures.with_training_figures(figures.completed(rung, repeats, [], 3), "8b")
    assert saved.checkpoint is not None
    assert saved.find("bandwidth", "write").median == pytest.approx(2e9)  # type: ignore[union-attr]
    assert saved.checkpoint.save_seconds == pytest.approx(105 * (1 << 30) / 2e9)


def judgement(name: str, bandwidth: float, below: float | None = None, **now: Any) -> Rung:
    """A stream over NFS beside the file system below it."""
    lower = [done("L1/xfs/seq/read", below)] if below else []
    return judged(*lower, done(name, bandwidth, now=Moment(at=1, read=bandwidth, **now)))[-1]


@pytest.mark.parametrize(
    ("bandwidth", "now", "sentence"),
    [
        (
            4.5 * GIGA,
            {"cpu": 0.254, "drives_busy": 0.5, "rpc_queue": 0.0126},
            "Reached 45% of L1/xfs/seq/read and 4% of the predicted limit of the drives; no resource was at its limit "
            "(CPUs 25% busy, the busiest drive 50%, requests waited 13 ms before they were sent).",
        ),
        (
            4.5 * GIGA,
            {"rpc_queue": 0.0009},
            "Reached 45% of L1/xfs/seq/read and 4% of the predicted limit of the drives; no resource was at its limit.",
        ),
        (
            4.5 * GIGA,
            {"cpu": 0.95},
            "Reached 45% of L1/xfs/seq/read and 4% of the predicted limit of the drives; bottleneck: CPUs "
            "(95% busy, 0% of it in interrupts).",
        ),
        (
            4.5 * GIGA,
            {"busiest": 0.9},
            "Reached 45% of L1/xfs/seq/read and 4% of the predicted limit of the drives; one CPU is full (90%) "
            "while all CPUs together are 0% busy.",
        ),
        (
            8.5 * GIGA,
            {"cpu": 0.99},
            "Reached 85% of L1/xfs/seq/read and 7% of the predicted limit of the drives; bottleneck: drives "
            "(CPUs 99% busy).",
        ),
    ],
)
def test_the_sentence_of_a_stream_over_nfs(bandwidth: float, now: dict[str, float], sentence: str) -> None:
    assert judgement("L2/nfs-tcp/seq/read", bandwidth, 10 * GIGA, **now).diagnosis == sentence


@pytest.mark.parametrize(
    ("name", "now", "binding"),
    [
        # exactly at a limit is at it
        ("L2/nfs-tcp/seq/read", {"cpu": 0.90}, "cpu"),
        ("L2/nfs-tcp/seq/read", {"cpu": 0.89}, "unknown"),
        ("L2/nfs-tcp/seq/read", {"nfsd_queued": 0.10}, "nfsd"),
        ("L2/nfs-tcp/seq/read", {"nfsd_queued": 0.09}, "unknown"),
        # no thread of nfsd is in the way of SMB
        ("L2/smb/seq/read", {"nfsd_queued": 0.5}, "unknown"),
        # one full processor of an array that is written makes parity
        ("L1/xfs/seq/write", {"busiest": 0.95}, "md"),
        ("L1/xfs/seq/read", {"busiest": 0.95}, "cpu"),
        ("L2/smb/seq/write", {"busiest": 0.95}, "cpu"),
        ("L0/drives/rand/read", {"busiest": 0.95}, "drives"),
        ("L0/drives/rand/read", {"cpu": 0.95}, "cpu"),
    ],
)
def test_what_binds_follows_from_what_was_seen(name: str, now: dict[str, float], binding: str) -> None:
    assert judged(done(name, GIGA, now=Moment(at=1, read=GIGA, **now)))[0].binding == binding


def test_what_is_close_to_the_layer_below_is_bound_by_the_same() -> None:
    (_, reads) = judged(done("L1/xfs/seq/read", 10 * GIGA), done("L2/smb/seq/read", 8.5 * GIGA))
    (_, writes) = judged(done("L1/xfs/seq/write", 10 * GIGA), done("L2/smb/seq/write", 8.5 * GIGA))
    assert (reads.binding, writes.binding) == ("drives", "md")
    # what came out of the memory says nothing of the drives
    now = Moment(at=1, read=1 * GIGA)
    (_, cached) = judged(done("L1/xfs/seq/read", 10 * GIGA), done("L2/smb/seq/read", 9 * GIGA, now=now))
    assert cached.binding == "unknown"


def test_without_anything_to_compare_with_that_is_said() -> None:
    (rung,) = judged(done("L1/xfs/rand/read", operations=1000))
    assert rung.ceiling == Ceiling()
    assert rung.diagnosis.startswith("Nothing below it was measured, and no limit is known; ")
    (alone,) = with_ceilings([done("L0/drives/seq/read")], site().inventory, [], False)
    assert alone.ceiling.predicted is None


def test_every_caveat_of_a_figure_is_in_its_sentence() -> None:
    rung = done("L1/xfs/seq/read", GIGA)
    flagged = rung.model_copy(update={"flags": ["scaled", "not-repeatable", "short-reads", "cached"]})
    caveats = (
        "; scaled down; the repeats differ by more than 5 %; some reads were short; "
        "mostly read from the server's page cache, not from the drives."
    )
    assert judged(flagged)[0].diagnosis.endswith(caveats)
    part = rung.workload.model_copy(update={"equivalent": "1.21% of the 8B checkpoint"})
    scaled = rung.model_copy(update={"flags": ["scaled"], "workload": part})
    assert judged(scaled)[0].diagnosis.endswith("; 1.21% of the 8B checkpoint.")


def test_a_rung_that_was_not_measured_stays_as_it_is() -> None:
    pending = waiting("L2/smb/seq/read")
    assert judged(done("L1/xfs/seq/read"), pending)[1] == pending
    nothing = done("L1/xfs/seq/read").model_copy(update={"series": []})
    assert judged(nothing) == [nothing]
