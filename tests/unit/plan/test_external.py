# SPDX-License-Identifier: Apache-2.0
"""Plans on an external device: which device, its geometry, and every reason not to use it."""

from typing import Any

import pytest

from millrace.inventory.model import Drive, DriveState
from millrace.plan.model import Decision, Plan, PlanLayer, Refusal, Role
from millrace.plan.policy.model import ExternalPolicy, LayoutPolicy, LogPolicy, MdPolicy, Policy
from millrace.plan.policy.policy_file import parse_policy
from millrace.plan.propose import plan_file, propose
from millrace.plan.text import lines
from millrace.system.errors import BadInput
from tests.unit.plan.servers import GIB, TB, boot_drive, drive, found, server

MIB = 1 << 20
NAME, LOG_NAME = "/dev/disk/by-id/virtio-VD1", "/dev/disk/by-id/virtio-VD2"


def device(number: int = 1, size: int = 10 * TB, **more: Any) -> Drive:
    """A virtual disk or a LUN: no link, no NUMA node."""
    fields: dict[str, Any] = {
        "name": f"vd{'abcdef'[number]}",
        "serial": f"VD{number}",
        "wwid": "",
        "model": "",
        "transport": "virtio",
        "link": None,
        "numa_node": None,
        "pci_address": None,
        "links": [f"/dev/disk/by-id/virtio-VD{number}"],
        "max_discard": 0,
    }
    return drive(number, size, **{**fields, **more})


def policy(**more: Any) -> Policy:
    return Policy(layout=LayoutPolicy(backend="external"), external=ExternalPolicy(**{"devices": [NAME], **more}))


def planned(*drives: Drive, by: Policy | None = None) -> Plan:
    proposal = propose(server([*drives, boot_drive()]), by or policy())
    assert isinstance(proposal, Plan), proposal
    return proposal


def refused(*drives: Drive, by: Policy | None = None) -> str:
    """The only obstacle, with its remedy."""
    proposal = propose(server([*drives, boot_drive()]), by or policy())
    assert isinstance(proposal, Refusal)
    (obstacle,) = proposal.obstacles
    return f"{obstacle.what} {obstacle.todo}"


def decision(plan: Plan, name: str) -> Decision:
    (found,) = [one for one in plan.decisions if one.name == name]
    return found


@pytest.mark.parametrize("mode", ["pair", "partition", "internal"])
def test_a_place_of_the_log_on_arrays_is_refused(mode: str) -> None:
    by = policy().model_copy(update={"log": LogPolicy.model_validate({"mode": mode})})
    assert refused(device(), by=by) == (
        "The policy's log.mode cannot be used with backend external: there are no arrays to put the log on. Remove the "
        "key. external.log names a device for the log; without it the log is inside the file system."
    )


def test_the_file_system_lies_on_the_device_and_no_array_is_planned() -> None:
    plan = planned(device(), drive(7))
    assert (plan.backend, plan.arrays) == ("external", [])
    assert (plan.filesystem.device, plan.filesystem.log_device, plan.filesystem.log_size) == (NAME, None, None)
    roles = {role.serial: (role.role, [part.size for part in role.partitions]) for role in plan.drives}
    assert roles == {
        "VD1": (Role.DATA, [(10 * TB - 2 * MIB) // MIB * MIB]),
        "SN007": (Role.UNUSED, []),
        "BOOT": (Role.BOOT, []),
    }
    assert plan.capacity == roles["VD1"][1][0]
    assert not [option for option in plan.filesystem.mount_options if option.startswith("logdev")]


def test_no_decision_is_about_arrays() -> None:
    names = {one.name for one in planned(device()).decisions}
    assert {one for one in names if one.startswith("md.")} == {"md.read_ahead"}
    assert not names & {"chunk", "bitmap", "legs", "drives.data"}
    assert {"geometry", "layout", "partition", "filesystem.stripe", "discard"} <= names


def test_a_plan_of_md_keeps_the_hash_that_it_had_before_there_were_backends() -> None:
    plan = propose(server([drive(number) for number in range(4)]), Policy())
    assert isinstance(plan, Plan) and plan.backend == "md"
    assert plan.model_copy(update={"backend": "external"}).digest() != plan.digest()
    assert '"backend"' not in plan.canonical()


def test_stripes_are_those_that_the_device_reports() -> None:
    plan = planned(device(minimum_io=128 << 10, optimal_io=MIB))
    assert (plan.filesystem.stripe_unit, plan.filesystem.stripe_width) == (MIB, 1)
    assert decision(plan, "geometry").value == {"io_min": 128 << 10, "io_opt": MIB}
    assert "queue/optimal_io_size" in decision(plan, "geometry").source
    assert "the full stripe of the device" in decision(plan, "filesystem.stripe").reason


def test_the_partition_begins_at_a_full_stripe_of_an_odd_number_of_drives() -> None:
    plan = planned(device(minimum_io=128 << 10, optimal_io=768 << 10))
    assert decision(plan, "partition").value == {"start": 3 * MIB, "data": plan.capacity}
    assert plan.capacity == (10 * TB - 3 * MIB - MIB) // MIB * MIB


def test_a_geometry_by_policy_comes_before_that_of_the_device() -> None:
    plan = planned(device(minimum_io=4096, optimal_io=0), by=policy(io_min_kib=64, io_opt_kib=512))
    assert plan.filesystem.stripe_unit == 512 << 10
    assert decision(plan, "geometry").source == "policy file: external.io_min_kib, external.io_opt_kib"


@pytest.mark.parametrize(
    ("chunk", "stripe", "why"),
    [
        (None, None, "reports no full stripe"),
        (4096, 0, "reports no full stripe"),
        (512, 4096, "no larger than a sector"),
        (512, 33_553_920, "no units of 4096 bytes"),
        (96 << 10, 256 << 10, "no multiple of the chunk"),
        (4096, 4096 * 8191, "No partition begins"),
    ],
)
def test_a_geometry_that_is_no_use_is_left_out_with_the_reason(chunk: int | None, stripe: int | None, why: str) -> None:
    plan = planned(device(minimum_io=chunk, optimal_io=stripe))
    assert (plan.filesystem.stripe_unit, plan.filesystem.stripe_width) == (0, 0)
    assert why in decision(plan, "geometry").reason and why in decision(plan, "filesystem.stripe").reason


def test_a_geometry_by_policy_that_is_no_use_is_refused() -> None:
    said = refused(device(), by=policy(io_min_kib=96, io_opt_kib=256))
    assert said == (
        "The policy's external.io_opt_kib cannot be used on this server: The full stripe is no multiple of the chunk "
        "(chunk 98304 bytes, full stripe 262144 bytes). Give chunk and full stripe of the device: io_opt_kib is a "
        "multiple of io_min_kib. Or remove both keys."
    )


def test_the_log_gets_a_device_of_its_own() -> None:
    plan = planned(device(), device(2, 100 * GIB), by=policy(log=LOG_NAME))
    assert (plan.filesystem.log_device, plan.filesystem.log_size) == (LOG_NAME, 2038 * MIB)
    assert [part.size for one in plan.drives if one.role is Role.LOG for part in one.partitions] == [2038 * MIB]
    assert any("one copy" in warning for warning in plan.warnings)
    assert "the log on its own device" in decision(plan, "filesystem.mount_options").reason


def test_discards_reach_a_device_that_takes_them_unless_the_policy_says_never() -> None:
    able = device(max_discard=1 << 30)
    assert planned(able).filesystem.discard is True
    assert planned(device()).filesystem.discard is False
    never = policy().model_copy(update={"md": MdPolicy(discard="never")})
    assert planned(able, by=never).filesystem.discard is False


def test_the_limits_of_its_drives_are_not_known() -> None:
    prediction = planned(device()).prediction
    assert prediction is not None
    assert {one.state for one in prediction.outcomes} == {"healthy"}
    layers: list[PlanLayer] = [layer for one in prediction.outcomes for layer in one.layers]
    assert {one.limit for one in layers if one.name in ("drives", "pcie")} == {None}
    assert not [one for one in layers if one.name == "md"]


def test_the_plan_is_shown_with_its_device() -> None:
    shown = "\n".join(lines(plan_file(planned(device()))))
    assert "partition of 10 TB" in shown and "the external device, which is blank" in " ".join(shown.split())
    assert "external.devices" not in shown.split("Decision")[0] or "VD1" in shown


def test_a_device_of_a_vendor_is_named_by_its_array() -> None:
    xi = device(name="xi_data", serial="xi_data", links=[], transport="xi_data")
    plan = planned(xi, by=policy(devices=["/dev/xi_data"]))
    assert plan.filesystem.device == "/dev/xi_data"


@pytest.mark.parametrize(
    ("drives", "by", "said"),
    [
        ([device()], policy(devices=[]), "it names no device. Name one: devices ="),
        (
            [device()],
            policy(devices=[NAME, LOG_NAME]),
            "it names 2 devices, and without md nothing joins them. Name one",
        ),
        ([device(2)], None, f"this server has no device {NAME}. Connect it, or correct the name"),
        ([device()], policy(log=NAME), "it is the device of the data. Name another device"),
        ([device(size=100 * MIB)], None, f"{NAME} is too small: 105 MB. Use a device of 537 MB or more."),
        ([device(logical_block=16384)], None, "has sectors of 16384 bytes"),
        (
            [device(**found(DriveState.FOREIGN, "XFS file system (label old)"))],
            None,
            f"{NAME} is foreign, not blank: XFS file system (label old). Copy its data elsewhere",
        ),
        (
            [device(**found(DriveState.UNKNOWN, "cannot be read"))],
            None,
            f"{NAME} is unknown, not blank: cannot be read.",
        ),
        ([device(**found(DriveState.BOOT, "carries /var"))], None, f"{NAME} is in use: it carries /var. Name another"),
        (
            [device(**found(DriveState.OURS, "Millrace partition millrace-data-00"))],
            None,
            "Belongs to another Millrace pool: do not erase it. Keep it unchanged.",
        ),
        ([device(), device(2, serial="VD1", links=[])], None, "the serial number VD1 of another device"),
    ],
)
def test_a_device_that_cannot_be_used_is_refused_in_one_sentence(
    drives: list[Drive], by: Policy | None, said: str
) -> None:
    assert said in refused(*drives, by=by)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[layout]\nbackend = "xiraid"', "layout.backend: must be 'md' or 'external'"),
        ('[layout]\nbackend = "external"\nlevel = "raid6"', "level shapes arrays of md, and backend external has none"),
        (
            '[external]\ndevices = ["/dev/sdb"]',
            "/dev/sdb may be another device after a restart: use its name in /dev/disk",
        ),
        ('[external]\ndevices = ["/dev/vda1"]', "/dev/vda1 may be another device after a restart"),
        ('[external]\ndevices = ["../sdb"]', "'../sdb' is not the path of a device in /dev/disk/by-id"),
        ('[external]\nlog = "/dev/disk/by-id/../../sdb"', "is not the path of a device in /dev/disk/by-id"),
        ("[external]\nio_opt_kib = 5", "must be a multiple of 4"),
    ],
)
def test_a_policy_that_names_no_device_is_refused_with_its_key(text: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_policy(text, "policy.toml")
    assert said in str(error.value)
