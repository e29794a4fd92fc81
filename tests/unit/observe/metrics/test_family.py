# SPDX-License-Identifier: Apache-2.0
"""The text is in the format of Prometheus, whatever is in labels and values."""

import math

import pytest

from millrace.observe.metrics.family import counter, exposition, gauge, info, stateset, summary
from tests.unit.observe.metrics.scrape import parsed, value, values


def test_every_kind_is_read_and_has_its_type() -> None:
    text = exposition(
        [
            gauge("drive_temperature_celsius", "Heat.", (40, {"serial": "S1"}), (None, {"serial": "S2"})),
            counter("smbd_read_bytes", "In.", (1 << 60, {})),
            info("build", "Version.", {"version": "1"}),
            stateset("health_level", "Level.", ["OK", "FAIL"], ("FAIL", {})),
            summary("nfsd_call_seconds", "Latency.", 3, 0.5),
        ]
    )
    series = parsed(text)
    assert value(series, "millrace_drive_temperature_celsius") == 40
    assert value(series, "millrace_smbd_read_bytes_total") == 1 << 60
    assert value(series, "millrace_build_info", version="1") == 1
    assert value(series, "millrace_health_level", millrace_health_level="FAIL") == 1
    assert value(series, "millrace_health_level", millrace_health_level="OK") == 0
    assert (value(series, "millrace_nfsd_call_seconds_count"), value(series, "millrace_nfsd_call_seconds_sum")) == (
        3,
        0.5,
    )
    # node_exporter takes what has another type or none for "untyped", and nothing of OpenMetrics
    assert [line for line in text.splitlines() if line.startswith("# TYPE")] == [
        "# TYPE millrace_drive_temperature_celsius gauge",
        "# TYPE millrace_smbd_read_bytes_total counter",
        "# TYPE millrace_build_info gauge",
        "# TYPE millrace_health_level gauge",
        "# TYPE millrace_nfsd_call_seconds summary",
    ]
    assert "# UNIT" not in text and "# EOF" not in text


@pytest.mark.parametrize("text", ['a"b', "a\nb", "a\\b", "a\\nb", "# EOF", "ü{x}", ""])
def test_label_of_a_drive_or_a_share_breaks_nothing(text: str) -> None:
    written = exposition([gauge("x", 'Help\n with "quotes" and \\.', (1, {"label": text}))])
    assert parsed(written) == {("millrace_x", (("label", text),)): 1}
    # quotes are escaped in labels only
    assert written.startswith('# HELP millrace_x Help\\n with "quotes" and \\\\.\n')


def test_value_that_is_no_number_is_written_as_the_format_has_it() -> None:
    found = parsed(
        exposition([gauge("x", "X.", (math.inf, {"a": "1"}), (-math.inf, {"a": "2"}), (math.nan, {"a": "3"}))])
    )
    assert values(found, "millrace_x")[:2] == [math.inf, -math.inf] and math.isnan(values(found, "millrace_x")[2])


def test_truth_is_a_number() -> None:
    assert values(parsed(exposition([gauge("x", "X.", (True, {"a": "1"}), (False, {"a": "2"}))])), "millrace_x") == [
        1,
        0,
    ]


def test_same_series_twice_is_written_once_and_the_first_counts() -> None:
    text = exposition([gauge("x", "X.", (1, {"serial": "S"}), (2, {"serial": "S"}))])
    assert parsed(text) == {("millrace_x", (("serial", "S"),)): 1}


def test_family_without_a_value_is_left_out() -> None:
    assert exposition([gauge("x", "X.", (None, {})), counter("y", "Y.")]) == ""
