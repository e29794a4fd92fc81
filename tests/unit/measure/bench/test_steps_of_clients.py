# SPDX-License-Identifier: Apache-2.0
"""L3 has a step for each way that clients reach the server."""

from pathlib import Path

import pytest

from millrace.cli import program
from millrace.measure.bench.plan.steps import layouts, planned_steps
from millrace.measure.bench.run import guard
from millrace.measure.bench.run.remote import tokens
from millrace.measure.bench.verbs import bench
from millrace.system.errors import BadInput
from millrace.system.run import Result
from tests.fakes.mounts import mount
from tests.unit.measure.bench.remotes import TOKEN, client, listening
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Tools


def test_l3_has_a_rung_for_each_way_that_clients_reach_the_server() -> None:
    here = site(clients=[client("a", rdma=True), client("b", rdma=True)])
    wanted = request(layers=["L3"], profiles=["seq"], clients=["a", "b"])
    steps = planned_steps(wanted, here)
    assert [(step.id, step.copies) for step in steps if not step.skipped] == [
        (f"L3/{target}/seq/{way}", 2) for target in ("nfs-tcp", "nfs-rdma") for way in ("read", "write")
    ]
    assert layouts(steps) == 2
    reasons = {step.target: step.skipped for step in planned_steps(wanted, site(clients=[client("a")]))}
    assert reasons["nfs-rdma"] == "client a has no RDMA device"
    assert reasons["smb"] == "SMB is measured on the client: `millrace client bench`"


def test_what_a_refusal_names_exists() -> None:
    with pytest.raises(BadInput, match=r"L3 needs clients: `millrace bench clients add HOST`, then --client HOST"):
        planned_steps(request(layers=["L3"]), site())
    group = bench.commands["clients"]
    assert {"add", "list", "remove", "take"} <= set(group.commands)  # type: ignore[attr-defined]
    assert "client" in program.VERBS
    with pytest.raises(BadInput, match="--client is for L3"):
        planned_steps(request(layers=["L1"], clients=["a"]), site())


def test_a_client_that_went_away_is_in_the_way_of_a_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "proc/1").mkdir(parents=True)
    mount(root, "/dev/md127", "/srv/pool", "xfs", "rw")
    here = site(clients=[client("gpu1")])
    tokens.keep("gpu1", TOKEN)
    tools = Tools({"smbstatus --json": Result(0, '{"sessions": {}}', "")})
    with listening(monkeypatch):
        assert guard.check(request(clients=["gpu1"]), here, tools).obstacles == []
    (obstacle,) = guard.check(request(clients=["gpu1"]), here, tools).obstacles
    assert obstacle.startswith("client gpu1 does not answer")
