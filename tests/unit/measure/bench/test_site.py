# SPDX-License-Identifier: Apache-2.0
"""What a run measures is the pool of this server, by the devices that it really has."""

import os
from pathlib import Path

import pytest

from millrace.inventory.model import KernelModule
from millrace.measure.bench.plan import site as sites
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.files import write_text
from tests.fakes.samples import external_pool
from tests.unit.measure.bench.sites import site


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    known = site()
    monkeypatch.setattr(sites, "load_pool", lambda: known.pool)
    (tmp_path / "srv/pool").mkdir(parents=True)
    paths.inventory_file().parent.mkdir(parents=True, exist_ok=True)
    write_text(paths.inventory_file(), known.inventory.model_dump_json())
    return tmp_path


def test_the_array_under_the_pool_is_a_device_of_the_server(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites.os.path, "ismount", lambda _: True)
    here = sites.site()
    assert here.device == "/dev/md/millrace-data"
    space = os.statvfs(server / "srv/pool")
    # what is free changes a little while tests run
    assert here.free == pytest.approx(space.f_bavail * space.f_frsize, rel=0.1)
    assert (here.mountpoint, here.memory, here.cores) == ("/srv/pool", site().inventory.memory, 32)
    assert here.protocols == ["nfs-tcp", "smb"]
    (server / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
    assert sites.site().protocols == ["nfs-tcp", "nfs-rdma", "smb"]
    with_localio = site().inventory.model_copy(
        update={"file_modules": [KernelModule(name="nfs_localio", build="millrace")]}
    )
    write_text(paths.inventory_file(), with_localio.model_dump_json())
    assert sites.site().protocols == ["nfs-tcp", "nfs-rdma", "nfs-local", "smb"]
    assert [drive.serial for drive in here.data] == [drive.serial for drive in site().data]
    assert [drive.serial for drive in here.log] == [drive.serial for drive in site().log]


def test_pool_whose_plan_is_lost_is_measured_and_has_no_title(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites.os.path, "ismount", lambda _: True)
    found = sites.site()
    assert (found.title, found.arrays) == ("", site().arrays)
    assert found.sysctl == ["vm.dirty_background_bytes", "vm.dirty_bytes"]


def test_without_a_mounted_pool_there_is_nothing_to_measure(server: Path) -> None:
    with pytest.raises(Refused, match="/srv/pool is not mounted"):
        sites.site()


@pytest.mark.usefixtures("server")
def test_an_external_device_and_its_log_are_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites.os.path, "ismount", lambda _: True)
    pool = external_pool("SN000", "SN010")
    monkeypatch.setattr(sites, "load_pool", lambda: pool)
    found = sites.site()
    assert (found.device, found.arrays) == (pool.filesystem.device, [])
    assert ([one.serial for one in found.data], [one.serial for one in found.log]) == (["SN000"], ["SN010"])
