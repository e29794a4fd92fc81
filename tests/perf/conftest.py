# SPDX-License-Identifier: Apache-2.0
"""The built image on an emulated machine; what was measured on this very image once is not measured again."""

import pytest

from host.perf import control, emulator
from host.perf.__main__ import CACHE
from host.perf.results import Result

# The longest first: what is left at the end is short, and nobody waits for it long.
MEASURED = ["commit", "log", "stripe", "degraded"]


@pytest.fixture(scope="session")
def run() -> control.Run:
    """All benchmarks that have a band; the control is part of it, and nothing comes out where it fails."""
    return control.measured(MEASURED, CACHE, emulator.built(), fresh=False)


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
def commit(run: control.Run) -> Result:
    return _named(run, "commit")
