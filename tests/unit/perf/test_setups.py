# SPDX-License-Identifier: Apache-2.0
"""`tuned` is what planner and provisioner make of a 1U12; `stock` leaves everything to the tools."""

import pytest

from host.perf import benchmarks, setups
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy


def words(setup: setups.Setup) -> list[str]:
    return [word for argv in setup.arrays for word in argv]


def test_tuned_is_planned() -> None:
    tuned = setups.planned("tuned")
    data, log = tuned.arrays
    assert {"--level=raid6", "--raid-devices=10", "--chunk=64K", "--bitmap=internal", "--assume-clean"} <= set(data)
    assert [word for word in log if word.startswith("/dev/nullb")] == ["/dev/nullb10", "/dev/nullb11"]
    (geometry,) = [word for word in tuned.mkfs if word.startswith("su=")]
    assert geometry == f"su={512 << 10},sw=1,agsize={257 << 19}"
    assert "logdev=/dev/md/millrace-log" in tuned.mount
    assert int(tuned.md["millrace-data"]["stripe_cache_size"]) > 256


def test_the_owner_moves_the_log() -> None:
    inside = setups.planned("inside", Policy(log=LogPolicy(mode="internal")))
    assert len(inside.arrays) == 1
    assert "logdev" not in inside.mount


def test_stock_says_nothing_but_the_level() -> None:
    stock = setups.stock()
    assert stock.mkfs == ["mkfs.xfs", "-f", "/dev/md/millrace-data"]
    assert (stock.mount, stock.md, stock.read_ahead, stock.nfsd) == ("", {}, None, None)
    assert not [word for word in words(stock) if word.startswith("--chunk")]


def test_the_log_moves_to_other_drives() -> None:
    moved = setups.with_log_on(setups.planned("tuned"), "fast", (12, 13))
    assert {"/dev/nullb12", "/dev/nullb13"} <= set(words(moved))
    assert not {"/dev/nullb10", "/dev/nullb11"} & set(words(moved))


def test_journal_is_on_a_mirror_of_its_own_and_takes_the_place_of_the_bitmap() -> None:
    planned = setups.planned("planned")
    journal, data, log = setups.with_journal(planned, "write-back", "write-back").arrays
    assert journal[:3] == ["mdadm", "--create", "/dev/md/millrace-journal"]
    assert journal[-3:] == ["/dev/nullb12", "/dev/nullb13", "--assume-clean"]
    assert data[-2:] == ["--write-journal", "/dev/md/millrace-journal"] and "--bitmap=internal" not in data
    assert log == planned.arrays[1]
    assert setups.with_journal(planned, "one", "write-back").md["millrace-data"]["journal_mode"] == "write-back"


def test_the_chunk_is_the_unit_of_earlier_pools() -> None:
    earlier = setups.by_chunk(setups.planned("tuned"), "earlier")
    assert [word for word in earlier.mkfs if word.startswith("su=")] == [f"su={64 << 10},sw=8,agsize={257 << 19}"]
    legs = setups.planned("legs", Policy(layout=LayoutPolicy(level="raid60")), 12)
    (given,), (unit,) = (
        [word for word in one.mkfs if word.startswith("su=")] for one in (legs, setups.by_chunk(legs, "earlier"))
    )
    assert given.startswith(f"su={256 << 10},sw=2,") and unit.startswith(f"su={64 << 10},sw=8,")


def test_metadata_on_the_mirror_leaves_files_to_the_array() -> None:
    planned = setups.planned("planned")
    beside = setups.metadata_on_log_drives(planned, "beside")
    assert (beside.arrays, beside.device, beside.realtime) == (planned.arrays, "/dev/md/millrace-log", True)
    assert "rtdev=/dev/md/millrace-data" in beside.mkfs and "rtinherit=1" in beside.mkfs
    assert "rtdev=/dev/md/millrace-data" in beside.mount and "logdev" not in beside.mount
    assert "rtdev=/dev/md/millrace-data,extsize=524288" in setups.metadata_on_log_drives(planned, "wide", 1 << 19).mkfs


def test_only_the_bitmap_is_left_out() -> None:
    planned = setups.planned("planned")
    bare = words(setups.without_bitmap(planned, "none"))
    assert "--bitmap=internal" not in bare
    assert len(bare) == len(words(planned))


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_every_setup_finds_its_drives(name: str) -> None:
    job = benchmarks.job(name)
    there = {f"/dev/nullb{number}" for number in range(sum(model.count for model in job.drives.values()))}
    used = {word for setup in job.setups for word in words(setup) if word.startswith("/dev/nullb")}
    assert used <= there


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_setups_of_a_benchmark_have_different_names(name: str) -> None:
    names = [setup.name for setup in benchmarks.job(name).setups]
    assert len(set(names)) == len(names)
