# SPDX-License-Identifier: Apache-2.0
"""A scrape, read by the parser of the Prometheus client library."""

from prometheus_client.parser import text_string_to_metric_families

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Series:
    """Every sample by its name and its sorted labels. ValueError: the text is not in the format of Prometheus."""
    found: Series = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            key = one.name, tuple(sorted(one.labels.items()))
            assert key not in found, key
            found[key] = one.value
    return found


def value(series: Series, name: str, /, **labels: str) -> float:
    """The sample of this name whose labels include these; there must be one."""
    [found] = values(series, name, **labels)
    return found


def values(series: Series, name: str, /, **labels: str) -> list[float]:
    return [one for (known, its), one in series.items() if known == name and labels.items() <= dict(its).items()]
