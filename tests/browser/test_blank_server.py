# SPDX-License-Identifier: Apache-2.0
"""A server without an approved plan, with the real program behind the pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.console import Console, from_files
from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.first_day import *  # noqa: F403
from tests.browser.stories.new_users import *  # noqa: F403
from tests.browser.stories.settings import *  # noqa: F403
from tests.browser.stories.themes import *  # noqa: F403

NAME = "blank"


@pytest.fixture(scope="module")
def console(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with from_files(tree, tmp_path_factory.mktemp("console")) as console:
        yield console
