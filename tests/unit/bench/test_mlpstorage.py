# SPDX-License-Identifier: Apache-2.0
"""summary.json of a run of mlpstorage becomes a run beside the ladder, or nothing does.

The documents are composed by hand, after the keys that DLIO's statscounter.py writes and the rules of MLPerf Storage
3.0 name (Rules.md 4.3.6): no file of a real run was at hand.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from millrace import paths
from millrace.bench.report import text
from millrace.bench.report.export import FORMATS
from millrace.bench.result import store
from millrace.bench.result.model import Run
from millrace.bench.run import mlpstorage
from millrace.errors import BadInput
from tests.unit.bench.sites import site
from tests.unit.bench.tools import Tools

WHEN = {"start": "2026-11-20T10:00:00.000000", "end": "2026-11-20T11:00:00.000000"}
TRAINING: dict[str, Any] = {
    **WHEN,
    "num_accelerators": 12,
    "num_hosts": 2,
    "metric": {
        "train_au_percentage": [93.1, 93.3],
        "train_au_mean_percentage": 93.2,
        "train_au_meet_expectation": "success",
        "train_throughput_mean_samples_per_second": 480.0,
        "train_io_mean_MB_per_second": 67_110.0,
    },
}
CHECKPOINT: dict[str, Any] = {
    **WHEN,
    "num_accelerators": 8,
    "num_hosts": 2,
    "metric": {
        "checkpoint_size_GB": 105.0,
        "save_checkpoint_io_mean_GB_per_second": 21.0,
        "save_checkpoint_duration_mean_seconds": 5.0,
        "load_checkpoint_io_mean_GB_per_second": 42.0,
        "load_checkpoint_duration_mean_seconds": 2.5,
    },
}


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def taken(directory: Path, content: object, model: str = "unet3d", accelerator: str | None = "b200") -> Run:
    file = directory / "summary.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return mlpstorage.take(file, model, accelerator, site(), Tools())


def test_training_is_a_run_with_utilisation_and_bandwidth(server: Path) -> None:
    made = taken(server, TRAINING)
    assert store.load("latest") == made and store.listing().runs[0].id == made.id
    (rung,) = made.rungs
    assert rung.id == "L3/mlpstorage/unet3d/train"
    (fed,) = rung.accelerators
    assert (fed.accelerator, fed.count, fed.au, fed.floor, fed.retired) == ("B200", 12, 93.2, 90.0, False)
    # MiB, whatever the name says
    assert rung.series[0].median == pytest.approx(67_110 * (1 << 20))
    assert "imported" in made.labels
    assert (made.provenance.tool, made.provenance.edition) == ("mlpstorage", "mlperf-storage-3.0")
    assert "not an official MLPerf result" in made.provenance.statement


def test_checkpoint_has_save_and_load(server: Path) -> None:
    made = taken(server, CHECKPOINT, "llama3-8b", None)
    save, load = made.rungs
    assert save.series[0].median == 21 * (1 << 30) and load.series[0].median == 42 * (1 << 30)
    assert save.checkpoint and save.checkpoint.save_seconds == 5.0 and save.checkpoint.size == 105 << 30
    assert load.checkpoint and load.checkpoint.load_seconds == 2.5


def test_half_of_two_invocations_is_taken(server: Path) -> None:
    half = {key: value for key, value in CHECKPOINT["metric"].items() if not key.startswith("load")}
    (rung,) = taken(server, {**CHECKPOINT, "metric": half}, "llama3-405b", None).rungs
    assert rung.workload.operation == "save"


def test_tables_have_utilisation_bandwidth_save_and_load(server: Path) -> None:
    csv = FORMATS["csv"](taken(server, TRAINING)).decode()
    assert "utilisation_B200,read,%,0,93.2" in csv and "accelerators_B200,read,1,0,12" in csv
    both = taken(server, CHECKPOINT, "llama3-8b", None)
    csv = FORMATS["csv"](both).decode()
    assert "checkpoint_8b,write,s,0,5.0" in csv and "checkpoint_8b,read,s,0,2.5" in csv
    assert text.accelerators(both) == [
        "L3/mlpstorage/checkpoint/save saves 8b (113 GB) in 5.0 s",
        "L3/mlpstorage/checkpoint/load loads 8b (113 GB) in 2.5 s",
    ]
    for kind in FORMATS.values():
        assert kind(both)


def test_workload_is_not_that_of_the_ladder(server: Path) -> None:
    from millrace.bench.plan.workloads import WORKS

    (rung,) = taken(server, TRAINING).rungs
    assert rung.workload.sha256 not in {one.workload().sha256 for one in WORKS}


def changed(base: dict[str, Any], **metric: object) -> dict[str, Any]:
    kept = {key: value for key, value in {**base["metric"], **metric}.items() if value is not None}
    return {**base, "metric": kept}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({**WHEN, "num_accelerators": 12, "metric": {"train_au": [93.0]}}, "it has no metric.train_au_mean_percentage"),
        ({**WHEN, "num_accelerators": 12}, "it has no metric.train_au_mean_percentage"),
        (changed(TRAINING, train_io_mean_MB_per_second=None), "it has no metric.train_io_mean_MB_per_second"),
        (changed(TRAINING, train_io_mean_MB_per_second="fast"), "it has no metric.train_io_mean_MB_per_second"),
        (changed(TRAINING, train_io_mean_MB_per_second=-1), "it has no metric.train_io_mean_MB_per_second"),
        (changed(TRAINING, train_au_mean_percentage=True), "it has no metric.train_au_mean_percentage"),
        (changed(TRAINING, train_au_mean_percentage=930), "its utilisation is above 100 %"),
        ({**TRAINING, "num_accelerators": 0}, "it has no num_accelerators"),
        ({**TRAINING, "num_accelerators": "12"}, "it has no num_accelerators"),
        ({**TRAINING, "start": None}, "it has no start"),
        (CHECKPOINT, "it is of a checkpoint, not of unet3d"),
        ([], "it is no object"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        (json.dumps(TRAINING).replace("93.2", "NaN"), "it has no metric.train_au_mean_percentage"),
    ],
)
def test_summary_of_another_version_is_one_sentence(server: Path, content: object, words: str) -> None:
    with pytest.raises(BadInput) as error:
        taken(server, content)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert "is no summary.json of mlpstorage 3.0" in str(error.value)
    assert store.ids() == []


def test_training_in_place_of_a_checkpoint_is_refused(server: Path) -> None:
    with pytest.raises(BadInput, match="it is of a training, not of llama3-8b"):
        taken(server, TRAINING, "llama3-8b", None)


def test_accelerator_is_asked_for(server: Path) -> None:
    with pytest.raises(BadInput, match="--accelerator is missing"):
        taken(server, TRAINING, accelerator=None)


def test_file_that_is_not_there_is_one_sentence(server: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        mlpstorage.take(server / "none.json", "unet3d", "b200", site(), Tools())


def test_large_file_is_not_read(server: Path) -> None:
    with pytest.raises(BadInput, match="too large"):
        taken(server, "x" * (mlpstorage.LARGEST + 1))
