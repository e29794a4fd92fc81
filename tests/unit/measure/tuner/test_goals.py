# SPDX-License-Identifier: Apache-2.0
"""Goals are measurements of the ladder with weights; the score is their weighted geometric mean."""

from typing import get_args

import pytest

from millrace.measure.bench.plan.workloads import WORKS
from millrace.measure.tuner.search.goals import GOALS, PROFILES, ProfileName, of_profile, parse, score
from millrace.system.errors import BadInput


def test_weights_are_normalised() -> None:
    assert {one.name: one.weight for one in parse("seq-read=3, fsync=1")} == {"seq-read": 0.75, "fsync": 0.25}


def test_goal_without_a_number_weighs_one() -> None:
    assert [one.weight for one in parse("seq-read,fsync")] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seq-raed=3", r"There is no goal 'seq-raed'; goals are seq-read, .*\."),
        ("fsync=1,fsync=2", r"The goal fsync is named twice"),
        ("fsync=0", r"The weight of fsync is '0'; give a number above 0"),
        ("fsync=-1", r"The weight of fsync is '-1'"),
        ("fsync=", r"The weight of fsync is ''"),
        ("fsync=nan", r"The weight of fsync is 'nan'"),
        ("fsync=1e400", r"The weight of fsync is '1e400'"),
        ("", r"Name at least one goal"),
        ("rebuild=2", r"The goal rebuild is measured beside others; name one, such as seq-read=3,rebuild=1\."),
        (" , ", r"Name at least one goal"),
    ],
)
def test_bad_goal_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_unknown_profile_names_the_profiles() -> None:
    with pytest.raises(BadInput, match=r"There is no profile 'games'; profiles are training, checkpoint, mixed, smb\."):
        of_profile("games")


def test_every_profile_can_be_chosen_on_the_page() -> None:
    assert set(get_args(ProfileName)) == set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_profile_weighs_known_goals(name: str) -> None:
    assert sum(one.weight for one in of_profile(name)) == pytest.approx(1)
    assert PROFILES[name].reason.endswith(".")


def test_every_goal_is_a_workload_of_the_ladder() -> None:
    of_ladder = {one.work for name, one in GOALS.items() if name != "rebuild"}
    assert of_ladder and of_ladder <= {one.name for one in WORKS} and GOALS["rebuild"].work is None


def test_score_is_the_weighted_geometric_mean() -> None:
    goals = parse("seq-read=3,fsync=1")
    found = score(goals, {"seq-read": 200.0, "fsync": 50.0}, {"seq-read": 100.0, "fsync": 100.0})
    assert found == pytest.approx(2**0.75 * 0.5**0.25)


def test_time_counts_the_other_way() -> None:
    slow = [one.model_copy(update={"better": "lower", "unit": "s"}) for one in parse("fsync")]
    assert score(slow, {"fsync": 2.0}, {"fsync": 1.0}) == pytest.approx(0.5)


@pytest.mark.parametrize("figures", [{}, {"fsync": 0.0}])
def test_missing_figure_has_no_score(figures: dict[str, float]) -> None:
    assert score(parse("fsync"), figures, {"fsync": 1.0}) is None
