# SPDX-License-Identifier: Apache-2.0
"""What the system refuses where a place is opened is the reason of its rungs; the other places are measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from millrace import paths
from millrace.bench.plan.job import Target
from millrace.bench.plan.prepare import Prepared
from millrace.bench.plan.sizes import sizes
from millrace.bench.plan.steps import Step, planned_steps
from millrace.bench.result.choices import Layer
from millrace.bench.result.model import Rung, State
from millrace.bench.run import session
from millrace.bench.run.order import Order
from tests.unit.bench.rungs import done
from tests.unit.bench.sites import request, site
from tests.unit.bench.tools import Tools


def test_a_missing_device_is_the_reason_of_its_rungs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)

    @contextmanager
    def opened(step: Step, *_: Any) -> Iterator[Target]:
        if step.target == "array":
            raise FileNotFoundError(2, "No such file or directory", "/dev/md/millrace-data")
        yield Target(directory=tmp_path)

    def run(_: Any, rung: Rung, *rest: Any) -> Rung:
        return done(rung.id)

    monkeypatch.setattr(session.targets, "opened", opened)
    monkeypatch.setattr(session.space, "make", lambda *_: tmp_path)
    monkeypatch.setattr(session.StepRunner, "run", run)
    wanted = request(profiles=["seq"], layers=[Layer.L1])
    here = site()
    ready = Prepared(wanted, here, sizes(wanted, 1 << 40, 1 << 36, 8), planned_steps(wanted, here))
    order = Order(run="20260101-000000", request=wanted, labels=[], by="admin")
    made = session.Session(order, ready, Tools(), Event()).go()
    reasons = {rung.id: (rung.state, rung.reason or "") for rung in made.rungs}
    state, reason = reasons["L1/array/seq/read"]
    assert state is State.FAILED and "/dev/md/millrace-data" in reason
    assert reasons["L1/xfs/seq/read"] == (State.DONE, "")
    assert made.state is State.DONE
