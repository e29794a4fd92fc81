# SPDX-License-Identifier: Apache-2.0
"""A story fails with the words of its server's console where that no longer answers, and those after it fail at once.

A browser only says what it waited for, four minutes for each story.
"""

from collections.abc import Generator

import pytest

from millrace.system.errors import MillraceError
from vm.machine import Machine

# Seconds on the reference host; under all that the tests do servers have answered within three.
SECONDS = 60.0

# The process of each machine that did not answer, and what its console said.
silent = pytest.StashKey[dict[int, str]]()


def silence(machine: Machine) -> str | None:
    """Return what is said of a machine that runs and does not answer; None of all others."""
    if not machine.running:
        return None
    try:
        machine.run("true", seconds=SECONDS)
    except MillraceError as error:
        return str(error) if machine.running else None
    return None


def machine_of(item: pytest.Item) -> Machine | None:
    """Return the server of a story if it runs; None of a story that has none, or none yet."""
    machine = getattr(getattr(item, "funcargs", {}).get("box"), "machine", None)
    return machine if machine is not None and machine.running else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the console says to a failure."""
    report = yield
    machine = machine_of(item)
    known = item.session.stash.setdefault(silent, {})
    if report.failed and machine is not None and machine.pid not in known and (said := silence(machine)):
        known[machine.pid] = said
        report.longrepr = f"{report.longreprtext}\n{said}"
    return report


def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a story whose server did not answer an earlier one, and was not started again since."""
    machine = machine_of(item)
    if machine is not None and (said := item.session.stash.get(silent, {}).get(machine.pid)):
        pytest.fail(said, pytrace=False)
