# SPDX-License-Identifier: Apache-2.0
"""Stories in Debian's Chromium on the real console of the image, without a virtual server: seconds, not minutes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from host import layout
from tests.browser.failed import pytest_exception_interact
from tests.image.tree import make

__all__ = ["pytest_exception_interact"]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the image as first boot finds them."""
    tree = make(layout.OUTPUT, tmp_path_factory.mktemp("image"))
    yield tree
    # over half a gigabyte, of which pytest would keep three
    shutil.rmtree(tree)
