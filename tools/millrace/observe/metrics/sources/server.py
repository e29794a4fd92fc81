# SPDX-License-Identifier: Apache-2.0
"""Health, version and the last benchmark, from their documents."""

from collections import Counter

from millrace import __version__
from millrace.measure.bench.result import store
from millrace.measure.bench.result.model import BenchState
from millrace.observe.health.model import SEVERITY, Health, HealthFinding, Level
from millrace.observe.metrics.family import Family, gauge, info, stateset
from millrace.system import ages, paths
from millrace.system.documents import read_model
from millrace.system.os_release import image_version

_UNITS = {"bytes/s": "benchmark_bytes_per_second", "operations/s": "benchmark_operations_per_second"}
# Series of findings: a server on which everything fails does not flood the monitoring system.
MOST_FINDINGS = 100
_HELP = "Median of a workload in the last benchmark, at the highest layer that it measured."


def health_families() -> list[Family]:
    """Return the findings of the last health check. BadInput: there is none, or it cannot be read."""
    health = read_model(paths.health_file(), Health)
    levels = [str(level) for level in SEVERITY]
    counts = Counter(str(finding.level) for finding in health.findings)
    wrong = sorted(
        (finding for finding in health.findings if finding.level is not Level.OK),
        key=lambda finding: -SEVERITY.index(finding.level),
    )
    return [
        stateset("health_level", "Worst level of the last health check.", levels, (str(health.level), {})),
        gauge("health_findings", "Findings by level.", *((counts[level], {"level": level}) for level in levels)),
        gauge(
            "health_finding_start_timestamp_seconds",
            f"Time since which a finding is there, the worst {MOST_FINDINGS}; health_findings counts all.",
            *((_seconds(finding.since or health.at), _about(finding)) for finding in wrong[:MOST_FINDINGS]),
        ),
        gauge("health_timestamp_seconds", "Time of the last health check.", (_seconds(health.at), {})),
    ]


def build_families() -> list[Family]:
    """Return the versions of program and image."""
    about = {"version": __version__, "image": image_version()}
    return [info("build", "Version of the program and of the image.", about)]


def benchmark_families() -> list[Family]:
    """Return the last benchmark; families without a value where there was none. BadInput: it cannot be read."""
    names = store.ids()
    run = store.load(names[0]) if names else None
    headlines = store.headlines(run) if run else []
    started, complete = (_seconds(run.started), run.state is BenchState.DONE) if run else (None, None)
    return [
        gauge("benchmark_start_timestamp_seconds", "Time of the last benchmark.", (started, {})),
        gauge("benchmark_complete", "Whether the last benchmark ended as planned.", (complete, {})),
        *(
            gauge(
                name,
                _HELP,
                *((headline.value, {"workload": headline.name}) for headline in headlines if headline.unit == unit),
            )
            for unit, name in _UNITS.items()
        ),
    ]


def _about(one: HealthFinding) -> dict[str, str]:
    return {"key": one.key, "check": one.check, "subject": one.subject, "level": str(one.level)}


def _seconds(at: str) -> float:
    return ages.when(at).timestamp()
