# SPDX-License-Identifier: Apache-2.0
"""Samba's own torture tests against a share of the type dataset-ro: none of them makes or changes a file."""

import pytest

from tests.vm.box import Box
from tests.vm.shares.torture import *  # noqa: F403

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

TYPE = "dataset-ro"


def test_nothing_was_written(box: Box, shared: str) -> None:
    assert box.say(f"find /srv/pool/{shared} -mindepth 1 ! -name '.*'") == ""
