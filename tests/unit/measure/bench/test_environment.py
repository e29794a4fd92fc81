# SPDX-License-Identifier: Apache-2.0
"""What somebody needs to judge figures is kept with them: hardware, versions, settings."""

import platform
import socket
from pathlib import Path

import pytest

from millrace.measure.bench.result.environment import DriveFact, PortFact
from millrace.measure.bench.run.environment import environment, packages
from millrace.system import paths
from millrace.system.run import Result
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.sites import site
from tests.unit.measure.bench.tools import Tools

VERSIONS = "fio=3.41-1\nsamba=2:4.24\nnoise\n"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with files of the kernel."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(socket, "gethostname", lambda: "nas1")
    monkeypatch.setattr(platform, "release", lambda: "6.16.3")
    (tmp_path / "dev/md").mkdir(parents=True)
    (tmp_path / "dev/md/millrace-data").symlink_to("../md127")
    for path, text in {
        "sys/class/dmi/id/product_name": "SYS-1U12",
        "sys/class/block/md127/md/group_thread_cnt": "8",
        "sys/class/block/md127/md/stripe_cache_size": "16384",
        "sys/class/block/md127/md/chunk_size": "131072",
        "sys/class/block/md127/md/bitmap/location": "+8",
        "sys/class/block/md127/queue/read_ahead_kb": "4096",
        "proc/fs/nfsd/threads": "64",
        "proc/fs/nfsd/max_block_size": "1048576",
        "proc/fs/nfsd/versions": "-2 -3 +4",
        "sys/module/sunrpc/parameters/pool_mode": "pernode",
        **{f"proc/sys/{key.replace('.', '/')}": f"is {key}" for key in sysctl()},
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n")
    return tmp_path


def sysctl() -> list[str]:
    found = site().sysctl
    assert found
    return found


def test_the_server_is_described_as_it_was(box: Path) -> None:
    here = site(clients=[client("gpu1")])
    tools = Tools({"dpkg-query": Result(0, VERSIONS, ""), "systemd-detect-virt": Result(0, "kvm\n", "")})
    facts = environment(here, tools)
    assert (facts.host, facts.product, facts.kernel) == ("nas1", "SYS-1U12", "6.16.3")
    assert (facts.cpu, facts.sockets) == (here.inventory.cpu_model, here.inventory.sockets)
    assert (facts.cores, facts.memory) == (32, here.inventory.memory)
    assert (facts.virtual, facts.plan_sha256, facts.pool) == (
        "kvm",
        here.pool.plan_sha256,
        here.title,
    )
    assert facts.clients == [client("gpu1").facts]
    assert facts.packages == {"fio": "3.41-1", "samba": "2:4.24"}
    assert facts.settings == {
        "data:md/group_thread_cnt": "8",
        "data:md/stripe_cache_size": "16384",
        "data:md/chunk_size": "131072",
        "data:md/bitmap/location": "+8",
        "data:queue/read_ahead_kb": "4096",
        "nfsd:threads": "64",
        "nfsd:max_block_size": "1048576",
        "nfsd:versions": "-2 -3 +4",
        "sunrpc:pool_mode": "pernode",
        **{key: f"is {key}" for key in sysctl()},
    }


def test_drives_and_ports_are_described_by_what_they_are_for(box: Path) -> None:
    here = site()
    facts = environment(here, Tools())
    assert [drive.role for drive in facts.drives] == ["data"] * 10 + ["log"] * 2
    drive, port = here.data[0], here.inventory.nics[0]
    assert drive.link is not None and port.link is None
    assert facts.drives[0] == DriveFact(
        serial=drive.serial,
        model=drive.model,
        firmware=drive.firmware,
        size=drive.size,
        role="data",
        link=f"{drive.link.speed:g} GT/s ×{drive.link.width}",
        temperature=drive.temperature,
    )
    assert facts.ports[0] == PortFact(
        name=port.name,
        driver=port.driver,
        speed=port.speed,
        carrier=port.carrier,
        rdma=port.rdma_device,
        link=None,
    )


def test_what_a_server_does_not_say_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    found = environment(site(title="", sysctl=[]), Tools({"systemd-detect-virt": Result(1, "none\n", "")}))
    assert (found.product, found.pool, found.virtual, found.settings) == ("unknown", "", None, {})


def test_all_packages_are_asked_for_at_once() -> None:
    tools = Tools()
    assert packages(tools, ["fio", "samba"]) == {}
    assert tools.calls == [["dpkg-query", "--show", "--showformat=${Package}=${Version}\\n", "fio", "samba"]]
