# SPDX-License-Identifier: Apache-2.0
"""A subsystem that is not connected is a finding; one path of several is a warning."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import connections
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.fabrics import connection_store
from millrace.storage.fabrics.fabrics_model import FabricsConnection
from millrace.system import paths

NQN = "nqn.2014-08.org.nvmexpress:uuid:0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
BOTH = ("10.0.0.1", "10.0.1.1")


def found(root: Path, **states: str) -> HealthFinding:
    """The finding of a server whose controllers to both addresses are in these states."""
    connection_store.save(
        [FabricsConnection(nqn=NQN, host_nqn=NQN, transport="tcp", port=4420, addresses=list(BOTH))], {}
    )
    for number, state in enumerate(states.values()):
        place = root / f"sys/class/nvme/nvme{number}"
        place.mkdir(parents=True)
        for name, text in (
            ("transport", "tcp"),
            ("subsysnqn", NQN),
            ("state", state),
            ("address", f"traddr={BOTH[number]},trsvcid=4420"),
        ):
            (place / name).write_text(f"{text}\n")
    (finding,) = connections.check(Host(uptime=lambda: 10_000.0))
    return finding


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("root")
def test_nothing_is_said_where_nothing_is_connected() -> None:
    assert connections.check(Host(uptime=lambda: 10_000.0)) == []


def test_connected_over_each_path(root: Path) -> None:
    one = found(root, first="live", second="live")
    assert (one.level, one.sentence, one.subject) == (Level.OK, f"{NQN} is connected.", NQN)


def test_lost_path_is_a_warning_that_names_it(root: Path) -> None:
    one = found(root, first="live", second="connecting")
    assert (one.level, one.kind) == (Level.WARN, "path")
    assert one.sentence == f"{NQN} is not connected over 10.0.1.1 port 4420; its other paths are."
    assert one.todo is not None and one.todo.endswith("journalctl -k | grep nvme")


def test_lost_connection_is_a_failure_with_the_reason_in_the_log_of_its_unit(root: Path) -> None:
    one = found(root)
    assert (one.level, one.kind, one.subject) == (Level.FAIL, "connection", NQN)
    assert one.sentence == f"{NQN} is not connected: 10.0.0.1 port 4420, 10.0.1.1 port 4420."
    assert one.todo is not None and "journalctl -u millrace-backend.service" in one.todo
