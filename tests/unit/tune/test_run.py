# SPDX-License-Identifier: Apache-2.0
"""Runtime settings are applied once; what the kernel lacks is a warning."""

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.plan.model import Plan
from millrace.plan.settings import planned_settings
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed
from millrace.tune.arrays import array_settings
from millrace.tune.collect import stages
from millrace.tune.knob import current_value, mask
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from millrace.tune.settings import SettingsFound
from millrace.tune.verbs import tune
from tests.fakes.samples import Tools, array, plan, pool
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_drive_with_paths, add_sysctl
from tests.unit.tune.machine import refuse

SYSCTL = {
    "dev.raid.speed_limit_min": "1000\n",
    "dev.raid.speed_limit_max": "200000\n",
    "vm.dirty_bytes": "536870912\n",
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


def tuned(diff_only: bool = False, of: Plan | None = None, made: Pool | None = None) -> TuneReport:
    return run(stages(planned_settings(of or plan()), made or pool(), Tools()), diff_only)


def read(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


def test_first_run_sets_everything_and_second_run_changes_nothing(server: Path) -> None:
    first = tuned()
    assert first.warnings == []
    # 4 of the array, its read-ahead, 2 of each drive, 4 sysctls; smbd has no drop-in and needs none
    assert len(first.drift) == first.settings - 1 == 4 + 1 + 2 * 12 + 4
    assert read(server, "sys/class/block/md127/md/group_thread_cnt") == "4"
    assert read(server, "sys/class/block/md127/md/stripe_cache_size") == "8192"
    assert read(server, "sys/class/block/md127/queue/read_ahead_kb") == "16384"
    assert read(server, "sys/class/block/nvme10n1/queue/wbt_lat_usec") == "0"
    assert read(server, "proc/sys/net/ipv4/tcp_wmem") == "4096 65536 16777216"
    assert read(server, "proc/sys/dev/raid/speed_limit_max") == "2000000"
    assert read(server, "sys/class/block/md127/md/sync_io_depth") == "512"
    assert tuned().drift == []


def test_a_mirror_has_no_parity_settings(server: Path) -> None:
    settings, _ = array_settings(plan().md, pool())
    assert not [one for one in settings if "md126" in one.label]


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
    settings, warnings = array_settings(plan().md, pool(arrays))
    paths_set = [setting.label.removeprefix(f"{tmp_path}/") for setting in settings]
    assert warnings == []
    assert [path for path in paths_set if path.endswith("group_thread_cnt")] == [
        "sys/class/block/md125/md/group_thread_cnt",
        "sys/class/block/md126/md/group_thread_cnt",
    ]
    assert [path for path in paths_set if "read_ahead" in path] == ["sys/class/block/md127/queue/read_ahead_kb"]
    assert sum(path.endswith("wbt_lat_usec") for path in paths_set) == 6


def test_a_drive_with_two_ports_is_tuned_on_every_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_drive_with_paths(tmp_path, "nvme1n1", "nvme1c1n1", "nvme1c13n1")
    # the path of another drive
    add_drive_with_paths(tmp_path, "nvme11n1", "nvme11c11n1")
    add_array(tmp_path, "data", "md127", ["nvme1n1p1"], parity=False)
    settings, _ = array_settings(plan().md, pool([array("data", "raid0", [])]))
    tuned_queues = [one.label.split("/")[-3] for one in settings if one.label.endswith("wbt_lat_usec")]
    assert tuned_queues == ["nvme1c13n1", "nvme1c1n1"]


def test_a_setting_that_this_kernel_lacks_is_a_warning_and_the_rest_is_set(server: Path) -> None:
    (server / "sys/class/block/nvme7n1/queue/wbt_lat_usec").unlink()
    report = tuned()
    assert len(report.warnings) == 1 and "nvme7n1/queue/wbt_lat_usec" in report.warnings[0]
    assert read(server, "sys/class/block/nvme8n1/queue/wbt_lat_usec") == "0"


def test_an_array_that_is_not_assembled_is_a_warning(server: Path) -> None:
    (server / "dev/md/millrace-log").unlink()
    report = tuned()
    assert report.warnings == ["array log is not assembled; its settings are not changed"]


def test_looking_changes_nothing(server: Path) -> None:
    report = tuned(diff_only=True)
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
    assert current_value(printed) == meant


@pytest.mark.parametrize(
    ("cpus", "written"),
    [({0}, "00000001"), ({31, 32}, "00000001,80000000"), ({95}, "80000000,00000000,00000000"), (set(), "00000000")],
)
def test_processors_are_written_as_the_kernel_reads_them(cpus: set[int], written: str) -> None:
    assert mask(cpus) == written


def test_the_parity_workqueue_may_use_all_processors(server: Path) -> None:
    (server / "sys/devices/system/cpu").mkdir(parents=True)
    (server / "sys/devices/system/cpu/online").write_text("0-3\n")
    path = server / "sys/devices/virtual/workqueue/raid5wq/cpumask"
    path.parent.mkdir(parents=True)
    path.write_text("ffff\n")
    assert not [one for one in tuned().drift if "raid5wq" in one.path], "more than there are is as good"
    path.write_text("3\n")
    tuned()
    assert path.read_text().strip() == "0000000f"


def test_one_setting_that_fails_midway_does_not_keep_the_others_from_being_set(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = server / "sys/class/block/md127/md/stripe_cache_size"
    refuse(monkeypatch, bad, error=errno.ENOMEM)
    report = tuned()
    assert report.warnings == [f"{bad} cannot be set to 8192: refused"]
    assert read(server, "sys/class/block/md127/md/group_thread_cnt") == "4"
    assert read(server, "sys/class/block/md127/md/sync_speed_max") == "2000000"
    assert str(bad) not in [one.path for one in report.drift]


def test_a_value_that_the_kernel_does_not_keep_is_a_warning(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = server / "sys/class/block/md127/queue/read_ahead_kb"
    write = Path.write_text
    monkeypatch.setattr(Path, "write_text", lambda self, text: write(self, "4096\n" if self == path else text))
    assert tuned().warnings == [f"{path} cannot be set to 16384: the kernel reports 4096"]


def test_an_array_that_came_back_with_the_kernels_settings_is_tuned_again(server: Path) -> None:
    tuned()
    (server / "sys/class/block/md127/md/group_thread_cnt").write_text("0\n")
    assert [one.path.rpartition("/")[2] for one in tuned().drift] == ["group_thread_cnt"]


def test_the_verb_says_what_it_changed_from_what_to_what(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(paths.pool_file(), pool())
    monkeypatch.setattr("millrace.tune.settings.current", lambda pool, run: SettingsFound(planned_settings(plan())))
    first = CliRunner().invoke(tune)
    assert first.exit_code == 0
    [line] = [
        line for line in first.output.splitlines() if line.startswith(f"{server}/sys/class/block/md127/md/stripe")
    ]
    assert line.split()[1:4] == ["256", "8192", "changed"]
    again = CliRunner().invoke(tune)
    assert again.output == "Nothing to change; 34 settings checked.\n"


def test_without_a_pool_there_is_nothing_to_tune_and_nothing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    result = CliRunner().invoke(tune, ["--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["warnings"] == ["no pool yet; nothing is tuned"]


def test_a_server_of_which_nothing_can_be_read_is_a_failure(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(paths.pool_file(), pool())
    monkeypatch.setattr("millrace.tune.settings.current", lambda pool, run: SettingsFound(planned_settings(plan())))
    sysfs = {server / "sys", server / "proc", server / "run/systemd"}
    read_text = Path.read_text

    def denied(self: Path, *more: str, **options: str) -> str:
        if sysfs & set(self.parents):
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_text(self, *more, **options)

    monkeypatch.setattr(Path, "read_text", denied)
    result = CliRunner().invoke(tune)
    assert isinstance(result.exception, Failed) and "as root" in str(result.exception)


def test_looking_and_reverting_at_once_is_wrong_usage(server: Path) -> None:
    result = CliRunner().invoke(tune, ["--diff", "--revert"])
    assert result.exit_code == 2 and "cannot be combined" in result.output
