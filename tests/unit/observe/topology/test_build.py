# SPDX-License-Identifier: Apache-2.0
"""Drives, ports and threads by NUMA node, and findings where they belong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.inventory.model import Inventory
from millrace.observe.topology.build import topology
from millrace.observe.topology.model import Topology, TopologyDrive
from millrace.system import net, paths
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from millrace.system.run import attempt
from tests.fakes.files.box import Box, serial
from tests.fakes.files.running import server
from tests.unit.plan import servers_hw


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        yield made


def look() -> Topology:
    return topology(net.serving(), attempt)


def drive(number: int) -> TopologyDrive:
    return next(one for node in look().nodes for one in node.drives if one.serial == serial(number))


def test_before_provisioning_the_plan_is_shown(box: Box) -> None:
    found = look()
    assert found.planned
    assert [(one.name, one.level) for one in found.arrays] == [("data", "raid6"), ("log", "raid1")]
    assert (drive(0).role, drive(0).array, drive(0).member) == ("data", "data", None)
    assert found.nfsd.threads == 0


def test_every_node_has_its_drives_ports_and_threads(box: Box) -> None:
    box.provision()
    first_node, two, nowhere = look().nodes
    assert [first_node.node, two.node, nowhere.node] == [0, 1, None]
    assert [drive.bay for drive in first_node.drives] == ["1", "3", "5", "7", "9", "11"]
    assert (first_node.cpus, two.cpus) == ("0-7", "8-15")
    assert (two.nfsd.threads, two.nfsd.cpus) == (8, "8-15")
    [port] = two.ports
    assert (port.name, port.addresses, port.rdma) == ("ens2np0", ["10.77.1.1/24"], "mlx5_1")
    assert port.irq_cpus == "8,10,12,14"
    assert [drive.state for drive in nowhere.drives] == ["boot"]


def test_picture_of_a_pool_does_not_need_the_plan_that_it_was_made_from(box: Box) -> None:
    box.provision()
    before = look()
    paths.approved_plan_file().unlink()
    paths.plan_file().unlink()
    assert look() == before
    assert {one.role for node in before.nodes for one in node.drives} == {"data", "log", "boot"}


def test_threads_that_no_node_keeps_are_counted_apart(box: Box) -> None:
    box.provision()
    for number in range(16):
        box.tree.write(f"proc/{300 + number}/status", "Name:\tnfsd\nPPid:\t2\nCpus_allowed_list:\t0-15\n")
    found = look()
    assert (found.nfsd.threads, found.nfsd.cpus) == (16, "0-15")
    assert [node.nfsd.threads for node in found.nodes] == [0, 0, 0]


def test_a_drive_that_was_pulled_stays_in_the_picture(box: Box) -> None:
    box.provision()
    box.pull("data", 3)
    gone = drive(3)
    assert (gone.present, gone.member, gone.bay, gone.array) == (False, "missing", "4", "data")


def test_drive_inserted_after_boot_is_shown(box: Box) -> None:
    box.provision()
    box.replace("data", 3, 12)
    new = drive(12)
    assert (new.present, new.member, new.array, new.role, new.state) == (True, "rebuilding", "data", None, "unknown")


def test_a_finding_is_at_its_drive(box: Box) -> None:
    [slow] = [one for one in look().findings if one.name == "link.drive"]
    assert (slow.where.drives, slow.where.ports, slow.where.nodes) == ([serial(6)], [], [0])
    link = drive(6).link
    assert link is not None and (link.gts, link.gts_most) == (16.0, 32.0)


def test_ports_on_the_other_processor_are_named_with_their_node(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = servers_hw.all_nics_on_node_1()
    write_model(paths.inventory_file(), inventory)
    monkeypatch.setattr("millrace.observe.topology.build.nics", lambda root, run: inventory.nics)
    [far] = [one for one in look().findings if one.name == "sockets.crossing"]
    assert (far.where.ports, far.where.nodes) == (["ens0np0", "ens1np0"], [1])


def test_legs_belong_to_the_data_array(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.plan.policy.model import Policy
    from millrace.plan.propose import plan_file, propose

    inventory: Inventory = servers_hw.two_u_24()
    write_model(paths.inventory_file(), inventory)
    write_model(paths.plan_file(), plan_file(propose(inventory, Policy())))
    places = {one.serial: (one.array, one.leg) for node in look().nodes for one in node.drives}
    assert {places[f"SN{number:03}"] for number in range(18)} == {("data", "leg0"), ("data", "leg1")}
    assert places["SN018"] == ("log", None)


def test_server_without_an_inventory_is_refused(box: Box) -> None:
    paths.inventory_file().unlink()
    with pytest.raises(Refused, match="no inventory of this boot"):
        look()
