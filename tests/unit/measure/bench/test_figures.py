# SPDX-License-Identifier: Apache-2.0
"""The figures of a rung are medians of its repeats, with what a reader must know of them."""

import pytest

from millrace.measure.bench.result import figures
from millrace.measure.bench.result.fio_output import Flow, RepeatOutcome
from millrace.measure.bench.result.model import Accelerators, BenchState, Moment, Rung, RungShare, Series
from tests.unit.measure.bench.rungs import done, flow, repeat, waiting


def test_a_series_has_its_median_and_the_largest_distance_from_it() -> None:
    assert figures.series("operations", "write", [80.0, 100.0, 104.0]) == Series(
        quantity="operations",
        direction="write",
        values=[80, 100, 104],
        median=100,
        low=80,
        high=104,
        spread=0.2,
        repeatable=False,
    )
    assert figures.series("bandwidth", "read", [95.0, 100.0, 105.0]).repeatable
    still = figures.series("bandwidth", "read", [0.0, 0.0])
    assert (still.spread, still.repeatable) == (0.0, True)


def named(rung: Rung) -> list[tuple[str, str]]:
    return [(one.quantity, one.direction) for one in rung.series]


def test_bytes_are_figures_only_of_what_moves_bytes() -> None:
    both = RepeatOutcome(flows={"read": flow(), "write": flow()})
    mixed = figures.completed(waiting("L1/xfs/mixed/mixed"), [both], [], 1)
    assert named(mixed) == [(what, way) for way in ("read", "write") for what in ("bandwidth", "operations")]
    synced = figures.completed(waiting("L1/xfs/fsync/fsync"), [repeat("commit")], [], 1)
    assert named(synced) == [("operations", "commit")]
    made = figures.completed(waiting("L1/xfs/meta/create"), [repeat("create")], [], 1)
    assert named(made) == [("operations", "create")]


def test_a_rung_that_is_done_has_its_time_and_what_was_seen() -> None:
    moments = [Moment(at=1, cpu=0.2), Moment(at=2, cpu=0.4)]
    rung = figures.completed(waiting("L1/xfs/seq/read"), [repeat(), repeat()], moments, 12.34567)
    assert (rung.state, rung.seconds, rung.timeline) == (BenchState.DONE, 12.346, moments)
    assert rung.median == Moment(at=2, cpu=0.3)
    assert [one.count for one in rung.latencies] == [20]
    without = figures.completed(waiting("L1/xfs/seq/read"), [RepeatOutcome(flows={"read": Flow(bytes=1)})], [], 1)
    assert without.latencies == [] and without.median is None


def test_parts_are_medians_where_several_took_part() -> None:
    def one(**bandwidths: float) -> RepeatOutcome:
        parts = {name: flow(bandwidth=value, operations=value / 10) for name, value in bandwidths.items()}
        return RepeatOutcome(flows={"read": flow()}, parts=parts)

    repeats = [one(b=10, a=40), one(b=30, a=20), one(b=20)]
    rung = figures.completed(waiting("L0/drives/seq/read"), repeats, [], 1)
    assert rung.parts == [
        RungShare(name="a", bandwidth=30, operations=3),
        RungShare(name="b", bandwidth=20, operations=2),
    ]
    assert figures.completed(waiting("L0/drives/seq/read"), [one(a=1)], [], 1).parts == []


def test_of_each_accelerator_the_repeat_in_the_middle_counts() -> None:
    def found(name: str, count: int, au: float) -> Accelerators:
        return Accelerators(accelerator=name, count=count, floor=90, au=au, bandwidth=count)

    repeats = [
        RepeatOutcome(accelerators=[found("H100", 3, 95), found("B200", 1, 91)]),
        RepeatOutcome(accelerators=[found("H100", 5, 90), found("B200", 2, 92)]),
        RepeatOutcome(accelerators=[found("H100", 3, 97)]),
    ]
    rung = figures.completed(waiting("L1/xfs/unet3d/train"), repeats, [], 1)
    assert rung.accelerators == [found("H100", 3, 97), found("B200", 1, 91)]
    # what was searched for is not replaced by the formula
    assert figures.with_training_figures(rung, "8b") == rung


def test_training_stream_is_reported_in_accelerators() -> None:
    read = figures.with_training_figures(done("L1/xfs/unet3d/read", 10e9), "8b")
    assert [(one.accelerator, one.count, one.au) for one in read.accelerators] == [("H100", 3, None), ("B200", 1, None)]
    pictures = figures.with_training_figures(done("L1/xfs/retinanet/read", 10e9), "8b")
    assert [one.accelerator for one in pictures.accelerators] == ["B200"]
    plain = done("L1/xfs/seq/read", 10e9)
    assert figures.with_training_figures(plain, "8b") == plain


def test_checkpoint_is_reported_for_the_measured_path() -> None:
    saved = figures.with_training_figures(done("L1/xfs/checkpoint/save", 1e9), "70b").checkpoint
    loaded = figures.with_training_figures(done("L1/xfs/checkpoint/load", 2e9), "70b").checkpoint
    assert saved is not None and loaded is not None
    assert (saved.model, saved.load_seconds, loaded.save_seconds) == ("70b", None, None)
    assert saved.save_seconds == pytest.approx((911 << 30) / 1e9)
    assert loaded.load_seconds == pytest.approx((911 << 30) / 2e9)
    assert saved.measured == waiting("L1/xfs/checkpoint/save").size > 0


@pytest.mark.parametrize(
    ("name", "read", "flags"),
    [
        ("L1/xfs/seq/read", 0.49e9, ["cached"]),
        ("L1/xfs/seq/read", 0.5e9, []),
        ("L1/xfs/seq/read", None, []),
        ("L1/xfs/seq/write", 0.0, []),
        ("L0/drives/seq/read", 0.0, []),
    ],
)
def test_what_was_mostly_read_from_memory_is_flagged(name: str, read: float | None, flags: list[str]) -> None:
    assert done(name, 1e9, now=Moment(at=1, read=read)).flags == flags


def test_reads_that_were_short_are_flagged() -> None:
    short = RepeatOutcome(flows={"read": flow(), "write": Flow(short=1)})
    assert figures.completed(waiting("L1/xfs/mixed/mixed"), [repeat(), short], [], 1).flags == ["short-reads"]


def test_only_what_is_true_before_a_repeat_stays_flagged() -> None:
    rung = waiting("L1/xfs/seq/read").model_copy(update={"flags": ["scaled", "cached"]})
    assert figures.completed(rung, [repeat()], [], 1).flags == ["scaled"]
