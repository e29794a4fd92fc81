# SPDX-License-Identifier: Apache-2.0
"""How much, how long and how often follows from the mode and the server."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.measure.bench.plan.sizes import MODES, sizes
from millrace.measure.bench.plan.workloads import RANKS, WORKS, works
from millrace.measure.bench.result.choices import BenchProfile
from millrace.system import paths
from millrace.system.errors import BadInput, Refused
from tests.unit.measure.bench.sites import GIB, request, site


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
@pytest.mark.parametrize("free", [GIB, 100 * GIB, 100 << 40])
def test_no_workload_holds_more_than_the_budget(work: object, free: int) -> None:
    assert isinstance(work, type(WORKS[0]))
    for mode in MODES:
        measure = sizes(request(mode=mode), free, 64 * GIB, 16)
        files = measure.files(work)
        # the smallest thing that can be measured is a few files of a MiB a job
        held = measure.jobs_of(work) * files.per_job * files.most
        assert held <= 1.6 * measure.budget
        assert measure.budget <= 0.25 * free


def test_more_than_is_free_is_refused_in_one_sentence() -> None:
    with pytest.raises(Refused, match=r"2 TiB exceed 80% of the 1 TiB that are free"):
        sizes(request(size=2 << 40), 1 << 40, GIB, 4)


def test_a_full_pool_is_refused() -> None:
    with pytest.raises(Refused, match="the pool has 100 MiB free"):
        sizes(request(), 100 << 20, GIB, 4)


OPTIONS = ["--seconds=nan", "--seconds=inf", "--seconds=-inf", "--seconds=1e308", "--seconds=-1", "--seconds=3601"]
OPTIONS += ["--repeats=100000000", "--repeats=-1", "--repeats=0", "--repeats=101"]


VERBS = [["bench", "estimate"], ["bench", "start"], ["bench", "run"], ["client", "bench", "FILE"]]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_number_that_no_run_can_have_is_one_sentence(
    verb: list[str], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("millrace.measure.bench.plan.site.site", lambda **_: site())
    monkeypatch.chdir(tmp_path)
    assert program.run([*verb, option]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"millrace: {option.partition('=')[0]} must be between 1 and ")
    assert len(said.err.splitlines()) == 1 and said.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"repeats": 0}, {"size": 1}])
def test_what_cannot_be_measured_is_wrong_usage(wrong: dict[str, int]) -> None:
    with pytest.raises(BadInput):
        sizes(request(**wrong), 1 << 40, GIB, 4)


def test_a_small_pool_gets_a_part_of_a_checkpoint_that_says_so() -> None:
    measure = sizes(request(profiles=["checkpoint"]), 100 * GIB, 64 * GIB, 16)
    (save, _) = works([BenchProfile.CHECKPOINT])
    assert measure.jobs_of(save) == RANKS
    assert measure.files(save).scaled == "9.52% of the 8B checkpoint"


def test_another_model_is_a_size_equivalent() -> None:
    measure = sizes(request(model="405b", size=50 << 40), 100 << 40, 64 * GIB, 16)
    (save, _) = works([BenchProfile.CHECKPOINT])
    assert measure.files(save).scaled == "size-equivalent of a 405B checkpoint in the 8B layout"


@pytest.mark.parametrize(
    ("mode", "free", "memory", "cores", "layouts", "budget", "jobs"),
    [
        # half of the memory for a quick look, 32 GiB at most, and a tenth of what is free
        ("quick", 1 << 40, 32 * GIB, 32, 1, 16 * GIB, 16),
        ("quick", 1 << 40, 128 * GIB, 8, 1, 32 * GIB, 8),
        ("quick", 100 * GIB, 64 * GIB, 1, 1, 10 * GIB, 2),
        # twice the memory, 1 TiB at most, and a quarter of what is free
        ("full", 10 << 40, 64 * GIB, 16, 1, 128 * GIB, 16),
        ("full", 10 << 40, 1 << 40, 16, 1, 1024 * GIB, 16),
        ("full", 100 * GIB, 64 * GIB, 4, 5, 5 * GIB, 4),
        # 64 MiB of one set is the least, and half of it where several share
        ("quick", 1 << 40, 64 << 20, 4, 1, 64 << 20, 4),
        ("quick", 1 << 40, 64 << 20, 4, 8, 32 << 20, 4),
    ],
)
def test_a_run_takes_its_part_of_the_memory_and_of_what_is_free(
    mode: str, free: int, memory: int, cores: int, layouts: int, budget: int, jobs: int
) -> None:
    found = sizes(request(mode=mode), free, memory, cores, layouts)
    assert (found.budget, found.jobs) == (budget, jobs)
    defaults = {"quick": (5, 2, 3), "full": (30, 10, 5)}
    assert (found.seconds, found.warm, found.repeats) == defaults[mode]


def test_what_was_asked_for_counts_up_to_its_limits() -> None:
    measure = sizes(request(seconds=1, repeats=1, size=80 * GIB, model="70b"), 100 * GIB, GIB, 4)
    assert (measure.seconds, measure.warm, measure.repeats, measure.budget) == (1, 1, 1, 80 * GIB)
    assert measure.checkpoint == "70b"
    most = sizes(request(seconds=3600, repeats=100, size=64 << 20), 100 * GIB, GIB, 4)
    assert (most.seconds, most.repeats, most.budget) == (3600, 100, 64 << 20)
    with pytest.raises(BadInput, match="--size must be at least 64 MiB"):
        sizes(request(size=(64 << 20) - 1), 100 * GIB, GIB, 4)
    with pytest.raises(Refused, match="80 GiB exceed 80% of the 100 GiB that are free in the pool: reduce --size"):
        sizes(request(size=80 * GIB + 1), 100 * GIB, GIB, 4)
    assert sizes(request(), 640 << 20, GIB, 4).budget == 64 << 20
    with pytest.raises(Refused, match="the pool has 100 MiB free, a benchmark needs 10 times 64 MiB"):
        sizes(request(), 100 << 20, GIB, 4)


MEBI = 1 << 20
JPEG, BLOCK = 316 << 10, 2 << 20
# of the last of the three options
KV = (
    5 << 20,
    5 << 20,
    "a load equivalent to option 3 (Large Model) of the KV cache of MLPerf Storage 3.0; not a result of it",
)
TABLE = {
    # a large server: the most files of each kind
    ("full", 1 << 40, 128 * GIB, 32): {
        "common": (1, 16 * GIB, 16 * GIB, None),
        "meta": (12_000, 4096, 4096, None),
        "unet3d": (50, 54 * MEBI, 203 * MEBI, None),
        "retinanet": (5000, JPEG, JPEG, None),
        "checkpoint": (1, 105 * GIB // 8, 105 * GIB // 8, None),
        "kvcache": (800, *KV),
    },
    # in between: as many as there is room for
    ("full", 100 * GIB, 4 * GIB, 4): {
        "common": (1, 2 * GIB, 2 * GIB, None),
        "meta": (12_000, 4096, 4096, None),
        "unet3d": (15, 54 * MEBI, 203 * MEBI, None),
        "retinanet": (5000, JPEG, JPEG, None),
        "checkpoint": (1, GIB, GIB, "7.62% of the 8B checkpoint"),
        "kvcache": (102, *KV),
    },
    # a virtual machine: volumes and ranks are cut down and say so
    ("quick", 2 * GIB, GIB, 1): {
        "common": (1, 102 * MEBI, 102 * MEBI, None),
        "meta": (2000, 4096, 4096, None),
        "unet3d": (2, 18 * MEBI, 67 * MEBI, "volumes of 57 to 213 MB at 1/3 of their size"),
        "retinanet": (331, JPEG, JPEG, None),
        "checkpoint": (1, 16 * MEBI, 16 * MEBI, "0.12% of the 8B checkpoint"),
        "kvcache": (2, *KV),
    },
}


@pytest.mark.parametrize("server", TABLE, ids=str)
def test_files_fill_the_budget_as_far_as_they_are_worth_it(server: tuple[str, int, int, int]) -> None:
    mode, free, memory, cores = server
    measure = sizes(request(mode=mode), free, memory, cores)
    found = {work.layout: measure.files(work) for work in WORKS if work.operation != "fsync"}
    assert {name: (one.per_job, one.least, one.most, one.scaled) for name, one in found.items()} == TABLE[server]


def test_the_fewest_files_are_worth_measuring_beyond_the_budget() -> None:
    measure = replace(sizes(request(seconds=1), 1 << 40, GIB, 16), budget=1 * MEBI)
    counts = {work.layout: measure.files(work).per_job for work in WORKS}
    assert counts == {"common": 1, "meta": 50, "unet3d": 2, "retinanet": 8, "checkpoint": 1, "kvcache": 1}
    assert {measure.files(work).most for work in works([BenchProfile.SEQ])} == {MEBI}
    # 400 files a second of a repeat, 20,000 at most
    assert [
        replace(measure, budget=GIB, seconds=seconds).files(works([BenchProfile.META])[0]).per_job
        for seconds in (2, 60)
    ] == [
        800,
        16_384,
    ]
    assert replace(measure, budget=16 * GIB, seconds=60).files(works([BenchProfile.META])[0]).per_job == 20_000


def test_the_mean_of_a_volume_is_between_its_limits() -> None:
    assert (
        sizes(request(mode="full"), 1 << 40, 128 * GIB, 32).files(works([BenchProfile.UNET3D])[0]).mean
        == 257 * MEBI // 2
    )


def test_a_part_of_another_model_says_both() -> None:
    measure = sizes(request(model="405b", size=64 * GIB), 1 << 40, 64 * GIB, 16)
    scaled = measure.files(works([BenchProfile.CHECKPOINT])[0]).scaled
    assert scaled == "size-equivalent: 1.21% of the 405B checkpoint in the 8B layout"


@pytest.mark.parametrize("budget", [GIB // 32, GIB, 100 * GIB, 1024 * GIB])
def test_options_of_the_kv_cache_never_hold_more_than_the_largest_of_them(budget: int) -> None:
    measure = replace(sizes(request(), 1 << 40, GIB, 4), budget=budget)
    options = works([BenchProfile.KVCACHE])
    assert [(option.operation, measure.jobs_of(option), option.block, option.tier) for option in options] == [
        ("stress", 16, BLOCK, 0),
        ("throughput", 16, BLOCK, 4 * GIB),
        ("large", 4, 5 << 20, 0),
    ]
    assert all(
        "equivalent" in (option.stands_for or "") and "not a result" in (option.stands_for or "") for option in options
    )
    held = [measure.files(option).per_job * measure.files(option).most for option in options]
    # a job of one option finds the files of another, and makes them anew: its share must do for both
    assert held[0] == held[1] >= held[2] > 0
