# SPDX-License-Identifier: Apache-2.0
"""Recorded output of fio: documents one after the other, text before them, cut off, with an error."""

import json
from pathlib import Path

import pytest

from millrace.measure.bench.result import fio_output
from millrace.measure.bench.result.fio_output import Full, Histogram, Stream, documents, final, outcome
from millrace.system.errors import Failed

SAMPLES = Path(__file__).parent / "samples"
STATUS = (SAMPLES / "status-interval.json").read_text()
CLIENTS = (SAMPLES / "client-server.txt").read_text()


def test_documents_come_one_after_the_other() -> None:
    found = documents(STATUS)
    assert len(found) >= 2
    counts = [outcome(one).flows["read"].count for one in found]
    assert counts == sorted(counts)
    assert final(STATUS, 0, "") == found[-1]


@pytest.mark.parametrize("piece", [1000, 4096, 65536, 1 << 20])
def test_live_documents_appear_as_soon_as_they_are_whole(piece: int) -> None:
    stream, seen = Stream(), []
    for start in range(0, len(STATUS), piece):
        seen += stream.feed(STATUS[start : start + piece])
    assert seen == documents(STATUS)
    assert stream.rest.strip() == ""


@pytest.mark.parametrize("before", ["", "fio: this platform has {odd} words\n", "\n\n"])
def test_text_before_the_document_is_passed_over(before: str) -> None:
    assert final(before + STATUS.lstrip(), 0, "") == documents(STATUS)[-1]


@pytest.mark.parametrize("way", ["read", "write"])
def test_percentiles_of_bins_are_fios_own_to_the_last_digit(way: str) -> None:
    *each, _ = documents(CLIENTS)[-1]["client_stats"]
    compared = 0
    for job in each:
        histogram = Histogram()
        histogram.add(job[way]["clat_ns"])
        for percent, nanoseconds in job[way]["clat_ns"]["percentile"].items():
            assert histogram.percentile(float(percent)) == nanoseconds, percent
            compared += 1
    assert compared == 34


def test_percentiles_are_not_averaged() -> None:
    fast, slow = Histogram(), Histogram()
    fast.add({"N": 99, "min": 10, "max": 10, "mean": 10.0, "bins": {"10": 99}})
    slow.add({"N": 1, "min": 1000, "max": 1000, "mean": 1000.0, "bins": {"1000": 1}})
    latency = fio_output.merged([fast, slow]).latency("read")
    assert latency is not None
    assert (latency.p50, latency.p99, latency.p999) == pytest.approx((10e-9, 10e-9, 1000e-9))
    assert latency.mean == pytest.approx(19.9e-9)


def test_a_direction_that_did_nothing_is_left_out() -> None:
    found = outcome(final((SAMPLES / "fsync.json").read_text(), 0, ""))
    assert set(found.flows) == {"write", "commit"}
    assert found.flows["commit"].count == found.flows["write"].count
    assert found.flows["commit"].histogram.count > 0


def test_file_engines_count_what_they_did() -> None:
    found = outcome(final((SAMPLES / "filecreate.json").read_text(), 0, ""), "create")
    assert found.flows["create"].count == 400
    # 2 jobs, 200 files each: the sum of what each did in its own time
    assert found.flows["create"].operations == pytest.approx(200 / 0.118 + 200 / 0.042, rel=0.2)


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9, 0.99])
def test_output_that_was_cut_off_is_no_result(cut: float) -> None:
    with pytest.raises(Failed, match="fio ended in the middle of its report"):
        final(STATUS[: int(len(STATUS) * cut)], -9, "")


def test_no_output_is_no_result() -> None:
    with pytest.raises(Failed, match=r"fio ended without a report \(status 1\): unable to open"):
        final("", 1, "fio: unable to open /x.fio job file\n")


def test_full_pool_is_an_error_of_its_own() -> None:
    with pytest.raises(Full, match="No space left on device"):
        final((SAMPLES / "full.json").read_text(), 1, (SAMPLES / "full.err").read_text())
    # fio's message may be lost, the number of the error is in the report
    with pytest.raises(Full):
        final((SAMPLES / "full.json").read_text(), 1, "")


def test_an_error_of_a_job_is_no_result() -> None:
    document = documents(STATUS)[-1]
    document["jobs"][1]["error"] = 5
    text = json.dumps(document)
    with pytest.raises(Failed, match="fio's job w ended with error 5: io_u error"):
        final(text, 0, "fio: io_u error on file /x: Input/output error\n")


def test_a_report_without_a_job_is_no_result() -> None:
    with pytest.raises(Failed, match=r"without a result: engine bogus not loadable"):
        final('{\n  "jobs" : [\n\n  ]\n}\n', 0, "fio: engine bogus not loadable\n")


def test_a_status_that_is_not_0_is_no_result() -> None:
    with pytest.raises(Failed, match="status 3"):
        final(STATUS, 3, "")
