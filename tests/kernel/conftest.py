# SPDX-License-Identifier: Apache-2.0
"""One guest for the short stories: its boot is a third of its time."""

from typing import Any

import pytest

from host.perf import emulator
from host.perf.emulator import Image
from tests.kernel.guests import records


@pytest.fixture(scope="session")
def image() -> Image:
    return emulator.built()


@pytest.fixture(scope="session")
def found(image: Image) -> list[dict[str, Any]]:
    """What the guest found, in the order of its cases."""
    return records(image, {"work": ["refused", "errors", "forced", "reads", "nvmet", "snapshots"]})
