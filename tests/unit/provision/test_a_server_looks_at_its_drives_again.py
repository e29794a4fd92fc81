# SPDX-License-Identifier: Apache-2.0
"""Drives were exchanged: they are looked at and a plan is made anew, as long as nothing is built on the old one."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace import paths
from millrace.errors import Refused
from millrace.plan.again import plan_again
from millrace.plan.verbs import plan
from millrace.system.run import Result
from tests.unit.provision.plans import raid6_plan
from tests.unit.provision.server import built, propose
from tests.unit.provision.world import World


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return []


def again(ran: list[Sequence[str]]) -> None:
    plan_again(lambda argv, stdin=None: ran.append(argv) or Result(0, "", ""))


def test_the_inventory_is_taken_before_the_plan_is_made(root: Path, ran: list[Sequence[str]]) -> None:
    again(ran)
    assert ran == [["systemctl", "restart", "millrace-inventory.service", "millrace-plan.service"]]


def test_a_pool_stays_what_it_is(world: World, ran: list[Sequence[str]]) -> None:
    built(world, raid6_plan())
    with pytest.raises(Refused, match="already has a pool"):
        again(ran)
    assert ran == []


def test_nothing_changes_under_a_pool_that_is_being_built(root: Path, ran: list[Sequence[str]]) -> None:
    propose(raid6_plan())
    paths.transaction_file().parent.mkdir(parents=True, exist_ok=True)
    paths.transaction_file().write_text("{}")
    with pytest.raises(Refused, match="is being built"):
        again(ran)
    assert ran == []


def test_only_root_has_the_drives_looked_at(
    root: Path, ran: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(Refused, match="sudo"):
        again(ran)
    assert ran == []


@pytest.mark.parametrize("other", [["--write"], ["--inventory", "other.json"]])
def test_it_is_not_a_look_at_something_else(other: list[str]) -> None:
    result = CliRunner().invoke(plan, ["--again", *other])
    assert (result.exit_code, "give it alone" in result.output) == (2, True)
