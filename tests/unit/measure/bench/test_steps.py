# SPDX-License-Identifier: Apache-2.0
"""The steps of a run, from the drives to the clients."""

import pytest

from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import RungStep, layouts, pending, planned_steps
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import BenchState
from millrace.system.errors import BadInput, Refused
from tests.fakes.samples import external_pool
from tests.unit.measure.bench.sites import GIB, request, site


def ids(*steps: RungStep) -> list[str]:
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
    assert {step.work.profile for step in steps} == set(BenchProfile)
    alone = {step.target for step in steps if step.layer is BenchLayer.L0} - {"drives"}
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
    assert pending(skipped, sizes(request(), 1 << 40, GIB, 4)).state is BenchState.SKIPPED


def test_clients_are_named_or_not_measured() -> None:
    with pytest.raises(BadInput, match="L3 needs clients"):
        planned_steps(request(layers=["L3"]), site())


def test_work_on_files_needs_files() -> None:
    with pytest.raises(Refused, match="meta cannot be measured at L0"):
        planned_steps(request(layers=["L0"], profiles=["meta"]), site())


def test_each_step_names_the_devices_that_it_measures() -> None:
    steps = planned_steps(request(mode="full", profiles=["seq"], write_drives=["BLANK1"]), site())
    devices = {step.id: (step.devices, step.names) for step in steps if step.devices}
    data = [(f"/dev/nvme{number}n1", f"SN{number:03}") for number in range(12)]
    assert devices == {
        "L0/drives/seq/read": tuple(zip(*data[:10], strict=True)),
        **{f"L0/{serial}/seq/read": ((path,), (serial,)) for path, serial in data},
        "L0/BLANK1/seq/read": (("/dev/nvme20n1",), ("BLANK1",)),
        "L0/BLANK1/seq/write": (("/dev/nvme20n1",), ("BLANK1",)),
        "L1/array/seq/read": (("/dev/md/millrace-data",), ("array",)),
    }


def test_a_quick_run_has_the_quick_profiles_at_this_server_only() -> None:
    steps = planned_steps(request(), site())
    assert {step.work.profile.value for step in steps} == {"seq", "rand", "mixed", "fsync", "meta"}
    assert {step.layer.value for step in steps} == {"L0", "L1", "L2"}


def test_only_the_layers_that_were_asked_for_are_measured() -> None:
    for layer in ("L0", "L1", "L2"):
        assert {step.layer.value for step in planned_steps(request(layers=[layer]), site())} == {layer}


def test_a_refusal_names_the_workload_and_the_layer() -> None:
    sentence = "meta, fsync cannot be measured at L0: this workload needs files; choose L1 or L2"
    with pytest.raises(Refused) as why:
        planned_steps(request(layers=["L0"], profiles=["meta", "fsync"]), site())
    assert str(why.value) == sentence


def test_a_step_on_files_waits_with_its_jobs_and_bytes() -> None:
    measure = sizes(request(mode="full"), 100 * GIB, 64 * GIB, 4)
    steps = {step.id: pending(step, measure) for step in planned_steps(request(mode="full"), site())}
    stream = steps["L1/xfs/seq/read"]
    assert (stream.jobs, stream.size, stream.flags, stream.state) == (4, 25 * GIB, [], BenchState.PENDING)
    assert (stream.layer, stream.target, stream.reason) == (BenchLayer.L1, "xfs", None)
    rank = steps["L1/xfs/checkpoint/save"]
    assert (rank.jobs, rank.size, rank.flags) == (8, 25 * GIB, ["scaled"])
    assert rank.workload.equivalent == "23.81% of the 8B checkpoint"
    # drives are read as they are: a job each, and no files
    drives = steps["L0/drives/seq/read"]
    assert (drives.jobs, drives.size, drives.flags, drives.workload.equivalent) == (10, 0, [], None)


def test_files_of_each_set_are_counted_once() -> None:
    steps = planned_steps(request(mode="full"), site(protocols=["nfs-tcp", "smb"]))
    # common, unet3d, retinanet, checkpoint and kvcache; small files count for nothing
    assert layouts(steps) == 5
    assert layouts([step for step in steps if step.devices or step.skipped or step.work.layout == "meta"]) == 0


def test_the_ladder_of_an_external_device_begins_with_that_device() -> None:
    pool = external_pool("SN000")
    steps = planned_steps(
        request(mode="full", profiles=["seq"]), site(pool=pool, device=pool.filesystem.device, arrays=[])
    )
    drives = [step for step in steps if step.layer is BenchLayer.L0]
    assert [step.id for step in drives] == ["L0/drives/seq/read"]
    assert drives[0].skipped == "the drives behind an external device do not show; the device itself is L1"
    array = next(step for step in steps if step.layer is BenchLayer.L1)
    assert (array.id, array.devices, array.skipped) == ("L1/array/seq/read", (pool.filesystem.device,), None)
