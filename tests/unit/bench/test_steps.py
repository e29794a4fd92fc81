# SPDX-License-Identifier: Apache-2.0
"""The steps of a run, from the drives to the clients."""

import pytest

from millrace.bench.plan.sizes import sizes
from millrace.bench.plan.steps import Step, pending, planned_steps
from millrace.bench.result.choices import Layer, Profile
from millrace.bench.result.model import State
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
