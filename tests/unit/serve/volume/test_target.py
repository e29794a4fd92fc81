# SPDX-License-Identifier: Apache-2.0
"""nvmet serves what it should and nothing else, from whatever a kill left of its tree."""

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from millrace.serve.volume import target
from millrace.serve.volume.target import DesiredTarget, Listener, Subsystem
from tests.fakes.nvmet import FakeNvmet, Killed
from tests.unit.serve.volume.conftest import HOST, OTHER

UUID = "0a1b2c3d-1111-4222-8333-944444444444"
NQN = f"nqn.2014-08.org.nvmexpress:uuid:{UUID}"
SECRET = "DHHC-1:00:secret:"


@pytest.fixture
def goal(tmp_path: Path) -> DesiredTarget:
    data = tmp_path / "data"
    data.write_bytes(bytes(4096))
    listeners = [Listener("tcp", ip_address(text), 4420) for text in ("10.0.0.2", "fd00::2")]
    return DesiredTarget([Subsystem(NQN, "0a1b2c3d", UUID, str(data), [HOST], False, listeners)], {HOST: SECRET})


def served(tree: FakeNvmet) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    return tree.attributes, tree.links


def test_volume_is_served_with_its_identity_to_its_hosts_alone(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    assert target.apply(goal, tree) == []
    namespace = tree.attributes[f"subsystems/{NQN}/namespaces/1"]
    assert (namespace["device_uuid"], namespace["device_nguid"], namespace["enable"]) == (UUID, UUID, "1")
    assert namespace["buffered_io"] == "0"
    assert tree.names(f"subsystems/{NQN}/allowed_hosts") == [HOST]
    assert tree.read(f"subsystems/{NQN}/attr_allow_any_host") == "0"
    assert tree.read(f"hosts/{HOST}/dhchap_key") == SECRET
    assert target.addresses(goal.subsystems[0], tree) == ["10.0.0.2", "fd00::2"]
    assert target.missing(goal.subsystems[0], tree) is None


def test_serving_it_again_changes_nothing_and_drops_nobody(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    target.apply(goal, tree)
    before, tree.changes = (dict(tree.attributes), dict(tree.links)), 0
    assert target.apply(goal, tree) == []
    assert served(tree) == before
    # the size alone is looked at again
    assert (tree.changes, tree.dropped) == (1, [])


def test_tree_that_a_kill_left_at_any_step_is_repaired(goal: DesiredTarget) -> None:
    whole = FakeNvmet()
    target.apply(goal, whole)
    assert whole.changes > 15
    for steps in range(whole.changes):
        tree = FakeNvmet()
        tree.left = steps
        with pytest.raises(Killed):
            target.apply(goal, tree)
        tree.left = None
        assert target.apply(goal, tree) == []
        assert served(tree) == served(whole), steps


def test_tree_that_a_kill_left_while_it_was_removed_is_removed(goal: DesiredTarget) -> None:
    steps = 0
    while True:
        tree = FakeNvmet()
        target.apply(goal, tree)
        tree.left = steps
        try:
            target.apply(DesiredTarget(), tree)
        except Killed:
            tree.left = None
            assert target.apply(DesiredTarget(), tree) == []
            assert served(tree) == ({}, {})
            steps += 1
            continue
        break
    assert steps > 5
    assert served(tree) == ({}, {})


def test_host_that_is_no_longer_allowed_is_disconnected(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    target.apply(goal, tree)
    [one] = goal.subsystems
    assert target.apply(DesiredTarget([replace(one, hosts=[OTHER])]), tree) == []
    # the kernel lets it stay connected until the links to the ports are gone
    assert tree.dropped == [NQN, NQN]
    assert tree.names(f"subsystems/{NQN}/allowed_hosts") == [OTHER]
    assert tree.names("hosts") == [OTHER]


def test_host_that_is_added_disconnects_nobody(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    target.apply(goal, tree)
    [one] = goal.subsystems
    assert target.apply(DesiredTarget([replace(one, hosts=[HOST, OTHER])], goal.secrets), tree) == []
    assert tree.dropped == []
    assert tree.names(f"subsystems/{NQN}/allowed_hosts") == [HOST, OTHER]


def test_address_that_is_gone_is_left_and_others_stay(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    target.apply(goal, tree)
    [one] = goal.subsystems
    assert target.apply(DesiredTarget([replace(one, listeners=one.listeners[:1])], goal.secrets), tree) == []
    assert target.addresses(one, tree) == ["10.0.0.2"]
    assert len(tree.dropped) == 1


def test_address_that_the_kernel_refuses_is_a_problem_and_the_other_serves(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    tree.unusable = {"fd00::2"}
    [problem] = target.apply(goal, tree)
    assert "does not listen on fd00::2 port 4420" in problem
    assert target.missing(goal.subsystems[0], tree) is None


def test_volume_without_its_file_does_not_listen(goal: DesiredTarget) -> None:
    Path(goal.subsystems[0].path).unlink()
    tree = FakeNvmet()
    [problem] = target.apply(goal, tree)
    assert "is not exported: No such file or directory" in problem
    assert tree.names("ports") == []
    assert target.missing(goal.subsystems[0], tree) == "it is not exported"


def test_what_has_grown_is_reported_to_hosts(goal: DesiredTarget) -> None:
    tree = FakeNvmet()
    target.apply(goal, tree)
    Path(goal.subsystems[0].path).write_bytes(bytes(8192))
    target.apply(goal, tree)
    assert tree.sizes[f"subsystems/{NQN}/namespaces/1"] == 8192
    assert tree.dropped == []
