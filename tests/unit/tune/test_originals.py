# SPDX-License-Identifier: Apache-2.0
"""`millrace tune --revert` leaves the server as it was before Millrace touched it in this boot."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.plan.settings import planned_settings
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from millrace.tune import verbs
from millrace.tune.knob import current_value
from millrace.tune.settings import SettingsFound
from millrace.tune.verbs import tune
from tests.fakes.samples import plan, pool
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_sysctl
from tests.unit.tune.machine import MLX5, Machine, two_sockets


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A server with a pool, a port with 63 vectors and everything as the kernel starts with it."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    two_sockets(machine)
    machine.port("ens1np0", 1)
    machine.queues("ens1np0", 63, 63, MLX5)
    for number in range(4):
        add_drive(tmp_path, f"nvme{number}n1")
    add_array(tmp_path, "data", "md127", [f"nvme{number}n1p1" for number in range(4)], parity=True)
    add_array(tmp_path, "log", "md126", [], parity=False)
    for key in ("dev.raid.speed_limit_min", "dev.raid.speed_limit_max", "vm.dirty_bytes"):
        add_sysctl(tmp_path, key, "1000\n")
    add_sysctl(tmp_path, "net.ipv4.tcp_wmem", "4096\t16384\t4194304\n")
    write_model(paths.pool_file(), pool())
    monkeypatch.setattr("millrace.tune.settings.current", lambda pool, run: SettingsFound(planned_settings(plan())))
    monkeypatch.setattr(verbs, "_TOOLS", machine)
    return machine


def invoke(*options: str) -> str:
    result = CliRunner().invoke(tune, list(options), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def meaning(machine: Machine) -> dict[str, str]:
    """What is set, without the numbers of vectors (which a driver gives anew) and the kernel's way of writing."""
    return {
        path: "system" if "(system)" in text else current_value(text)
        for path, text in machine.snapshot().items()
        if "/irq/" not in path and "msi_irqs" not in path
    }


def test_everything_is_as_it_was(machine: Machine) -> None:
    before = meaning(machine)
    invoke()
    assert meaning(machine) != before
    output = invoke("--revert")
    assert "warning" not in output
    assert meaning(machine) == before
    assert machine.irqs("ens1np0") == {MLX5.format(queue): "0-95" for queue in range(63)}
    assert not (machine.root / "run/systemd/system/smbd.service.d/50-millrace-numa.conf").exists()


def test_a_limit_that_followed_the_sysctl_follows_it_again(machine: Machine) -> None:
    invoke()
    invoke("--revert")
    assert machine.read("sys/class/block/md127/md/sync_speed_max") == "system"


def test_the_first_value_counts_not_the_last(machine: Machine) -> None:
    cache = machine.root / "sys/class/block/md127/md/stripe_cache_size"
    invoke()
    cache.write_text("1024\n")
    invoke()
    invoke("--revert")
    assert cache.read_text().strip() == "256"


def test_reverting_twice_changes_nothing_more(machine: Machine) -> None:
    invoke()
    invoke("--revert")
    before = machine.snapshot()
    invoke("--revert")
    assert {path: text.strip() for path, text in machine.snapshot().items()} == {
        path: text.strip() for path, text in before.items()
    }


def test_what_was_never_recorded_gets_the_documented_default(machine: Machine) -> None:
    invoke()
    (machine.root / "run/millrace/tune-originals.json").unlink()
    output = invoke("--revert")
    assert machine.read("sys/class/block/md127/md/group_thread_cnt") == "0"
    assert machine.read("sys/class/block/md127/md/stripe_cache_size") == "256"
    assert machine.read("sys/class/block/nvme0n1/queue/wbt_lat_usec") == "2000"
    assert machine.read("sys/class/block/md127/queue/read_ahead_kb") == "16384", "no default is documented"
    assert "the kernel's default" in output


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 2}'])
def test_a_torn_record_does_not_stop_the_tuning(machine: Machine, text: str) -> None:
    machine.write("run/millrace/tune-originals.json", text)
    assert "warning" not in invoke()
    assert machine.read("sys/class/block/md127/md/group_thread_cnt") == "4"


def test_tuning_again_after_a_revert_sets_everything_again(machine: Machine) -> None:
    invoke()
    after = meaning(machine)
    invoke("--revert")
    invoke()
    assert meaning(machine) == after


def test_one_value_that_cannot_be_put_back_is_a_warning(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    invoke()
    machine.broken["ethtool -L"] = Result(1, "", "netlink error: Device or resource busy\n")
    output = invoke("--revert")
    assert "warning: ethtool -L ens1np0 combined cannot be restored to 63" in output
    assert machine.read("sys/class/block/md127/md/group_thread_cnt") == "0"


def test_output_says_how_long_a_revert_lasts(machine: Machine) -> None:
    invoke()
    assert "systemctl stop millrace-tune.service" in invoke("--revert")
