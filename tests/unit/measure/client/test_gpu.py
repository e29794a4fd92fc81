# SPDX-License-Identifier: Apache-2.0
"""What clients with GPUs need beside the mount."""

import datetime
import json
from dataclasses import replace
from ipaddress import ip_interface
from typing import Any

import pytest

from millrace.measure.client.model import GpuSettings
from millrace.system.errors import BadInput
from millrace_client import source
from tests.unit.measure.client.servers import TRAIN, recipe

KNOWN = json.loads(source("gpu_traps.json"))


def settings(maker: str, **more: Any) -> GpuSettings:
    found = recipe(protocol=None, gpu=maker, **more).gpu
    assert found is not None
    return found


def test_cufile_gets_the_only_shape_that_it_takes() -> None:
    (part,) = settings("nvidia", client_addresses=["10.0.0.21", "fd00::21"]).merge
    assert part.path == "/etc/cufile.json"
    table = {"/mnt/train": {"rdma_dev_addr_list": ["10.0.0.21", "fd00::21"]}}
    assert json.loads(part.text) == {"fs": {"nfs": {"mount_table": table}}}


def test_without_addresses_of_the_client_their_place_is_marked() -> None:
    made = recipe(protocol=None, gpu="nvidia")
    assert made.gpu and "ADDRESS-OF-THIS-CLIENT" in made.gpu.merge[0].text
    assert any("--client-address" in note.text for note in made.notes)
    with_address = recipe(protocol=None, gpu="nvidia", client_addresses=["10.0.0.21"])
    assert not any("--client-address" in note.text for note in with_address.notes)


@pytest.mark.parametrize("address", ["10.0.0", "", "10.0.0.21/24", "mlx5_0", 'x"]'])
def test_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match="is not an address of the client"):
        settings("nvidia", client_addresses=[address])


@pytest.mark.parametrize("chosen", [{}, {"protocol": None, "gpu": "amd"}])
def test_addresses_of_the_client_without_cufile_are_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="--client-address is for cufile"):
        recipe(client_addresses=["10.0.0.21"], **chosen)


def test_trunk_is_chosen_where_the_server_has_several_addresses() -> None:
    assert recipe(protocol=None, gpu="nvidia").protocol == "nfs-rdma-trunked"
    one = [ip_interface("10.0.0.2/24"), ip_interface("fd00::2/64")]
    assert recipe(protocol=None, gpu="nvidia", served=replace(TRAIN, rdma=one)).protocol == "nfs-rdma"
    assert recipe(protocol="nfs-rdma", gpu="nvidia").protocol == "nfs-rdma"


def test_kerberos_that_only_authenticates_is_no_obstacle() -> None:
    assert recipe(protocol=None, gpu="amd", served=replace(TRAIN, sec="krb5")).gpu


def test_makers_have_their_own_settings() -> None:
    nvidia, amd = settings("nvidia"), settings("amd")
    assert nvidia.merge and not nvidia.environment and not amd.merge
    assert amd.environment[0].option == "HIPFILE_UNSUPPORTED_FILE_SYSTEMS=true"
    assert not {one.id for one in nvidia.traps} & {one.id for one in amd.traps}


@pytest.mark.parametrize("maker", ["nvidia", "amd"])
def test_every_line_has_a_reason_and_a_source(maker: str) -> None:
    made = settings(maker)
    assert all(one.reason and one.source for one in [*made.needs, *made.environment, *made.proof])
    assert made.needs and made.proof and made.traps


@pytest.mark.parametrize("trap", KNOWN["traps"], ids=lambda one: str(one["id"]))
def test_trap_is_dated_and_can_be_looked_up(trap: dict[str, Any]) -> None:
    assert datetime.date.fromisoformat(trap["date"]) <= datetime.date.fromisoformat(KNOWN["read_on"])
    assert trap["source"].startswith("https://") and trap["problem"] and trap["fix"]
    assert trap["gpu"] in ("nvidia", "amd")


def test_expected_values_name_the_gpus() -> None:
    assert recipe(protocol=None, gpu="amd").expect.gpu == "amd"
    assert recipe().expect.gpu is None
