# SPDX-License-Identifier: Apache-2.0
"""All sources, in a process of their own with a deadline: one that fails or hangs is reported, the others go on."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from millrace.observe.metrics.family import Family, MetricSample, exposition, gauge
from millrace.observe.metrics.sources import (
    alerts,
    drives,
    jobs,
    nfs,
    pcie,
    pool,
    protection,
    rdma,
    server,
    smb,
    snapshots,
    upkeep,
    xfs,
)
from millrace.system.children import run_in_turn

Source = Callable[[], list[Family]]

SOURCES: Mapping[str, Source] = {
    "build": server.build_families,
    "health": server.health_families,
    "alerts": alerts.families,
    "upkeep": upkeep.families,
    "jobs": jobs.families,
    "drives": drives.families,
    "pcie": pcie.families,
    "arrays": pool.array_families,
    "filesystem": pool.filesystem_families,
    "xfs": xfs.families,
    "shares": pool.share_families,
    "protection": protection.families,
    "snapshots": snapshots.families,
    "nfs": nfs.families,
    "smb": smb.families,
    "rdma": rdma.families,
    "benchmark": server.benchmark_families,
}

# For all sources together. A tool that a source runs has 20 s (system.run.quickly).
SECONDS = 25.0


def collect(sources: Mapping[str, Source] = SOURCES, seconds: float = SECONDS) -> str:
    """Return Millrace's own metrics in the text format of Prometheus, within `seconds`."""
    outcomes = run_in_turn({name: partial(_packed, source) for name, source in sources.items()}, seconds)
    families: list[Family] = []
    for name, outcome in outcomes.items():
        if outcome.problem is None:
            families += _unpacked(outcome.found)
        else:
            print(f"millrace: no metrics of {name}: {outcome.problem}", file=sys.stderr)
    named = [(outcome, {"source": name}) for name, outcome in outcomes.items()]
    return exposition(
        [
            *families,
            gauge(
                "scrape_source_up",
                "Whether a source of metrics answered.",
                *((outcome.problem is None, source) for outcome, source in named),
            ),
            gauge(
                "scrape_source_duration_seconds",
                "Time that a source of metrics took.",
                *((round(outcome.seconds, 3), source) for outcome, source in named),
            ),
            gauge("scrape_timestamp_seconds", "Time at which these metrics were collected.", (time.time(), {})),
        ]
    )


def _packed(source: Source) -> bytes:
    return json.dumps([asdict(one) for one in source()]).encode()


def _unpacked(found: bytes) -> list[Family]:
    return [_family(one) for one in json.loads(found)]


def _family(found: dict[str, Any]) -> Family:
    return Family(**{**found, "samples": [MetricSample(**one) for one in found["samples"]]})
