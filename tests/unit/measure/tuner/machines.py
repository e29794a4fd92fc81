# SPDX-License-Identifier: Apache-2.0
"""A 1U12 of files that serves NFS, whose settings are those of its plan."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.knobs.surface import KnobSurface, surface
from millrace.plan.defaults import PortSettings
from millrace.plan.policy.model import Policy
from millrace.plan.settings import Basis, Settings, settings_of
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from millrace.tune import settings as tuning
from millrace.tune.ports import core_settings, read_ports
from millrace.tune.run import run as tune
from millrace.tune.settings import SettingsFound
from millrace.tune.topology import cores
from tests.fakes.jobs import JOBS, JobManager
from tests.fakes.samples import pool
from tests.unit.plan.servers import drives_1u12, server
from tests.unit.plan.test_settings import basis
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_nfsd, add_nfsd_io_modes, add_sysctl
from tests.unit.tune.machine import MLX5, Machine

LOCAL = Load()
BOOT = "3d1c6b2e-0000-4000-8000-000000000001"
OTHER_BOOT = "3d1c6b2e-0000-4000-8000-000000000002"


class TunedServer(Machine):
    """The files of a server as `millrace tune` leaves them."""

    TAKEN: ClassVar[Iterable[str]] = (
        *Machine.TAKEN,
        *JOBS,
        "systemctl stop millrace-tuner.service",
        "systemctl reload-or-restart *.service",
        "systemd-detect-virt --vm",
        "dpkg-query --show --showformat=* fio ...",
        "fio --version",
    )

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, policy: Policy | None = None) -> None:
        super().__init__(root)
        patch.setattr(paths, "ROOT", root)
        self.units = JobManager("millrace-tuner.service")
        self.pool: Pool = pool()
        self.basis: Basis = basis(server(drives_1u12()), policy or Policy())
        self.settings: Settings = settings_of(self.basis)
        patch.setattr(tuning, "current", lambda *_: SettingsFound(self.settings))
        for number in range(12):
            add_drive(root, f"nvme{number}n1")
            self.write(f"sys/devices/nvme{number}n1/queue/nr_requests", "1023")
            self.write(f"sys/devices/nvme{number}n1/queue/max_sectors_kb", "1280")
        add_array(root, "data", "md127", [f"nvme{number}n1p1" for number in range(2, 12)], parity=True)
        add_array(root, "log", "md126", ["nvme0n1p1", "nvme1n1p1"], parity=False)
        for array in ("md126", "md127"):
            self.write(f"sys/class/block/{array}/md/degraded", "0")
            self.write(f"sys/class/block/{array}/md/sync_speed_min", "100000 (local)")
            for name, text in (
                ("sync_action", "idle"),
                ("sync_min", "0"),
                ("sync_max", "max"),
                ("component_size", "1000"),
            ):
                self.write(f"sys/class/block/{array}/md/{name}", text)
        for name in ("dirty_bytes", "dirty_background_bytes"):
            add_sysctl(root, f"vm.{name}", f"{self.settings.sysctl[f'vm.{name}']}\n")
        for name in ("min", "max"):
            add_sysctl(root, f"dev.raid.speed_limit_{name}", "1000\n")
        add_nfsd(root, 64, ["tcp 2049"])
        add_nfsd_io_modes(root, patch)
        self.write("proc/sys/kernel/random/boot_id", BOOT)
        self.pools = 1
        self.nfsd_threads = [self.settings.nfsd.threads_min, self.settings.nfsd.threads_max]
        md = self.settings.md
        self.write("sys/class/block/md127/md/stripe_cache_size", str(md.stripe_cache_size))
        self.write("sys/class/block/md127/md/group_thread_cnt", str(md.group_thread_cnt))
        self.write("sys/class/block/md127/queue/read_ahead_kb", str(md.read_ahead))
        write_model(paths.pool_file(), self.pool)

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words[0] == "show":
            return self.units._systemctl(words, stdin)
        return super()._systemctl(words, stdin)

    def unit_runs(self, now: bool, unit: str = "millrace-tuner.service") -> None:
        """Whether a unit runs, that of the tuner by default."""
        self.units.others[unit] = "active" if now else "inactive"

    def surface(self, load: Load = LOCAL) -> KnobSurface:
        return surface(self.settings, self.pool, self, load)

    def values(self) -> dict[str, str]:
        """What is set, by a short name."""
        block = "sys/class/block"
        files = {
            "stripes": f"{block}/md127/md/stripe_cache_size",
            "workers": f"{block}/md127/md/group_thread_cnt",
            "read-ahead": f"{block}/md127/queue/read_ahead_kb",
            "requests": f"{block}/nvme5n1/queue/nr_requests",
            "largest": f"{block}/nvme5n1/queue/max_sectors_kb",
            "dirty": "proc/sys/vm/dirty_bytes",
            "background": "proc/sys/vm/dirty_background_bytes",
        }
        threads = " ".join(map(str, self.nfsd_threads))
        return {"threads": threads} | {name: self.read(path) for name, path in files.items()}


def wired(machine: TunedServer, second: bool = True) -> None:
    """Two ports whose drivers adapt their interrupts to the load, or do not for the second one."""
    for bus, name in enumerate(("ens1", "ens2"), 0x81):
        machine.port(name, 0, bus)
    machine.coalescing = {
        "ens1": {"adaptive-rx": True, "rx-usecs": 8},
        "ens2": {"adaptive-rx": second, "rx-usecs": 8},
    }
    machine.node(0, [(cpu,) for cpu in range(32)])
    machine.queues("ens1", 32, 32, MLX5)
    machine.rings["ens1"] = {"rx": 1024, "rx-max": 8192, "tx": 512, "tx-max": 4096}
    tune([lambda: (core_settings(read_ports(cores(), machine, PortSettings()), PortSettings()), [])])
