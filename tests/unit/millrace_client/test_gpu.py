# SPDX-License-Identifier: Apache-2.0
"""A node with GPUs where one thing is wrong: the check names it and its fix."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace_client import check, gpu, this_client
from millrace_client.finding import FAIL, OK, UNSEEN, WARN, Finding
from tests.unit.measure.client.servers import expectation, nfs_client
from tests.unit.millrace_client.gpu_node import INTERFACE, MOUNT, NEAR, OTHER_SOCKET, PORT, SAME_SOCKET, Node


def examined(node: Node, options: dict[str, str] | None = None) -> dict[str, Finding]:
    found = gpu.examine(node.maker, node.share, options or MOUNT, INTERFACE, node)
    assert len({one.check for one in found}) == len(found)
    assert all(one.fix for one in found if one.status != OK)
    return {one.check: one for one in found}


def wrong(found: dict[str, Finding]) -> set[str]:
    return {name for name, one in found.items() if one.status != OK}


def test_everything_in_order_is_green_and_read_from_the_share(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    found = examined(node)
    assert wrong(found) == set()
    assert found["path"].text == "64 MiB of large.bin: 64 direct reads"
    (started,) = [one for one in node.started if one[0].endswith("gdsio")]
    assert started[1:3] == ["-f", f"{node.share}/data/large.bin"]
    # reads, and never writes
    assert started[started.index("-I") + 1] == "0" and started[started.index("-s") + 1] == "64M"
    assert set(found) >= {"direct", "gpu", "driver", "nvidia-fs", "ofed", "registered", "cufile", "iommu"}


def test_amd_has_no_counters_and_says_so(tmp_path: Path) -> None:
    found = examined(Node(tmp_path, "amd"))
    assert wrong(found) == {"path"}
    assert found["path"].status == UNSEEN and "HIPFILE_ALLOW_COMPAT_MODE=false aiscp" in found["path"].fix


Plant = Callable[[Node], object]
NVIDIA: dict[str, tuple[Plant, str, str, str]] = {
    "fell back to host memory": (
        lambda node: node.tools.update(gdsio=lambda: node.reads(0)),
        *("path", FAIL, "nvidia-fs served none of it: it fell back to host memory"),
    ),
    "direct reads fail": (
        lambda node: node.tools.update(gdsio=lambda: node.reads(10, failed=3)),
        *("path", FAIL, "3 direct reads of large.bin failed"),
    ),
    "reads are not counted": (
        lambda node: node.counters(0, counted=False),
        *("path", UNSEEN, "does not count reads"),
    ),
    "no gdsio": (lambda node: node.tools.pop("gdsio"), "path", UNSEEN, "no read into a GPU was made"),
    "DOCA 26.01": (
        lambda node: node.tools.update(ofed_info="OFED-internal-26.01-1.0.0:\n"),
        *("doca-26.01-nfsrdma", FAIL, "ofed 26.01-1.0.0: mlnx-nfsrdma of DOCA 26.01 exports"),
    ),
    "modules of the distribution": (
        lambda node: (node.tools.pop("ofed_info"), node.write("proc/driver/nvidia-fs/modules", "nvme: 1\n")),
        *("ofed", FAIL, "rpcrdma of a distribution kernel does not register"),
    ),
    "not registered": (
        lambda node: node.write("proc/driver/nvidia-fs/modules", "wekafsio: 1\n"),
        *("registered", FAIL, "rpcrdma is not registered"),
    ),
    "nvidia-fs that fails": (
        lambda node: (node.nvidia_fs("2.25.6"), node.tools.pop("gdsio")),
        *("nvidia-fs-2.25.6", FAIL, "nvidia-fs 2.25.6: cuFile calls fail"),
    ),
    "old nvidia-fs": (
        lambda node: (node.nvidia_fs("2:17:3"), node.tools.pop("gdsio")),
        *("nvidia-fs", FAIL, "2.17.3, should be 2.25.7 or later"),
    ),
    "nvidia-fs is not loaded": (
        lambda node: [node.remove(f"proc/driver/nvidia-fs/{one}") for one in ("version", "modules", "stats")],
        *("nvidia-fs", FAIL, "not loaded"),
    ),
    "no driver": (lambda node: node.remove("proc/driver/nvidia/version"), "driver", FAIL, "not loaded"),
    "proprietary modules": (
        lambda node: node.write(
            "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  525.89.02\n"
        ),
        *("driver", FAIL, "does not load beside the proprietary kernel modules"),
    ),
    "refused symbol": (
        lambda node: node.tools.update(
            dmesg="[   27.0] failing symbol_get of non-GPLONLY symbol rpcrdma_register_nvfs_dma_ops.\n"
        ),
        *("kernel log", FAIL, "refuse symbols that rpcrdma exports without GPL"),
    ),
    "dmesg for root only": (lambda node: node.tools.pop("dmesg"), "kernel log", UNSEEN, "cannot be read"),
    "gdscheck refuses": (
        lambda node: node.tools.update(gdscheck=" NFS                : Unsupported\n"),
        *("gdscheck", FAIL, "NFS: Unsupported"),
    ),
    "cufile.json without the mount": (
        lambda node: node.cufile(
            '{"fs": {"nfs": {"mount_table": {"/mnt/other": {"rdma_dev_addr_list": ["10.0.0.21"]}}}}}'
        ),
        *("cufile", FAIL, "has no addresses for"),
    ),
    "cufile.json of another shape": (
        lambda node: node.cufile('{"fs": {"nfs": {"rdma_dev_addr_list": ["10.0.0.21"]}}}'),
        *("cufile", FAIL, "has no fs.nfs.mount_table"),
    ),
    "cufile.json that is none": (lambda node: node.cufile("{"), "cufile", FAIL, "is not JSON"),
    "no cufile.json": (lambda node: node.remove("etc/cufile.json"), "cufile", FAIL, "is not there"),
    "address of the server in cufile.json": (
        lambda node: node.cufile((node.read("etc/cufile.json") or "").replace("10.0.0.21", "10.0.0.2")),
        *("cufile", FAIL, "names 10.0.0.2, no address of this client"),
    ),
}


@pytest.mark.parametrize("fault", NVIDIA)
def test_planted_fault_is_named(tmp_path: Path, fault: str) -> None:
    node = Node(tmp_path, "nvidia")
    plant, name, status, words = NVIDIA[fault]
    plant(node)
    found = examined(node)[name]
    assert found.status == status and words in found.text and found.fix


AMD: dict[str, tuple[Plant, str, str, str]] = {
    "old driver": (
        lambda node: node.write("sys/module/amdgpu/version", "30.20.1\n"),
        *("amdgpu-before-31.40", FAIL, "amdgpu 30.20.1: amdgpu-dkms before 31.40"),
    ),
    "driver of the kernel": (
        lambda node: node.write("sys/module/amdgpu/version", "6.12.12\n"),
        *("amdgpu", UNSEEN, "the release of amdgpu cannot be told from 6.12.12"),
    ),
    "no driver": (
        lambda node: node.remove("sys/module/amdgpu/version") or (node.directory / "sys/module/amdgpu").rmdir(),
        "driver",
        FAIL,
        "amdgpu is not loaded",
    ),
    "driver without direct reads": (
        lambda node: node.write("proc/kallsyms", "0000000000000000 t kfd_ioctl\t[amdgpu]\n"),
        *("kernel", FAIL, "no kfd_ais_rw_file"),
    ),
    "kernel without P2PDMA": (
        lambda node: node.tools.update({"ais-check": "  Kernel P2PDMA support   : False\n"}),
        *("ais-check Kernel P2PDMA support", FAIL, "not supported"),
    ),
    "no ais-check": (lambda node: node.tools.pop("ais-check"), "ais-check", UNSEEN, "is not here"),
    "setting of the whole node": (
        lambda node: node.write("etc/environment", "HIPFILE_UNSUPPORTED_FILE_SYSTEMS=true\n"),
        *("environment", WARN, "also lifts hipFile's check for every other file system"),
    ),
}


@pytest.mark.parametrize("fault", AMD)
def test_planted_fault_of_amd_is_named(tmp_path: Path, fault: str) -> None:
    node = Node(tmp_path, "amd")
    plant, name, status, words = AMD[fault]
    plant(node)
    found = examined(node)[name]
    assert found.status == status and words in found.text and found.fix


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"proto": "tcp", "sec": "sys"}, "the mount uses tcp: every byte goes through host memory"),
        ({"proto": "rdma", "sec": "krb5p"}, "sec=krb5p: the CPU verifies every byte"),
        ({"proto": "rdma", "sec": "krb5i"}, "sec=krb5i"),
        ({"proto": "rdma", "sec": "sys", "xprtsec": "mtls"}, "xprtsec=mtls: the CPU decrypts every byte"),
        ({}, "the mount uses unknown"),
    ],
)
@pytest.mark.parametrize("maker", ["nvidia", "amd"])
def test_mount_that_no_gpu_can_read_directly(tmp_path: Path, maker: str, options: dict[str, str], words: str) -> None:
    node = Node(tmp_path, maker)
    found = {one.check: one for one in gpu.examine(maker, node.share, options, INTERFACE, node)}["direct"]
    assert found.status == FAIL and words in found.text


def test_mount_that_says_it_has_no_tls_is_direct(tmp_path: Path) -> None:
    assert examined(Node(tmp_path, "nvidia"), {**MOUNT, "xprtsec": "none"})["direct"].status == OK


def test_rdma_made_by_the_cpu_is_found(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    node.write("sys/class/infiniband/rxe0/parent", f"{INTERFACE}\n")
    assert "made by the CPU" in examined(node)["direct"].text


# Where the GPU and the port are


@pytest.mark.parametrize(
    ("path", "numa", "status", "words"),
    [
        (PORT, 0, OK, "one PCIe switch with the port 0000:44:00.0"),
        (SAME_SOCKET, 0, OK, "one socket with the port 0000:61:00.0 (NUMA node 0)"),
        (OTHER_SOCKET, 1, WARN, "NUMA node 0, the port of the mount is 0000:c1:00.0 on NUMA node 1"),
        (OTHER_SOCKET, -1, UNSEEN, "does not name NUMA nodes"),
    ],
)
def test_distance_of_gpu_and_port(tmp_path: Path, path: str, numa: int, status: str, words: str) -> None:
    node = Node(tmp_path, "nvidia")
    node.port(path, numa)
    found = examined(node)["distance 0000:43:00.0"]
    assert found.status == status and words in found.text


def test_ports_below_a_bond_count(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    node.remove(f"sys/class/net/{INTERFACE}/device")
    for name, path, numa in (("enp1", OTHER_SOCKET, 1), ("enp2", PORT, 0)):
        node.device(path, numa, "identity", vendor="0x15b3", kind="0x020000")
        node.link(f"sys/class/net/{name}/device", f"sys/devices/{path}")
        (tmp_path / f"sys/class/net/{INTERFACE}/lower_{name}").mkdir(parents=True)
    assert examined(node)["distance 0000:43:00.0"].text.startswith("one PCIe switch")


def test_port_without_hardware_is_not_placed(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    node.remove(f"sys/class/net/{INTERFACE}/device")
    found = examined(node)["distance"]
    assert found.status == UNSEEN and "has no PCI device" in found.text


def test_other_devices_of_a_maker_are_no_gpus(tmp_path: Path) -> None:
    node = Node(tmp_path, "amd")
    node.device("pci0000:00/0000:00:08.0", 0, "identity", vendor="0x1002", kind="0x040300")
    assert examined(node)["gpu"].text == "AMD 0000:43:00.0"


# IOMMU


@pytest.mark.parametrize("kind", ["DMA", "DMA-FQ"])
def test_translating_iommu_is_found(tmp_path: Path, kind: str) -> None:
    node = Node(tmp_path, "nvidia")
    node.gpu(NEAR, 0, kind)
    found = examined(node)["iommu"]
    assert found.status == FAIL and f"0000:43:00.0 ({kind})" in found.text and "iommu=pt" in found.fix


def test_iommu_that_is_off_is_fine(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    for one in (tmp_path / "sys/kernel/iommu_groups").iterdir():
        (one / "type").unlink()
        one.rmdir()
    assert examined(node)["iommu"] == Finding("iommu", OK, "off")


def test_mode_that_an_old_kernel_does_not_show_is_not_guessed(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    node.remove("sys/kernel/iommu_groups/0000:43:00.0/type")
    assert examined(node)["iommu"].status == UNSEEN


# Without GPUs


@pytest.mark.parametrize("maker", ["nvidia", "amd"])
def test_client_without_gpus_says_what_it_cannot_see(tmp_path: Path, maker: str) -> None:
    (tmp_path / "share").mkdir()
    empty = nfs_client(tmp_path, "mountstats-rdma")
    found = gpu.examine(maker, str(tmp_path / "share"), MOUNT, "eth0", empty)
    assert found[0].status == OK
    assert {one.status for one in found[1:]} == {UNSEEN}
    assert found[1].text.startswith(
        f"no GPU of {gpu.MAKERS[maker]} on this client: drivers, distance and the direct path"
    )


def test_counters_that_moved_by_themselves_prove_nothing_without_a_file(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    node.remove("share/data/large.bin")
    found = examined(node)["path"]
    assert found.status == UNSEEN and "no file of 1 MiB or more" in found.text
    assert not any(one[0].endswith("gdsio") for one in node.started)


def test_links_in_the_share_are_not_followed(tmp_path: Path) -> None:
    node = Node(tmp_path, "nvidia")
    (tmp_path / "elsewhere").write_bytes(bytes(2 << 20))
    node.remove("share/data/large.bin")
    (tmp_path / "share/link").symlink_to(tmp_path / "elsewhere")
    assert examined(node)["path"].status == UNSEEN


# The program


def test_expected_values_of_a_recipe_for_gpus_ask_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = nfs_client(tmp_path, "mountstats-rdma")
    file = tmp_path / "expect.json"
    for given, more, asked in (("nvidia", (), True), (None, (), False), (None, ("--gpu", "amd"), True)):
        file.write_text(json.dumps(expectation("training", "nfs-rdma", gpu=given)))
        status = check.main(["/mnt/train", "--expect", str(file), "--json", *more], client)
        report = json.loads(capsys.readouterr().out)
        assert ("gpu" in {one["check"] for one in report["findings"]}) is asked
        # what cannot be seen is not green
        assert (status, report["green"]) == ((1, False) if asked else (0, True))


def test_gpus_that_are_unknown_are_no_expectation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "expect.json"
    file.write_text(json.dumps({**expectation(), "gpu": "intel"}))
    assert check.main(["/mnt/train", "--expect", str(file)], nfs_client(tmp_path, "mountstats-training")) == 2
    assert "its GPUs are unknown" in capsys.readouterr().err


def test_tool_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_client, "TOOL_WAIT", 0.05)
    system = this_client.System()
    assert system.run(["sleep", "60"]) is None
    assert system.run(["/no/such/tool"]) is None
    assert system.run(["false"]) is None
    monkeypatch.setattr(this_client, "TOOL_WAIT", 10.0)
    assert system.run(["echo", "said"]) == "said\n"
