# SPDX-License-Identifier: Apache-2.0
"""Every run measures two settings that cannot differ; a difference fails it."""

import pytest

from host.perf import control
from millrace.system.errors import Failed
from tests.unit.perf import samples


def test_a_control_of_one_passes() -> None:
    control.check(samples.control(), samples.control())
    assert control.null_ratio(samples.control()) == 1


@pytest.mark.parametrize("seconds", [0.489, 0.511])
def test_a_null_test_that_is_not_one_fails(seconds: float) -> None:
    broken = samples.control(no_wdelay=seconds)
    with pytest.raises(Failed, match=r"instead of 1\.00 ± 0\.02\. Nothing that was measured is published"):
        control.check(broken, broken)


def test_two_boots_may_differ_by_two_percent() -> None:
    control.check(samples.control(0.507, 0.507), samples.control())
    with pytest.raises(Failed, match=r"two boots differs by 2\.34%, more than 2\.0%"):
        control.check(samples.control(0.512, 0.512), samples.control())
