# SPDX-License-Identifier: Apache-2.0
"""Metric families and their text in the text format of Prometheus (0.0.4), the format of a textfile; pure.

Debian's python3-prometheus-client writes the same text. Its import takes 55 ms, a third of a short command, and brings
a web server and collectors of its own into the image. The tests read the text with its parser.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "summary"]
Value = int | float | bool | None
Labels = Mapping[str, str]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "millrace_"


@dataclass(frozen=True)
class MetricSample:
    """One value. `suffix` follows the name of the family in a summary: `_count`, `_sum`."""

    labels: Labels
    value: int | float
    suffix: str = ""


@dataclass(frozen=True)
class Family:
    """Values of one name, which is without `millrace_`."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[MetricSample]


def gauge(name: str, help: str, *values: tuple[Value, Labels]) -> Family:
    """Return values that go up and down; those that are None are not known and left out."""
    return Family(name, "gauge", help, _known(values))


def counter(name: str, help: str, *values: tuple[Value, Labels]) -> Family:
    """Return values that only grow until the counter is reset; `_total` is added to the name."""
    return Family(f"{name}_total", "counter", help, _known(values))


def info(name: str, help: str, *labels: Labels) -> Family:
    """Return facts in words, as labels of the value 1; `_info` is added to the name."""
    return gauge(f"{name}_info", help, *((1, one) for one in labels))


def stateset(name: str, help: str, states: Sequence[str], *now: tuple[str, Labels]) -> Family:
    """Return a sample for each of `states`: 1 for the current one, 0 for the others."""
    return gauge(
        name,
        help,
        *((state == found, {**labels, f"{PREFIX}{name}": state}) for found, labels in now for state in states),
    )


def summary(name: str, help: str, count: int, total: float) -> Family:
    """Return how many there were and their sum."""
    return Family(name, "summary", help, [MetricSample({}, count, "_count"), MetricSample({}, total, "_sum")])


def exposition(families: Iterable[Family]) -> str:
    """Return the text of all families. Those without a value are left out, like a second value of the same labels."""
    return "".join(line for one in families if one.samples for line in _lines(one))


def _known(values: Iterable[tuple[Value, Labels]]) -> list[MetricSample]:
    return [MetricSample(labels, value) for value, labels in values if value is not None]


def _lines(family: Family) -> Iterable[str]:
    name = f"{PREFIX}{family.name}"
    yield f"# HELP {name} {_escaped(family.help)}\n"
    yield f"# TYPE {name} {family.kind}\n"
    # The serial of a drive may be on two drives: a scrape with the same series twice would be refused as a whole.
    once = {f"{name}{one.suffix}{_labels(one.labels)}": one.value for one in reversed(family.samples)}
    for series in reversed(once):
        yield f"{series} {_number(once[series])}\n"


def _labels(labels: Labels) -> str:
    listed = ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{listed}}}" if listed else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    return str(int(value)) if isinstance(value, bool) else repr(value)
