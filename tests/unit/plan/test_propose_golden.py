# SPDX-License-Identifier: Apache-2.0
"""Plans of some servers, whole: table, findings, prediction, and each decision with value, reason and source."""

from tests.unit.plan.golden import FILES, texts


def test_each_plan_is_as_recorded() -> None:
    recorded = {path.name: path.read_text() for path in FILES.iterdir()}
    made = texts()
    assert made.keys() == recorded.keys()
    differing = [name for name in made if made[name] != recorded[name]]
    assert differing == [], "read the differences of: python -m tests.unit.plan.golden; git diff"
