# SPDX-License-Identifier: Apache-2.0
"""summary.json of a run of mlpstorage becomes a run beside the ladder, or nothing does.

summary.json beside this is of a real run of DLIO (tests/recorded.toml). The other documents are composed by hand in the
shape of published ones: those of the 3.0 round, unet3d and llama3 by DLIO and the KV cache by mlpstorage, read on
2026-11-25 in github.com/mlcommons/storage_results_v3.0, and of the 1.0 round. Figures and names are our own.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from millrace.measure.bench.report import text
from millrace.measure.bench.report.export import FORMATS
from millrace.measure.bench.result import store
from millrace.measure.bench.result.model import BenchRun
from millrace.measure.bench.run import mlpstorage
from millrace.system import paths
from millrace.system.errors import BadInput
from tests.unit.measure.bench.sites import site
from tests.unit.measure.bench.tools import Tools

RECORDED = (Path(__file__).parent / "summary.json").read_text()
WHEN = {"start": "2026-11-20T10:00:00.000000", "end": "2026-11-20T11:00:00.000000"}
TRAINING: dict[str, Any] = {
    **WHEN,
    "num_accelerators": 12,
    "num_hosts": 2,
    "hostname": "client1",
    "metric": {
        "train_au_percentage": [93.1, 93.3],
        "train_au_mean_percentage": 93.2,
        "train_au_meet_expectation": "success",
        "train_au_stdev_percentage": 0.1,
        "train_throughput_samples_per_second": [479.0, 481.0],
        "train_throughput_mean_samples_per_second": 480.0,
        "train_throughput_stdev_samples_per_second": 1.0,
        "train_io_mean_MB_per_second": 67_108.44,
        "train_io_stdev_MB_per_second": 140.0,
    },
    "num_files_train": 42_000,
    "num_files_eval": 0,
    "num_samples_per_file": 1,
    "host_cpu_count": [64, 64],
    "host_processor_name": "",
    "potential_caching": [0, 0],
    "host_cpuinfo": {"vendor_id": "GenuineIntel", "cpu family": "6", "power management": ""},
    "host_meminfo": {"MemTotal": "527908836 kB", "Active(anon)": "18483904 kB", "HugePages_Total": "0"},
    "host_memory_GB": [503.4, 503.5],
    "data_size_per_host_GB": 2867.0,
    "epochs": 2,
}
CHECKPOINT: dict[str, Any] = {
    **WHEN,
    "num_accelerators": 8,
    "num_hosts": 2,
    "host_cpu_count": [128, 0],
    "epochs": 0,
    "metric": {
        "checkpoint_size_GB": 105.0,
        "save_checkpoint_io_stdev_GB_per_second": 0.5,
        "save_checkpoint_duration_stdev_seconds": 0.1,
        "save_checkpoint_io_mean_GB_per_second": 21.0,
        "save_checkpoint_duration_mean_seconds": 5.0,
        "load_checkpoint_io_mean_GB_per_second": 42.0,
        "load_checkpoint_duration_mean_seconds": 2.5,
    },
}


def option(number: int, read: float, write: float) -> dict[str, Any]:
    return {
        "option": number,
        "aggregated_read_bandwidth_gbps": read,
        "aggregated_write_bandwidth_gbps": write,
        "aggregated_avg_throughput_tokens_per_sec": 900.0,
        "aggregated_storage_throughput_tokens_per_sec": 4.0,
        "aggregated_p95_latency_ms": 1200.0,
        "rank_count": 4,
        "trial_count": 3,
        "partial_failure": False,
        "missing_files": [],
        "cpu_tier_ranks": [],
    }


KV_CACHE: dict[str, Any] = {
    "schema_version": "1.0",
    "run_datetime": "20261120_100000",
    "npernode": 2,
    "host_count": 2,
    "total_ranks": 4,
    "trials_per_option": 3,
    "options": {"1": option(1, 15.0, 4.0), "2": option(2, 0.5, 5.0), "3": option(3, 12.0, 3.5)},
    "partial_failure": False,
    "trial_failures": {},
}


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def taken(directory: Path, content: object, model: str = "unet3d", accelerator: str | None = "b200") -> BenchRun:
    file = directory / "summary.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return mlpstorage.take(file, model, accelerator, site(), Tools())


def test_summary_of_a_real_run_comes_into_the_history(server: Path) -> None:
    made = taken(server, RECORDED, "retinanet")
    assert store.load("latest") == made
    (fed,) = made.rungs[0].accelerators
    assert (fed.accelerator, fed.count, round(fed.au or 0, 2), fed.enough) == ("B200", 1, 39.01, False)
    # samples of 322,957 bytes
    assert made.rungs[0].series[0].median == pytest.approx(183.837 * 322_957, rel=1e-4)
    assert made.started == "2026-11-25T01:46:53.742277"
    assert "utilisation_B200,read,%,0,39.01" in FORMATS["csv"](made).decode()


def test_composed_documents_have_the_keys_of_a_real_one() -> None:
    real = json.loads(RECORDED)
    assert TRAINING.keys() == real.keys() and TRAINING["metric"].keys() == real["metric"].keys()


def test_training_is_a_run_with_utilisation_and_bandwidth(server: Path) -> None:
    made = taken(server, TRAINING)
    assert store.load("latest") == made and store.listing().runs[0].id == made.id
    (rung,) = made.rungs
    assert rung.id == "L3/mlpstorage/unet3d/train"
    (fed,) = rung.accelerators
    assert (fed.accelerator, fed.count, fed.au, fed.floor, fed.retired) == ("B200", 12, 93.2, 90.0, False)
    # MiB, whatever the name says
    assert rung.series[0].median == pytest.approx(67_108.44 * (1 << 20))
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
    (rung,) = taken(server, {**CHECKPOINT, "metric": half}, "llama3-8b", None).rungs
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


def test_kv_cache_has_its_three_options(server: Path) -> None:
    made = taken(server, KV_CACHE, "kvcache", None)
    assert [rung.workload.operation for rung in made.rungs] == ["stress", "throughput", "large"]
    first = made.rungs[0]
    assert first.id == "L3/mlpstorage/kvcache/stress" and first.jobs == 4
    read, written = first.find("bandwidth", "read"), first.find("bandwidth", "write")
    # GiB, whatever the name says
    assert read and written and (read.median, written.median) == (15 * (1 << 30), 4 * (1 << 30))
    assert (made.started, made.ended) == ("2026-11-20T10:00:00", None)
    csv = FORMATS["csv"](made).decode()
    assert f"bandwidth,write,bytes/s,1,{4 << 30}" in csv
    assert "imported" in made.labels and store.listing().runs[0].id == made.id


def test_accelerators_below_the_floor_are_not_kept_busy(server: Path) -> None:
    slow = changed(
        TRAINING,
        train_au_mean_percentage=50.0,
        train_au_meet_expectation="fail",
        train_throughput_mean_samples_per_second=259.3,
        train_io_mean_MB_per_second=259.3 * 146_600_628 / (1 << 20),
    )
    made = taken(server, slow)
    assert not made.rungs[0].accelerators[0].enough
    assert text.accelerators(made) == [
        "L3/mlpstorage/unet3d/train does not keep 12 B200 busy (at least 90 %) at 50.0 % utilisation"
    ]
    assert taken(server, TRAINING).rungs[0].accelerators[0].enough


def test_workload_is_not_that_of_the_ladder(server: Path) -> None:
    from millrace.measure.bench.plan.workloads import WORKS

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
        (KV_CACHE, "it is of the KV cache, not of unet3d"),
        (changed(TRAINING, train_throughput_mean_samples_per_second=None), "it has no metric.train_throughput_mean"),
        (changed(TRAINING, train_throughput_mean_samples_per_second=0), "its samples have no size"),
        # 12 H100 of the 1.0 or 2.0 round: the same keys
        (
            changed(
                TRAINING,
                train_throughput_mean_samples_per_second=242.0,
                train_io_mean_MB_per_second=242 * 146_600_628 / (1 << 20),
            ),
            "each of its accelerators takes 21.6 samples/s of unet3d, one of the type b200 takes 43.2: it is of "
            "another type or version, or its clients had too few CPUs",
        ),
        (changed(TRAINING, train_io_mean_MB_per_second=147.8), "its samples have 323 kB, those of unet3d 147 MB"),
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


@pytest.mark.parametrize(
    ("content", "model", "words"),
    [
        (CHECKPOINT, "llama3-70b", "its checkpoint has 113 GB, that of llama3-70b 978 GB"),
        (KV_CACHE, "llama3-8b", "it is of the KV cache, not of llama3-8b"),
        (TRAINING, "kvcache", "it is not of the KV cache"),
        ({**KV_CACHE, "partial_failure": True}, "kvcache", "some of its processes failed"),
        ({**KV_CACHE, "run_datetime": "yesterday"}, "kvcache", "it has no run_datetime"),
        ({**KV_CACHE, "total_ranks": None}, "kvcache", "it has no total_ranks"),
        ({**KV_CACHE, "options": []}, "kvcache", "it has no options.1.aggregated_read_bandwidth_gbps"),
        (
            {**KV_CACHE, "options": {**KV_CACHE["options"], "2": {}}},
            "kvcache",
            "it has no options.2.aggregated_read_bandwidth_gbps",
        ),
    ],
)
def test_summary_of_another_model_is_one_sentence(
    server: Path, content: dict[str, Any], model: str, words: str
) -> None:
    with pytest.raises(BadInput) as error:
        taken(server, content, model, None)
    assert f"is no summary.json of mlpstorage 3.0: {words}" in str(error.value) and "\n" not in str(error.value)
    assert store.ids() == []


def test_accelerator_that_the_rules_do_not_have_for_a_model_is_refused(server: Path) -> None:
    with pytest.raises(BadInput, match="the rules have no unet3d for mi355: use --accelerator b200"):
        taken(server, TRAINING, accelerator="mi355")
    seen = 504.0 * 0.9
    small = changed(
        TRAINING,
        train_au_mean_percentage=90.0,
        train_throughput_mean_samples_per_second=12 * seen,
        train_io_mean_MB_per_second=12 * seen * 322_957 / (1 << 20),
    )
    made = taken(server, small, "retinanet", "mi355")
    assert made.rungs[0].accelerators[0].accelerator == "MI355" and made.rungs[0].accelerators[0].floor == 85.0


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
