# SPDX-License-Identifier: Apache-2.0
"""`millrace plan --again` scans the drives and plans again, until a pool exists or is being built."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.plan.current import plan_again
from millrace.plan.verbs import plan
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.run import Result
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built, propose, server_for


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return []


def again(ran: list[Sequence[str]]) -> None:
    plan_again(lambda argv, stdin=None: ran.append(argv) or Result(0, "", ""))


def test_inventory_is_restarted_before_the_plan(ran: list[Sequence[str]]) -> None:
    again(ran)
    assert ran == [["systemctl", "restart", "millrace-inventory.service", "millrace-plan.service"]]


def test_server_with_a_pool_is_refused(ran: list[Sequence[str]]) -> None:
    built(server_for(raid6_plan()), raid6_plan())
    with pytest.raises(Refused, match="already has a pool"):
        again(ran)
    assert ran == []


def test_pool_that_is_being_built_is_not_planned_again(ran: list[Sequence[str]]) -> None:
    propose(raid6_plan())
    paths.transaction_file().parent.mkdir(parents=True, exist_ok=True)
    paths.transaction_file().write_text("{}")
    with pytest.raises(Refused, match="is being built"):
        again(ran)
    assert ran == []


def test_user_without_root_is_refused(ran: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(Refused, match="sudo"):
        again(ran)
    assert ran == []


@pytest.mark.parametrize("other", [["--write"], ["--inventory", "other.json"]])
def test_again_is_not_combined_with_other_options(other: list[str]) -> None:
    result = CliRunner().invoke(plan, ["--again", *other])
    assert (result.exit_code, "takes no --inventory and no --write" in result.output) == (2, True)
