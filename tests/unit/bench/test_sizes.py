# SPDX-License-Identifier: Apache-2.0
"""How much, how long and how often follows from the mode and the server."""

import os
from pathlib import Path

import pytest

from millrace import cli, paths
from millrace.bench.plan.sizes import MODES, sizes
from millrace.bench.plan.workloads import RANKS, WORKS, works
from millrace.bench.result.choices import Profile
from millrace.errors import BadInput, Refused
from tests.unit.bench.sites import GIB, request, site


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
    monkeypatch.setattr("millrace.bench.plan.site.site", lambda **_: site())
    monkeypatch.chdir(tmp_path)
    assert cli.run([*verb, option]) == 2
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
    (save, _) = works([Profile.CHECKPOINT])
    assert measure.jobs_of(save) == RANKS
    assert measure.files(save).scaled == "9.52% of the 8B checkpoint"


def test_another_model_is_a_size_equivalent() -> None:
    measure = sizes(request(model="405b", size=50 << 40), 100 << 40, 64 * GIB, 16)
    (save, _) = works([Profile.CHECKPOINT])
    assert measure.files(save).scaled == "size-equivalent of a 405B checkpoint in the 8B layout"
