# SPDX-License-Identifier: Apache-2.0
"""What is beyond chance."""

import math

import pytest

from millrace.measure.tuner.search.statistics import chance, clipped, gain, paired, together


def test_outlier_below_is_raised_and_one_above_stays() -> None:
    found = clipped([0.0, 0.01, 0.02, 0.03, 0.04, -2.0, 1.0])
    assert found[:5] == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert found[5] == pytest.approx(0.02 - 3 * 1.4826 * 0.02)
    assert found[6] == 1.0


def test_failure_is_an_outlier() -> None:
    assert clipped([0.0, None, 0.0])[1] == pytest.approx(-0.05)


def test_few_slow_runs_of_a_quiet_server_stay_visible() -> None:
    assert clipped([0.0] * 12 + [-0.04] * 4)[-1] == -0.04


def test_chance_of_a_design_ignores_its_effects() -> None:
    assert chance([0.01, -0.01] * 6 + [0.5, 0.4, 0.3]) == pytest.approx(2.015 * 1.5 * 0.01)


def test_drift_common_to_a_round_is_no_noise() -> None:
    gained, noise = paired([[0.1, 0.2, 0.3], [0.0, 0.1, 0.2], [-0.5, -0.4, -0.3]])
    assert gained == pytest.approx(0.1)
    assert noise == pytest.approx(0.0, abs=1e-12)


def test_noise_of_two_sides_is_that_of_the_paired_differences() -> None:
    # differences 0.1, 0.3, 0.2: deviation 0.1, Student's t for 2 degrees of freedom
    assert paired([[0.1, 0.3, 0.2], [0.0, 0.0, 0.0]])[1] == pytest.approx(2.920 * 0.1 / math.sqrt(3))


def test_reading_far_below_its_twin_is_raised() -> None:
    assert together([0.0] * 4, [0.0, 0.0, 0.0, -0.4])[3] == pytest.approx(-0.025)


def test_gain_is_a_part_of_one() -> None:
    assert gain(math.log(1.25)) == pytest.approx(0.25)
