# SPDX-License-Identifier: Apache-2.0
"""Stories in Debian's Chromium on the real console of the image, without a virtual server: seconds, not minutes."""

from pathlib import Path

import pytest

from host import layout
from tests.browser.failed import pytest_exception_interact
from tests.image.tree import make

__all__ = ["pytest_exception_interact"]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the image as first boot finds them."""
    return make(layout.OUTPUT, tmp_path_factory.mktemp("image"))
