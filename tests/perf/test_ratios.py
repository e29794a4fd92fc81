# SPDX-License-Identifier: Apache-2.0
"""Ratios and counters of the image's own kernel and tools; bands around what was measured, never a throughput."""

import pytest

from host.perf import control
from host.perf.results import Result
from millrace.plan.constants import Constant, Constants

# Of a ratio: instructions of another kernel move it a little, a lost setting moves it a lot.
BAND = 0.05
# Runs of one image had 0.059 to 0.065: how much is left to an array's own thread depends on how often it
# wakes. Without workers it is eight times as much.
THREAD = 0.15
# Runs of one image had 2.16 to 2.27: how many writes of drives end together is for its scheduler to say. The copy
# that began at the head of each request took 2.80.
PARITY = 0.08


def test_two_settings_that_cannot_differ_do_not_differ(run: control.Run) -> None:
    assert run.null == pytest.approx(1, abs=0.02)


def test_the_same_job_in_two_boots_is_the_same(run: control.Run) -> None:
    assert run.drift <= 0.02


# by hand: the longest of these, for which CI has no minutes
@pytest.mark.soak
@pytest.mark.parametrize("test", ["4 KiB into allocated space, fsync", "4 KiB appended, fsync"])
@pytest.mark.parametrize("inside", ["tuned, log inside", "stock"])
def test_a_log_on_drives_of_its_own_commits_faster(log: Result, test: str, inside: str) -> None:
    assert log.ratio(test, "tuned", inside) >= 1.8


# by hand: the longest of these, for which CI has no minutes
@pytest.mark.soak
def test_a_commit_costs_the_log_drives_one_write_each(log: Result) -> None:
    row = log.row("4 KiB appended, fsync", "tuned")
    assert row.log.writes / row.operations == pytest.approx(2, abs=0.1)


def test_whole_stripes_read_nothing(stripe: Result) -> None:
    assert stripe.row("1 MiB, array", "tuned, 0 KiB off").data.reads == 0


def test_whole_stripes_of_a_file_read_nothing_but_its_metadata(stripe: Result) -> None:
    row = stripe.row("1 MiB, on a stripe", "tuned")
    assert row.data.reads / row.operations < 0.1


def test_a_new_file_begins_on_a_stripe(stripe: Result) -> None:
    """With a chunk as the unit of XFS it begins anywhere: 6 reads for each write, and 0.7 of the rate."""
    row = stripe.row("1 MiB, new file", "tuned")
    assert row.data.reads / row.operations < 0.2
    assert row.amplification <= 1.27
    assert stripe.ratio("1 MiB, new file", "tuned", "tuned, unit a chunk") >= 1.3


def test_a_stripe_begun_in_the_middle_is_read(stripe: Result) -> None:
    """The counter that must be zero above is one that counts."""
    assert stripe.row("1 MiB, array", "tuned, 256 KiB off").data.reads > 0


def test_a_mebibyte_on_a_stripe_costs_its_parity_and_no_more(stripe: Result) -> None:
    """8 + 2 drives: 1.25 is the parity itself; log, metadata and bitmap get a hundredth."""
    assert stripe.row("1 MiB, on a stripe", "tuned").amplification <= 1.26


def test_the_defaults_read_and_write_more(stripe: Result) -> None:
    stock, tuned = stripe.row("1 MiB, new file", "stock"), stripe.row("1 MiB, new file", "tuned")
    assert tuned.data.reads < stock.data.reads
    assert tuned.amplification < stock.amplification


@pytest.mark.soak
@pytest.mark.parametrize(("level", "reads"), [("RAID6", 1.8), ("RAID5", 1.78), ("RAID50", 1.3)])
def test_small_reads_without_a_drive_are_rebuilt_from_the_others(degraded: Result, level: str, reads: float) -> None:
    """One read in ten, or nine, finds its drive gone and reads all others of its leg, and none reads more."""
    row = degraded.row(f"{level}: 4 KiB random reads", "a drive dead")
    assert row.data.reads / row.operations == pytest.approx(reads, rel=BAND)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("load", "ratios"),
    [
        ("4 KiB random reads", (0.65, 0.66, 0.80)),
        ("1 MiB reads", (0.77, 0.84, 0.78)),
        ("4 KiB random writes", (0.90, 0.90, 0.98)),
        ("1 MiB writes", (1.04, 1.02, 1.03)),
    ],
)
def test_a_dead_drive_costs_as_much_as_it_did(degraded: Result, load: str, ratios: tuple[float, ...]) -> None:
    """On one processor. Debian's raid456 sends each read through the stripe cache: 0.42 of the small ones are left."""
    found = [degraded.ratio(f"{level}: {load}", "a drive dead", "whole") for level in ("RAID6", "RAID5", "RAID50")]
    assert found == pytest.approx(ratios, rel=BAND)


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_a_safe_write_is_one_call(commit: Result, version: str) -> None:
    for variant in ("tuned", "stock"):
        row = commit.row(f"NFSv{version}: 4 KiB, O_SYNC", variant)
        assert row.calls / row.operations == pytest.approx(1, abs=0.01)


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_a_safe_write_of_a_client_gains_as_much_as_a_local_one(commit: Result, version: str) -> None:
    assert commit.ratio(f"NFSv{version}: 4 KiB, O_SYNC", "tuned", "stock") >= 1.8


@pytest.mark.soak
@pytest.mark.parametrize(
    ("test", "constant"),
    [
        ("NFS over TCP: reads of 1 MiB, from drives", Constants().read_cycles["tcp"]),
        ("NFS over TCP: writes of 1 MiB", Constants().write_cycles["tcp"]),
        ("SMB, encrypted: reads of 1 MiB, from drives", Constants().read_cycles["smb"]),
        ("SMB, encrypted: writes of 1 MiB", Constants().write_cycles["smb"]),
        ("NFS over RDMA: reads of 1 MiB, from drives", Constants().read_cycles["rdma"]),
        ("NFS over RDMA: writes of 1 MiB", Constants().write_cycles["rdma"]),
    ],
)
def test_constant_of_the_model_is_counted_on_this_kernel(cost: Result, test: str, constant: Constant) -> None:
    assert counted(cost, test) == pytest.approx(constant.value, rel=BAND)
    assert constant.evidence == "derived"


@pytest.mark.soak
def test_parity_costs_what_the_model_has(arrays: Result) -> None:
    constant = Constants().parity_cycles
    assert counted(arrays, "array: writes of 1 MiB") == pytest.approx(constant.value, rel=PARITY)
    assert constant.evidence == "derived"


@pytest.mark.soak
def test_the_arrays_own_thread_costs_what_the_model_has(arrays: Result) -> None:
    constant = Constants().md_cycles["write"]
    assert counted(arrays, "array: writes of 1 MiB, its own thread") == pytest.approx(constant.value, rel=THREAD)
    assert constant.evidence == "derived"


@pytest.mark.soak
def test_reads_without_a_drive_leave_next_to_nothing_to_the_arrays_own_thread(arrays: Result) -> None:
    found = counted(arrays, "array, a drive dead: reads of 1 MiB, its own thread")
    assert found == pytest.approx(Constants().md_cycles["read"].value, rel=0.5)


def counted(result: Result, test: str) -> float:
    """Instructions for each byte."""
    (found,) = (note.values["ns each byte"] for note in result.notes if note.note == test)
    return found
