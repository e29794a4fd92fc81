# SPDX-License-Identifier: Apache-2.0
"""What is measured where, how long it takes and how much it holds is decided before anything is touched."""

import os
from pathlib import Path

import pytest

from millrace import cli, paths
from millrace.bench.plan.estimate import estimate
from millrace.bench.plan.sizes import MODES, sizes
from millrace.bench.plan.steps import Step, pending, planned_steps
from millrace.bench.plan.workloads import RANKS, WORKS, works
from millrace.bench.result.model import Layer, Profile, State
from millrace.errors import BadInput, Refused
from tests.unit.bench.sites import GIB, request, site


def ids(*steps: Step) -> list[str]:
    return [step.id for step in steps]


def test_a_quick_run_climbs_from_the_drives_to_the_protocols() -> None:
    steps = planned_steps(request(profiles=["seq"]), site())
    assert ids(*steps) == [
        "L0/drives/seq/read",
        "L1/array/seq/read",
        "L1/xfs/seq/read",
        "L1/xfs/seq/write",
        *(f"L2/{protocol}/seq/{way}" for protocol in ("nfs-tcp", "nfs-rdma", "smb") for way in ("read", "write")),
    ]
    assert steps[0].devices == tuple(f"/dev/nvme{number}n1" for number in range(10))


def test_a_full_run_has_every_profile_and_each_drive_alone() -> None:
    steps = planned_steps(request(mode="full"), site())
    assert {step.work.profile for step in steps} == set(Profile)
    alone = {step.target for step in steps if step.layer is Layer.L0} - {"drives"}
    assert alone == {f"SN{number:03}" for number in range(12)}


def test_drives_and_the_array_are_only_read() -> None:
    steps = planned_steps(request(mode="full"), site())
    assert not [step.id for step in steps if step.devices and step.work.writes]


def test_a_blank_drive_is_written_only_if_its_serial_was_typed() -> None:
    steps = planned_steps(request(profiles=["seq"], layers=["L0"], write_drives=["BLANK1"]), site())
    written = [step for step in steps if step.work.writes]
    assert ids(*written) == ["L0/BLANK1/seq/write"]
    assert written[0].devices == ("/dev/nvme20n1",)


@pytest.mark.parametrize("serial", ["SN003", "BOOT", "NOBODY"])
def test_no_other_drive_is_ever_written(serial: str) -> None:
    with pytest.raises(Refused, match=f"{serial} is not a blank drive"):
        planned_steps(request(write_drives=[serial]), site())


def test_rdma_is_left_out_with_its_reason_where_there_is_no_device() -> None:
    steps = planned_steps(request(profiles=["fsync"], layers=["L2"]), site(protocols=["nfs-tcp", "smb"]))
    (skipped,) = [step for step in steps if step.skipped]
    assert (skipped.id, skipped.skipped) == ("L2/nfs-rdma/fsync/fsync", "this server has no RDMA device")
    assert pending(skipped, sizes(request(), 1 << 40, GIB, 4)).state is State.SKIPPED


def test_clients_are_named_or_not_measured() -> None:
    with pytest.raises(BadInput, match="L3 needs clients"):
        planned_steps(request(layers=["L3"]), site())


def test_work_on_files_needs_files() -> None:
    with pytest.raises(Refused, match="meta cannot be measured at L0"):
        planned_steps(request(layers=["L0"], profiles=["meta"]), site())


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
    with pytest.raises(Refused, match=r"2 TiB are more than 80% of the 1 TiB that are free"):
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


def test_the_hash_is_of_the_work_and_not_of_the_site() -> None:
    small, large = sizes(request(), 100 * GIB, GIB, 2), sizes(request(mode="full"), 1 << 40, 64 * GIB, 64)
    one = {pending(step, small).id: pending(step, small).workload.sha256 for step in planned_steps(request(), site())}
    other = {pending(step, large).id: pending(step, large).workload.sha256 for step in planned_steps(request(), site())}
    assert one == other
    # the same work at another rung is the same work; other work is not
    assert one["L1/xfs/seq/read"] == one["L2/smb/seq/read"]
    assert len(set(one.values())) == len({rung.split("/", 2)[2] for rung in one})


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
