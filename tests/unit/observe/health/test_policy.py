# SPDX-License-Identifier: Apache-2.0
"""The policy is in force where the server was set up by the file as it is."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import policy as check
from millrace.plan.policy import policy_in_force
from millrace.system import paths
from tests.unit.observe.health.servers import host, sentences, well


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def test_policy_that_was_edited_by_hand_is_not_said_to_be_in_force() -> None:
    policy_in_force.save_last_good()
    fine = f"OK: The policy in {paths.policy_file()} is in force. []"
    assert sentences(check.check(host())) == fine
    text = paths.policy_file().read_text()
    paths.policy_file().write_text(text.replace("10.0.0.0/24", "10.9.0.0/24"))
    said = sentences(check.check(host()))
    assert said.startswith(
        f"WARN: The policy in {paths.policy_file()} was edited, and the server still runs by the one"
    )
    assert "millrace share render; millrace tune" in said
    # a comment changes nothing
    paths.policy_file().write_text(f"# why\n{text}")
    assert sentences(check.check(host())) == fine


def test_policy_that_nothing_was_served_by_yet_is_not_pending() -> None:
    paths.policy_file().write_text('[nfs]\nnetworks = ["10.9.0.0/24"]\n')
    assert sentences(check.check(host())).startswith("OK: ")
