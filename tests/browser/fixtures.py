# SPDX-License-Identifier: Apache-2.0
"""Users of a console. A module that imports this defines the fixture `console`."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.console import Console, started
from tests.browser.user import PATIENCE, User
from tests.vm.box import ADMIN_PASSWORD

OpenBrowser = Callable[..., User]


@pytest.fixture(scope="module")
def chromium(console: Console) -> Iterator[Browser]:
    """The browser of all users of a module; its time limits grow with the slowness of the server."""
    expect.set_options(timeout=PATIENCE * console.slowness)
    with started(console.browser) as browser:
        yield browser


@pytest.fixture(scope="module")
def users() -> list[User]:
    """Every user of a module, in the order in which their browsers were opened."""
    return []


@pytest.fixture(scope="module")
def open_browser(chromium: Browser, console: Console, users: list[User]) -> OpenBrowser:
    """Opens a browser for a user with this password."""

    def new(user: str, password: str, language: str = "en-US") -> User:
        users.append(User(chromium, console, user, password, language))
        return users[-1]

    return new


@pytest.fixture(scope="module")
def admin(open_browser: OpenBrowser) -> User:
    """The administrator, who is not signed in yet."""
    return open_browser("admin", ADMIN_PASSWORD)


@pytest.fixture(autouse=True)
def no_browser_errors(users: list[User]) -> Iterator[None]:
    """In no story does the browser report an error of our pages.

    Where the first page did not come, those after it are not told: each would wait for minutes.
    """
    if lost := [user.name for user in users if user.lost]:
        pytest.fail(f"the page of {', '.join(lost)} did not come in an earlier story", pytrace=False)
    yield
    heard = [message for user in users for message in user.noise.heard]
    for user in users:
        user.noise.heard.clear()
    assert heard == []
