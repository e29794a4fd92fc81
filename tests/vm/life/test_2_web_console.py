# SPDX-License-Identifier: Apache-2.0
"""The first week of a server in the web console, from the first sign-in to a share that a client mounted.

The stories build on each other.
"""

from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.first_day import *  # noqa: F403
from tests.browser.stories.new_users import *  # noqa: F403
from tests.browser.stories.pool import *  # noqa: F403
from tests.browser.stories.ports import *  # noqa: F403
from tests.browser.stories.system_page import *  # noqa: F403
from tests.browser.stories.themes import *  # noqa: F403

NAME = "booted"
# each takes an emulated server half a minute; all of them are looked at in tests/browser
PAGES = ("Overview", "Storage")
