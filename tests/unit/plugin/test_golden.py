# SPDX-License-Identifier: Apache-2.0
"""Golden files of the pages are what the command line prints today."""

import json
from typing import Any

import pytest

from tests.unit.plugin import golden


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return golden.documents()


def test_the_files_in_the_tree_are_what_the_verbs_print(made: dict[str, str]) -> None:
    kept = {str(path.relative_to(golden.FILES)): path.read_text() for path in golden.kept()}
    hint = "run tools/host/enter types and look at what changed"
    assert sorted(kept) == sorted(made), hint
    assert [path for path in made if made[path] != kept[path]] == [], hint


def test_every_state_of_a_server_is_there(made: dict[str, str]) -> None:
    def level(server: str) -> Any:
        return json.loads(made[f"{server}/status.json"])["health"]["level"]

    assert json.loads(made["empty/plan.json"])["proposal"]["verdict"] == "refused"
    assert json.loads(made["1u12-blank/plan.json"])["sha256"]
    assert json.loads(made["1u12-building/status.json"])["jobs"][0]["name"] == "provision"
    assert json.loads(made["1u12-rebuilding/status.json"])["jobs"][0]["name"] == "rebuild"
    assert [array["degraded"] for array in json.loads(made["1u12-degraded/pool-show.json"])["arrays"]] == [1, 0]
    assert level("1u12-provisioned") == level("1u12-degraded") == "WARN"
    assert not json.loads(made["1u12-user/status.json"])["as_root"]


def test_nothing_in_them_belongs_to_the_build_host(made: dict[str, str]) -> None:
    assert [path for path, text in made.items() if "/tmp" in text or "pytest" in text] == []
