# SPDX-License-Identifier: Apache-2.0
"""Rendered files of NFS and Samba, word for word."""

import shutil
import subprocess
from pathlib import Path

import pytest

from millrace.serve.share import nfs, smb
from tests.fakes.samples import NFSD, default_share, pool, port

GOLDEN = Path(__file__).parent / "golden"
PORTS = [port("enp1s0", "10.0.0.2/24", speed=None), port("enp65s0np0", "10.0.1.2/24", "fd00:1::2/64")]


NETWORKS = ["10.0.0.0/24", "10.0.1.0/24", "fd00:1::/64"]


def test_exports() -> None:
    share = default_share(pool(), NETWORKS, True, PORTS)
    assert nfs.exports([share]) == (GOLDEN / "millrace.exports").read_text()


def test_a_share_without_a_client_network_is_not_exported_and_says_why() -> None:
    lines = nfs.exports([default_share(pool(), [], True, [])]).splitlines()
    assert all(line.startswith("#") for line in lines)
    assert "data is not exported: NFS is closed until a client network is confirmed: millrace share" in lines[-1]


def test_clients_behind_address_translation_can_be_let_in_by_policy() -> None:
    text = nfs.exports([default_share(pool(), ["10.0.0.0/24"], False, [])])
    assert ",insecure)" in text and ",secure)" not in text


def test_nfs_conf_with_an_rdma_device() -> None:
    assert nfs.settings(NFSD, rdma=True, scope=nfs.scope(pool())) == (GOLDEN / "nfs.conf").read_text()


def test_nfs_conf_does_not_ask_for_rdma_where_there_is_no_device() -> None:
    assert "rdma" not in nfs.settings(NFSD, rdma=False, scope="millrace-5f0c2d43")


def test_environment_of_the_nfs_unit() -> None:
    assert nfs.environment(NFSD).split() == [
        "MILLRACE_NFSD_THREADS_MIN=8",
        "MILLRACE_NFSD_THREADS_MAX=64",
        "MILLRACE_NFSD_POOL_MODE=pernode",
        "MILLRACE_NFSD_BLOCK=1048576",
    ]


def test_smb_conf() -> None:
    share = default_share(pool(), [], True, PORTS)
    assert smb.configuration([share], PORTS, memory=32 << 30, name="POOL-01234567") == (GOLDEN / "smb.conf").read_text()


@pytest.mark.parametrize(("gib", "processes"), [(1, 256), (4, 256), (8, 512), (32, 2048), (1024, 4096)])
def test_a_flood_of_smb_connections_ends_before_memory_does(gib: int, processes: int) -> None:
    lines = smb.configuration([], PORTS, memory=gib << 30).splitlines()
    assert f"max smbd processes = {processes}" in lines


def test_nothing_is_read_from_the_registry_that_domain_administrators_write_to() -> None:
    text = smb.configuration([default_share(pool(), [], True, PORTS)], PORTS)
    settings = [line.partition("=") for line in text.splitlines() if not line.startswith("#")]
    assert [value.strip() for name, _, value in settings if name.strip() == "registry shares"] == ["no"]
    # smb.conf(5): `config backend` and `include` are the other ways
    assert not {name.strip() for name, _, _ in settings} & {"include", "config backend", "config file", "copy"}


def test_a_port_without_a_cable_is_not_given_a_speed() -> None:
    assert smb.interface_list([port("enp1s0", "10.0.0.2/24", speed=None, carrier=False)]) == "lo enp1s0"


def test_comments_in_smb_conf_have_lines_of_their_own() -> None:
    lines = smb.configuration([default_share(pool(), [], True, PORTS)], PORTS).splitlines()
    commented = [line for line in lines if "#" in line]
    assert len(commented) > 10
    assert [line for line in commented if not line.startswith("#")] == []


def test_samba_itself_takes_every_line() -> None:
    testparm = shutil.which("testparm")
    if testparm is None:
        pytest.skip("testparm is not installed: apt install samba-common-bin (4.24 or later knows every parameter)")
    version = subprocess.run([testparm, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < (4, 24):
        pytest.skip(
            f"testparm {version} is too old for the appliance's smb.conf: run this where Samba is 4.24 or later"
        )
    done = subprocess.run([testparm, "-s", str(GOLDEN / "smb.conf")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nknown parameter" not in done.stderr
    assert "registry" not in done.stdout
    assert "server smb encrypt = desired" in done.stdout and "server signing = required" in done.stdout
