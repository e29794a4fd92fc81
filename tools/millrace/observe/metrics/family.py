# SPDX-License-Identifier: Apache-2.0
"""Metric families and their text by OpenMetrics 1.0; pure.

Debian's python3-prometheus-client writes the same text. Its import takes 55 ms, a third of a short command, and brings
a web server and collectors of its own into the image. The tests read what is written here with its strict parser.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "info", "stateset", "summary"]
Value = int | float | bool | None
Labels = Mapping[str, str]

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
END = "# EOF\n"
PREFIX = "millrace_"
# A unit is the last part of the name of its family.
_UNITS = ("celsius", "bytes", "seconds", "ratio")


@dataclass(frozen=True)
class Sample:
    """One value. `suffix` is what its name has after that of the family: `_total`, `_info`, `_count`, `_sum`."""

    labels: Labels
    value: int | float
    suffix: str = ""


@dataclass(frozen=True)
class Family:
    """Values of one name, which is without `millrace_` and, for a counter, without `_total`."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[Sample]


def gauge(name: str, help: str, *values: tuple[Value, Labels]) -> Family:
    """Return values that go up and down; those that are None are not known and left out."""
    return Family(name, "gauge", help, _known(values, ""))


def counter(name: str, help: str, *values: tuple[Value, Labels]) -> Family:
    """Return values that only grow, until what counts them starts again."""
    return Family(name, "counter", help, _known(values, "_total"))


def info(name: str, help: str, *labels: Labels) -> Family:
    """Return facts in words, as labels of the value 1."""
    return Family(name, "info", help, [Sample(one, 1, "_info") for one in labels])


def stateset(name: str, help: str, states: Sequence[str], *now: tuple[str, Labels]) -> Family:
    """Return a sample for each of `states`: 1 for that of now, 0 for the others."""
    samples = [
        Sample({**labels, f"{PREFIX}{name}": state}, int(state == found)) for found, labels in now for state in states
    ]
    return Family(name, "stateset", help, samples)


def summary(name: str, help: str, count: int, total: float) -> Family:
    """Return how many there were and their sum."""
    return Family(name, "summary", help, [Sample({}, count, "_count"), Sample({}, total, "_sum")])


def exposition(families: Iterable[Family]) -> str:
    """Return the text of all families. Those without a value are left out, like a second value of the same labels."""
    return "".join(line for one in families if one.samples for line in _lines(one)) + END


def _known(values: Iterable[tuple[Value, Labels]], suffix: str) -> list[Sample]:
    return [Sample(labels, value, suffix) for value, labels in values if value is not None]


def _lines(family: Family) -> Iterable[str]:
    name = f"{PREFIX}{family.name}"
    yield f"# TYPE {name} {family.kind}\n"
    unit = family.name.rpartition("_")[2]
    if unit in _UNITS and family.kind != "info":
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {_escaped(family.help)}\n"
    # The serial of a drive may be on two drives: a scrape with the same series twice would be refused as a whole.
    once = {f"{name}{one.suffix}{_labels(one.labels)}": one.value for one in reversed(family.samples)}
    for series in reversed(once):
        yield f"{series} {_number(once[series])}\n"


def _labels(labels: Labels) -> str:
    listed = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{listed}}}" if listed else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    return str(int(value)) if isinstance(value, bool) else repr(value)
