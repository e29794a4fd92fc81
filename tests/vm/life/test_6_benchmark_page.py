# SPDX-License-Identifier: Apache-2.0
"""The page of the benchmark, with the runs of the stories before."""

import pytest

from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.benchmark import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("in_use")
