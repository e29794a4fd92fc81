# SPDX-License-Identifier: Apache-2.0
"""Samba's own torture tests against a share of the type checkpoint."""

import pytest

from tests.vm.shares.torture import *  # noqa: F403

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

TYPE = "checkpoint"
