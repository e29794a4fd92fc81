# SPDX-License-Identifier: Apache-2.0
"""The page of the benchmark, with the runs of the stories before, else with one of its own."""

import pytest

from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.benchmark import *  # noqa: F403
from tests.vm import measured
from tests.vm.box import Box

pytestmark = [pytest.mark.usefixtures("finished"), pytest.mark.soak]


@pytest.fixture(scope="module")
def finished(in_use: Box) -> None:
    """There is a run that ended."""
    runs = in_use.read_json("millrace bench list --json")["runs"]
    if not any(one["state"] == "done" for one in runs):
        measured.run(in_use, "--quick --profile seq")
