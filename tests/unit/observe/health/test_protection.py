# SPDX-License-Identifier: Apache-2.0
"""Scheduled snapshots of shares that are late or failed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.observe.health.checks import protection
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.observe.metrics.sources import protection as metrics
from millrace.protect.light import Light, LightState, absent
from millrace.protect.protection import places
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import pool

Shows = Callable[..., None]
AT = "2026-11-30T12:00:00+00:00"


@pytest.fixture
def shows(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Shows:
    write_model(paths.pool_file(), pool())

    def show(*states: LightState, schedule: str | None = "24 hourly") -> None:
        lights: list[Light] = [
            absent("data", place, "see why").model_copy(
                update={"state": state, "schedule": schedule, "last": AT, "sentence": f"{place} is {state}."}
            )
            for place, state in zip(places.PLACES, states, strict=False)
        ]
        monkeypatch.setattr(places, "lights", lambda *_: lights)

    return show


def host(uptime: float = 7200) -> Host:
    return Host(lambda _, stdin=None: Result(0, "", ""), uptime=lambda: uptime)


@pytest.mark.parametrize("state", ["late", "failed"])
def test_snapshots_that_are_late_or_failed_are_a_warning(shows: Shows, state: LightState) -> None:
    # what is kept elsewhere has checks of its own
    shows(state, "failed", "late")
    [finding] = protection.check(host())
    assert (finding.kind, finding.subject, finding.level, finding.todo) == (state, "data/here", Level.WARN, "see why")


def test_share_without_any_copy_is_no_finding(shows: Shows) -> None:
    shows("none", "none", "none", schedule=None)
    assert protection.check(host()) == []


def test_copies_in_time_are_ok(shows: Shows) -> None:
    shows("ok", "running", "none")
    [finding] = protection.check(host())
    assert (finding.level, finding.sentence) == (Level.OK, "1 share has snapshots by schedule, none of which is late.")


def test_nothing_is_late_in_the_first_hour_after_a_start(shows: Shows) -> None:
    shows("late")
    assert [finding.level for finding in protection.check(host(60))] == [Level.OK]
    shows("failed")
    assert [finding.kind for finding in protection.check(host(60))] == ["failed"]


def test_metrics_have_each_place_with_its_age(shows: Shows) -> None:
    shows("late", "ok")
    late, last, drills = metrics.families()
    assert [(sample.labels["place"], sample.value) for sample in late.samples] == [("here", 1), ("second-server", 0)]
    assert {sample.value for sample in last.samples} == {1796040000.0} and drills.samples == []


def test_server_without_a_pool_has_no_lights(shows: Shows) -> None:
    shows("late")
    paths.pool_file().unlink()
    assert metrics.families() == [] and protection.check(host()) == []
