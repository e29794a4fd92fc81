# SPDX-License-Identifier: Apache-2.0
"""Figures of fio and of the kernel's counters; unreadable output is an error."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from host.perf.guest import cost, drives, lab, load, metadata, smbd, stripe, trim


def said(**more: Any) -> str:
    """fio's JSON for a write job, after a message as fio prints them."""
    nothing = {"total_ios": 0, "io_bytes": 0, "runtime": 0}
    write = {
        "total_ios": 2000,
        "io_bytes": 8192000,
        "runtime": 500,
        "clat_ns": {"percentile": {"99.000000": 11000}},
    }
    job = {"error": 0, "read": nothing, "write": write, "sync": {"total_ios": 0}, **more}
    return "fio: this is a message\n" + json.dumps({"jobs": [job]})


def test_a_job_is_read_after_messages() -> None:
    outcome = load.parse(said())
    assert (outcome.operations, outcome.bytes, outcome.seconds, outcome.p99_us) == (2000, 8192000, 0.5, 11.0)
    assert outcome.rate == 4000


def test_a_writer_that_syncs_waits_for_the_sync() -> None:
    synced = {"total_ios": 1999, "lat_ns": {"percentile": {"99.000000": 250000}}}
    assert load.parse(said(sync=synced)).p99_us == 250


def test_a_job_that_failed_is_no_figure() -> None:
    with pytest.raises(RuntimeError, match="error 28"):
        load.parse(said(error=28))


def test_a_job_that_did_nothing_is_no_figure() -> None:
    with pytest.raises(RuntimeError, match="0 directions"):
        load.parse(said(write={"total_ios": 0}))


def test_text_without_json_is_no_figure() -> None:
    with pytest.raises(ValueError, match="substring"):
        load.parse("fio: pid=0, err=2/file:filesetup.c")


def test_counters_of_a_drive_are_requests_and_bytes() -> None:
    text = "  10  1  80  5  20  2  320  9  0  7  14  0  0  0  0  3  1\n"
    assert drives.parse(text) == drives.Counters(10, 20, 80 * 512, 320 * 512, 3)


def test_counters_are_added_and_compared() -> None:
    one, other = drives.Counters(1, 2, 3, 4, 5), drives.Counters(5, 5, 5, 5, 5)
    assert other - one == drives.Counters(4, 3, 2, 1, 0)
    assert one + other == drives.Counters(6, 7, 8, 9, 10)


def test_calls_are_those_that_nfsd_was_sent() -> None:
    assert lab.parse_rpcs("rc 0 0 9\nfh 0 0 0 0 0\nrpc 1234 0 0 0 0\nproc4ops 1 5\n") == 1234


@pytest.mark.parametrize(("start", "offset"), [(0, 0), (128 << 10, 896 << 10), (5 << 20, 0)])
def test_a_write_begins_where_a_stripe_begins(start: int, offset: int) -> None:
    assert stripe.to_stripe(start) == offset
    assert (start + offset) % (1 << 20) == 0


def test_slices_of_a_trim_cover_the_file_system_and_stay_in_their_group() -> None:
    info = "meta-data=/dev/md127 agcount=3, agsize=10000 blks\ndata     =   bsize=4096   blocks=25000, imaxpct=25\n"
    group, size = trim.geometry(info)
    assert (group, size) == (10000 * 4096, 25000 * 4096)
    found = trim.slices(size, group)
    assert sum(length for _, length in found) == size
    assert all(at // group == (at + length - 1) // group and length <= trim.SLICE for at, length in found)


def test_file_system_without_geometry_is_not_trimmed() -> None:
    with pytest.raises(RuntimeError, match="no geometry"):
        trim.geometry("cannot open /srv/pool")


def test_time_of_threads_that_are_not_there_is_no_figure() -> None:
    with pytest.raises(RuntimeError, match="there is no thread md127_raid6"):
        cost.ran("md127_raid6")


def test_time_of_smbd_is_that_of_its_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smbd, "GROUP", tmp_path)
    (tmp_path / "cpu.stat").write_text("usage_usec 1500\nuser_usec 900\nsystem_usec 600\n")
    assert smbd.clock() == 1_500_000
    (tmp_path / "cpu.stat").write_text("")
    with pytest.raises(RuntimeError, match="counts no time"):
        smbd.clock()


@pytest.mark.parametrize(("security", "other"), [("sign", "seal"), ("seal", "sign")])
def test_mount_that_is_not_protected_as_wanted_is_not_measured(
    security: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smbd, "DEBUG", tmp_path / "DebugData")
    smbd.DEBUG.write_text(f"Sec Status: 1 \tInstance: 1 SessionId: 0x7f {smbd.SHOWN[security]}\n\tUser: 0")
    smbd.verify(security)
    with pytest.raises(RuntimeError, match=f"the session is not {smbd.SHOWN[other]}"):
        smbd.verify(other)


def test_time_of_a_protocol_is_the_mean_of_several_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one fills caches and does not count."""
    noted: dict[str, dict[str, float]] = {}
    ran, loads = [0], list[int]()

    def transfer(number: int) -> load.Outcome:
        loads.append(number)
        ran[0] += 1000 if len(loads) == 1 else 10 * len(loads)
        return load.Outcome(operations=2, bytes=20, seconds=1, p99_us=0)

    monkeypatch.setattr(cost.pool, "quiet", lambda: None)
    laboratory = SimpleNamespace(
        note=lambda test, _variant, **values: noted.update({test: values}), fresh=iter(range(100)).__next__
    )
    cost.note(cast(lab.Lab, laboratory), "reads", transfer, lambda: ran[0])
    each = sum(10 * number for number in range(2, cost.ROUNDS + 2)) / cost.ROUNDS
    assert len(set(loads)) == cost.ROUNDS + 1
    assert noted == {"reads": {"ns each byte": each / 20, "ns each operation": each / 2}}


def test_time_of_an_array_is_for_each_byte_of_the_second_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fio takes to start is in both loads."""
    begin, each = 1000, 3
    noted: dict[str, dict[str, float]] = {}
    monkeypatch.setattr(cost, "array", lambda _rw, size: size)
    monkeypatch.setattr(cost, "took", lambda _lab, size, _clock: begin + each * (size << 20))
    laboratory = SimpleNamespace(note=lambda test, _variant, **values: noted.update({test: values}))
    cost.alone(cast(lab.Lab, laboratory), "array")
    assert noted == {f"array: {rw}s of 1 MiB": {"ns each byte": each} for rw in ("write", "read")}


def test_command_that_fails_is_what_does_not_work() -> None:
    assert metadata.succeeds("true") and not metadata.succeeds("false")
