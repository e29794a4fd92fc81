# SPDX-License-Identifier: Apache-2.0
"""Health names the settings that changed at this boot, and why some are not computed."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import settings as check
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.settings import SettingChange, SettingsFile
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.run import Result
from tests.unit.observe.health.servers import host, well


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def change(name: str, before: int, after: int) -> SettingChange:
    about = {"name": name, "before": before, "after": after, "before_text": str(before), "after_text": str(after)}
    why = {"reason": "Set by the policy.", "source": "policy", "causes": ["policy"], "at": "2026-11-20T12:00:00+00:00"}
    return SettingChange.model_validate({**about, **why})


def with_(**update: object) -> list[HealthFinding]:
    document = read_model(paths.settings_file(), SettingsFile)
    write_model(paths.settings_file(), document.model_copy(update=update))
    return check.check(host())


def test_nothing_changed() -> None:
    [found] = check.check(host())
    assert (found.level, found.sentence) == (Level.OK, "This boot computed the runtime settings of the boot before.")


def test_first_changes_are_listed_and_the_others_counted() -> None:
    [found] = with_(changes=[change(f"md.setting{number}", number, number + 1) for number in range(5)])
    assert (found.level, found.key, found.todo) == (Level.OK, "settings/changed", None)
    assert found.sentence == (
        "Settings changed at this boot: 5. md.setting0: 0 -> 1 (policy); md.setting1: 1 -> 2 (policy); "
        "md.setting2: 2 -> 3 (policy); and 2 more."
    )


def test_settings_of_an_earlier_boot_are_a_warning() -> None:
    problem, unchanged = with_(problem="the settings of this server cannot be computed: x; those of y stay in force")
    assert (problem.level, problem.sentence[:12]) == (Level.WARN, "The settings")
    assert problem.todo and unchanged.level is Level.OK


def test_override_that_is_ignored_is_a_warning_with_its_remedy() -> None:
    document = read_model(paths.settings_file(), SettingsFile)
    ignored = "The policy's nfsd.threads cannot be used on this server: x. It is ignored. Set nfsd.threads lower."
    [found, _] = with_(settings=document.settings.model_copy(update={"warnings": [ignored]}))
    assert (found.level, found.sentence) == (Level.WARN, ignored)
    assert found.todo and "policy.toml" in found.todo


@pytest.mark.parametrize(("answer", "when"), [("starting", "yet"), ("running", "in this boot")])
def test_settings_that_were_not_computed_are_a_warning(answer: str, when: str) -> None:
    paths.settings_file().unlink()
    [found] = check.check(host(running=Result(0, f"{answer}\n", "")))
    assert (found.level, found.sentence) == (Level.WARN, f"The runtime settings were not computed {when}.")
    assert found.todo == "systemctl status millrace-tune"


def test_server_without_a_pool_has_no_settings() -> None:
    paths.pool_file().unlink()
    assert check.check(host()) == []
