# SPDX-License-Identifier: Apache-2.0
"""The report that a client sends of its load: it knows its token, and may send anything."""

from types import SimpleNamespace
from typing import Any

from millrace.measure.bench.result import fio_output
from millrace.measure.bench.run.remote.measurer import report, understood

CLIENT: Any = SimpleNamespace(name="client")


def check(data: bytes) -> None:
    """Read the input as the output of fio, and what is kept of it."""
    document = report(CLIENT, {"out": data.decode(errors="replace"), "status": 0, "err": ""})
    found = understood(CLIENT, lambda: fio_output.outcome(document))
    for direction, flow in found.flows.items():
        flow.histogram.latency(direction)
