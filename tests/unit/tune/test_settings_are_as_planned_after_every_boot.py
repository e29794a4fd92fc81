# SPDX-License-Identifier: Apache-2.0
"""What the kernel forgets is set again, once; what a kernel does not have is said and does no harm."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace import paths, store
from millrace.tune.apply import apply
from millrace.tune.collect import collect
from millrace.tune.knob import ListenerKnob, standing
from millrace.tune.verbs import tune
from tests.unit.share.samples import array, plan, pool
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_nfsd, add_rdma_device, add_sysctl

SYSCTL = {
    "dev.raid.speed_limit_min": "1000\n",
    "dev.raid.speed_limit_max": "200000\n",
    "vm.dirty_bytes": "0\n",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304\n",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A 1U12 whose arrays are assembled; nvme1 is a prefix of nvme10 and must stay itself."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    for number in range(12):
        add_drive(tmp_path, f"nvme{number}n1")
    add_array(tmp_path, "data", "md127", [f"nvme{number}n1p1" for number in range(2, 12)], parity=True)
    add_array(tmp_path, "log", "md126", ["nvme0n1p1", "nvme1n1p1"], parity=False)
    for key, text in SYSCTL.items():
        add_sysctl(tmp_path, key, text)
    return tmp_path


def read(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


def test_first_run_sets_everything_and_second_run_changes_nothing(server: Path) -> None:
    first = apply(*collect(plan(), pool()))
    assert first.warnings == []
    # 3 of the array, its read-ahead, 2 of each drive, 4 sysctls
    assert len(first.drift) == first.settings == 3 + 1 + 2 * 12 + 4
    assert read(server, "sys/class/block/md127/md/group_thread_cnt") == "4"
    assert read(server, "sys/class/block/md127/md/stripe_cache_size") == "8192"
    assert read(server, "sys/class/block/md127/queue/read_ahead_kb") == "16384"
    assert read(server, "sys/class/block/nvme10n1/queue/wbt_lat_usec") == "0"
    assert read(server, "proc/sys/net/ipv4/tcp_wmem") == "4096 65536 16777216"
    assert read(server, "proc/sys/dev/raid/speed_limit_max") == "2000000"
    second = apply(*collect(plan(), pool()))
    assert second.drift == []


def test_a_mirror_has_no_parity_settings(server: Path) -> None:
    knobs, _ = collect(plan(), pool())
    assert not [knob for knob in knobs if "md126" in str(knob.path)]


def test_legs_are_tuned_one_by_one_and_read_ahead_is_on_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    for number in range(6):
        add_drive(tmp_path, f"nvme{number}n1")
    add_array(tmp_path, "leg0", "md125", [f"nvme{number}n1p1" for number in range(3)], parity=True)
    add_array(tmp_path, "leg1", "md126", [f"nvme{number}n1p1" for number in range(3, 6)], parity=True)
    add_array(tmp_path, "data", "md127", ["md125", "md126"], parity=False)
    arrays = [array("leg0", "raid5", []), array("leg1", "raid5", []), array("data", "raid0", ["leg0", "leg1"])]
    knobs, warnings = collect(plan(arrays), pool(arrays))
    paths_set = [str(knob.path.relative_to(tmp_path)) for knob in knobs]
    assert warnings == []
    assert [path for path in paths_set if path.endswith("group_thread_cnt")] == [
        "sys/class/block/md125/md/group_thread_cnt",
        "sys/class/block/md126/md/group_thread_cnt",
    ]
    assert [path for path in paths_set if "read_ahead" in path] == ["sys/class/block/md127/queue/read_ahead_kb"]
    assert sum(path.endswith("wbt_lat_usec") for path in paths_set) == 6


def test_a_setting_that_this_kernel_lacks_is_a_warning_and_the_rest_is_set(server: Path) -> None:
    (server / "sys/class/block/nvme7n1/queue/wbt_lat_usec").unlink()
    report = apply(*collect(plan(), pool()))
    assert len(report.warnings) == 1 and "nvme7n1/queue/wbt_lat_usec" in report.warnings[0]
    assert read(server, "sys/class/block/nvme8n1/queue/wbt_lat_usec") == "0"


def test_an_array_that_is_not_assembled_is_a_warning(server: Path) -> None:
    (server / "dev/md/millrace-log").unlink()
    report = apply(*collect(plan(), pool()))
    assert report.warnings == ["array log is not assembled: its settings are left alone"]


def test_looking_changes_nothing(server: Path) -> None:
    report = apply(*collect(plan(), pool()), look_only=True)
    assert report.drift and not any(one.changed for one in report.drift)
    assert read(server, "sys/class/block/md127/md/stripe_cache_size") == "256"


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("[none] mq-deadline\n", "none"),
        ("none\n", "none"),
        ("2000000 (local)\n", "2000000"),
        ("4096\t65536\t16777216\n", "4096 65536 16777216"),
    ],
)
def test_the_kernels_ways_of_printing_a_setting(printed: str, meant: str) -> None:
    assert standing(printed) == meant


def test_an_rdma_device_that_came_late_gets_its_listener(server: Path) -> None:
    add_rdma_device(server)
    add_nfsd(server, 32, ["tcp 2049", "tcp 2049"])
    knobs, _ = collect(plan(), pool())
    wanted = [knob for knob in knobs if isinstance(knob, ListenerKnob)]
    assert [knob.wanted for knob in wanted] == ["rdma 20049"]
    assert not wanted[0].holds(wanted[0].read())


def test_a_listener_that_is_there_is_not_added_again(server: Path) -> None:
    add_rdma_device(server)
    add_nfsd(server, 32, ["rdma 20049", "rdma 20049", "tcp 2049"])
    report = apply(*collect(plan(), pool()), look_only=True)
    assert not [one for one in report.drift if "portlist" in one.path]


@pytest.mark.parametrize("threads", [0, None])
def test_nfsd_that_does_not_run_is_not_given_a_listener(server: Path, threads: int | None) -> None:
    add_rdma_device(server)
    if threads is not None:
        add_nfsd(server, threads, [])
    knobs, _ = collect(plan(), pool())
    assert not [knob for knob in knobs if isinstance(knob, ListenerKnob)]


def test_the_verb_says_what_it_changed_from_what_to_what(server: Path) -> None:
    store.write_model(paths.pool_file(), pool())
    store.write_model(paths.approved_plan_file(), plan())
    first = CliRunner().invoke(tune)
    assert first.exit_code == 0
    assert f"changed {server}/sys/class/block/md127/md/stripe_cache_size: 256 -> 8192" in first.output
    again = CliRunner().invoke(tune)
    assert again.output == "Nothing to change, 32 settings looked at.\n"


def test_without_a_pool_there_is_nothing_to_tune_and_nothing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    result = CliRunner().invoke(tune, ["--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["warnings"] == ["there is no pool yet, nothing is tuned"]
