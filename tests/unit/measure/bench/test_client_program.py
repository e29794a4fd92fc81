# SPDX-License-Identifier: Apache-2.0
"""The program for clients is one file that is the same each time."""

import io
import json
import zipfile
from typing import Any

import pytest

from millrace.measure.bench.plan.client_program import bundle, plan
from millrace_client import source
from tests.unit.measure.bench.sites import request, site

LARGE = 54_974_742_528
"""Bytes of a fifth of a quarter of the TiB that is free: five sets of files share the budget of a full run."""


def rungs(**wanted: Any) -> dict[str, dict[str, Any]]:
    return {rung["id"]: rung for rung in plan(request(**wanted), site())["rungs"]}


def lines(*of: str) -> str:
    return "".join(f"{line}\n" for line in of)


KV = ("kvcache/stress", "kvcache/throughput", "kvcache/large")
Rungs = dict[str, dict[str, Any]]


@pytest.fixture
def full() -> Rungs:
    """The rungs of a full program."""
    return rungs(mode="full")


def test_the_same_program_has_the_same_bytes() -> None:
    wanted = request(profiles=["seq"])
    assert bundle(wanted, site()) == bundle(wanted, site())


def test_the_program_holds_its_plan_and_everything_that_it_imports() -> None:
    wanted = request(profiles=["seq"])
    made = bundle(wanted, site())
    assert made.startswith(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = {"bench", "listen", "sealed", "by_hand", "au", "kvcache", "__init__"}
        assert set(archive.namelist()) == {
            "__main__.py",
            "plan.json",
            *(f"millrace_client/{name}.py" for name in names),
        }
        assert json.loads(archive.read("plan.json")) == plan(wanted, site())
        assert "from millrace_client.bench import main" in archive.read("__main__.py").decode()
        assert archive.read("millrace_client/au.py").decode() == source("au.py")
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_stream_by_hand_is_laid_out_warmed_and_repeated(full: Rungs) -> None:
    same = ("rw=read", "bs=1048576", "iodepth=16", "direct=1", "percentile_list=50:95:99:99.9", "randrepeat=1")
    same = (*same, "allow_mounted_write=0")
    size = LARGE // 16 >> 20 << 20
    files = ("directory=@DIRECTORY@/common", "filename_format=f.$jobnum.$filenum", "numjobs=16", "nrfiles=1")
    files = (*files, f"filesize={size}", "[seq]")
    assert full["seq/read"] == {
        "id": "seq/read",
        "profile": "seq",
        "operation": "read",
        "layout": "common",
        "jobs": 16,
        "per_job": 1,
        "size": size,
        "scaled": None,
        "lay_out": lines("[global]", "ioengine=psync", *same, "create_only=1", *files),
        "warm": lines("[global]", "ioengine=libaio", *same, "time_based=1", "runtime=10", *files),
        "job": lines("[global]", "ioengine=libaio", *same, "time_based=1", "runtime=30", *files),
        "own": None,
        "before": "forget",
    }


def test_a_workload_with_one_job_uses_the_files_of_all_jobs(full: Rungs) -> None:
    rung = full["fsync/fsync"]
    assert (rung["jobs"], rung["size"]) == (1, LARGE)
    assert "\nnumjobs=16\n" in rung["lay_out"]
    assert "\nnumjobs=1\n" in rung["job"]


@pytest.mark.parametrize(
    ("rung", "before"),
    [
        ("meta/create", "empty"),
        ("meta/stat", "small"),
        ("meta/delete", "small"),
        ("checkpoint/save", "gone"),
        ("checkpoint/load", "forget"),
        ("kvcache/stress", "forget"),
    ],
)
def test_files_are_as_each_repeat_must_find_them(full: Rungs, rung: str, before: str) -> None:
    assert full[rung]["before"] == before


def test_only_files_that_are_read_back_are_laid_out(full: Rungs) -> None:
    without = {name for name, rung in full.items() if rung["lay_out"] is None}
    assert without == {"meta/create", "meta/stat", "meta/delete", "checkpoint/save", *KV}
    # eight ranks, whatever other workloads have
    assert "\nnumjobs=8\n" in full["checkpoint/load"]["lay_out"]


def test_work_of_a_given_amount_has_no_length(full: Rungs) -> None:
    for name in ("meta/create", "checkpoint/save"):
        assert "time_based" not in full[name]["job"] + full[name]["warm"]
    assert full["checkpoint/save"]["scaled"] == "48.69% of the 8B checkpoint"
    assert full["meta/create"]["per_job"] == 12_000


def test_what_fio_cannot_do_is_the_programs_own(full: Rungs) -> None:
    own = {name: rung["own"] for name, rung in full.items() if rung["own"]}
    assert own == {
        "unet3d/train": ["au", "@DIRECTORY@/unet3d", "unet3d", "--seconds", "30"],
        "retinanet/train": ["au", "@DIRECTORY@/retinanet", "retinanet", "--seconds", "30"],
        "kvcache/stress": ["kvcache", "@DIRECTORY@/kvcache", "16", "1638", "2097152", "30"],
        "kvcache/throughput": ["kvcache", "@DIRECTORY@/kvcache", "16", "1638", "2097152", "30", "4294967296"],
        "kvcache/large": ["kvcache", "@DIRECTORY@/kvcache", "4", "655", "5242880", "30"],
    }
    assert all(full[name]["job"] is None and full[name]["warm"] is None for name in own)


def test_space_is_that_of_each_set_of_files_once() -> None:
    found = plan(request(profiles=["seq", "rand", "meta"], model="70b", repeats=4), site())
    by_layout = {one["layout"]: one["jobs"] * one["per_job"] * one["size"] for one in found["rungs"]}
    assert set(by_layout) == {"common", "meta"}
    assert found["space"] == sum(by_layout.values()) > 1 << 30
    assert (found["repeats"], found["model"]) == (4, "70b")
    assert found["sha256"] != plan(request(profiles=["seq", "rand", "meta"], model="70b"), site())["sha256"]


def test_a_quick_program_measures_the_quick_profiles() -> None:
    assert {rung["profile"] for rung in rungs().values()} == {"seq", "rand", "mixed", "fsync", "meta"}
    assert {rung["profile"] for rung in rungs(profiles=["kvcache"]).values()} == {"kvcache"}
