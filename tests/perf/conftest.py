# SPDX-License-Identifier: Apache-2.0
"""The built image on an emulated machine; what was measured on this very image once is not measured again."""

import pytest

from host.perf import control, emulator
from host.perf.__main__ import CACHE
from host.perf.results import Result

# The longest first: what is left at the end is short, and nobody waits for it long.
MEASURED = ["commit", "log", "stripe", "degraded", "cost", "arrays"]


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest) -> control.Run:
    """The benchmarks that the chosen tests ask for; the control is part of it, and nothing comes out where it fails."""
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    return control.measured([name for name in MEASURED if name in asked], CACHE, emulator.built(), fresh=False)


def _named(run: control.Run, name: str) -> Result:
    return next(result for result in run.results if result.name == name)


@pytest.fixture(scope="session")
def log(run: control.Run) -> Result:
    return _named(run, "log")


@pytest.fixture(scope="session")
def stripe(run: control.Run) -> Result:
    return _named(run, "stripe")


@pytest.fixture(scope="session")
def degraded(run: control.Run) -> Result:
    return _named(run, "degraded")


@pytest.fixture(scope="session")
def cost(run: control.Run) -> Result:
    return _named(run, "cost")


@pytest.fixture(scope="session")
def arrays(run: control.Run) -> Result:
    return _named(run, "arrays")


@pytest.fixture(scope="session")
def commit(run: control.Run) -> Result:
    return _named(run, "commit")
