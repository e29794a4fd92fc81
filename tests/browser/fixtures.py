# SPDX-License-Identifier: Apache-2.0
"""People at a console. Whoever imports this brings the fixture `console`."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.console import Console, started
from tests.browser.person import PATIENCE, Person
from tests.vm.box import ADMIN_PASSWORD

Meet = Callable[..., Person]


@pytest.fixture(scope="module")
def chromium(console: Console) -> Iterator[Browser]:
    """The browser that everybody of a module uses, as patient as the server is slow."""
    expect.set_options(timeout=PATIENCE * console.slowness)
    with started(console.browser) as browser:
        yield browser


@pytest.fixture(scope="module")
def met() -> list[Person]:
    """Everybody who sits at the console."""
    return []


@pytest.fixture(scope="module")
def meet(chromium: Browser, console: Console, met: list[Person]) -> Meet:
    """A browser for a user with this password."""

    def new(user: str, password: str, language: str = "en-US") -> Person:
        met.append(Person(chromium, console, user, password, language))
        return met[-1]

    return new


@pytest.fixture(scope="module")
def admin(meet: Meet) -> Person:
    """The administrator, who is not signed in yet."""
    return meet("admin", ADMIN_PASSWORD)


@pytest.fixture(autouse=True)
def nothing_was_complained_of(met: list[Person]) -> Iterator[None]:
    """In no story does the browser report an error of our pages."""
    yield
    heard = [one for person in met for one in person.noise.heard]
    for person in met:
        person.noise.heard.clear()
    assert heard == []
