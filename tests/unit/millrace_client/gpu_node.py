# SPDX-License-Identifier: Apache-2.0
"""A client with GPUs whose /proc, /sys and tools are files and texts.

No recording is of a machine with GPUs: none was at hand. All texts are composed by hand, after
- nvidia-fs: the format strings of nvfs-stat.c and nvfs-proc.c (github.com/NVIDIA/gds-nvidia-fs, 2.29),
- gdscheck, dmesg: the lines that are quoted in NVIDIA/gds-nvidia-fs#87 and ThinkParQ/beegfs#123,
- ais-check: hipFile's manual, and the symbol that its source looks for in /proc/kallsyms,
- sysfs: the kernel's Documentation/ABI/testing (sysfs-bus-pci, sysfs-kernel-iommu_groups, sysfs-class-net).
What a machine without GPUs shows is real: tests/vm/shares/test_recipes.py runs the check in a client that has none.
"""

from pathlib import Path

from tests.unit.measure.client.servers import FAST, Client

SWITCH = "pci0000:40/0000:40:01.1/0000:41:00.0"
NEAR = f"{SWITCH}/0000:42:00.0/0000:43:00.0"
PORT = f"{SWITCH}/0000:42:01.0/0000:44:00.0"
OTHER_SOCKET = "pci0000:c0/0000:c0:01.1/0000:c1:00.0"
SAME_SOCKET = "pci0000:60/0000:60:01.1/0000:61:00.0"
VENDORS = {"nvidia": ("0x10de", "0x030200"), "amd": ("0x1002", "0x120000")}
MOUNT = {"proto": "rdma", "sec": "sys"}
INTERFACE = "enp68s0np0"


class Node(Client):
    """A node with one GPU and one RDMA port on one PCIe switch, where everything is as it should be."""

    def __init__(self, root: Path, maker: str) -> None:
        super().__init__(root, FAST._replace(interface=INTERFACE))
        self.maker = maker
        self.gpu(NEAR, 0)
        self.port(PORT, 0)
        self.tools["ip"] = '[{"addr_info": [{"local": "10.0.0.21"}, {"local": "fd00::21"}]}]'
        self.tools["dmesg"] = "[    0.000000] Linux version 6.8.0\n"
        self.write("share/small", "x")
        (root / "share/data").mkdir()
        with (root / "share/data/large.bin").open("wb") as file:
            file.truncate(200 << 20)
        if maker == "nvidia":
            self._nvidia()
        else:
            self._amd()

    @property
    def share(self) -> str:
        return str(self.directory / "share")

    def gpu(self, path: str, numa: int, group: str = "identity") -> None:
        vendor, kind = VENDORS[self.maker]
        self.device(path, numa, group, vendor=vendor, kind=kind)

    def port(self, path: str, numa: int, group: str = "identity") -> None:
        self.device(path, numa, group, vendor="0x15b3", kind="0x020000")
        self.link(f"sys/class/net/{INTERFACE}/device", f"sys/devices/{path}")
        self.link("sys/class/infiniband/mlx5_0/device", f"sys/devices/{path}")

    def device(self, path: str, numa: int, group: str, *, vendor: str, kind: str) -> None:
        address, at = path.rpartition("/")[2], f"sys/devices/{path}"
        self.write(f"{at}/vendor", f"{vendor}\n")
        self.write(f"{at}/class", f"{kind}\n")
        self.write(f"{at}/numa_node", f"{numa}\n")
        self.write(f"sys/kernel/iommu_groups/{address}/type", f"{group}\n")
        self.link(f"{at}/iommu_group", f"sys/kernel/iommu_groups/{address}")
        self.link(f"sys/bus/pci/devices/{address}", at)

    def link(self, at: str, to: str) -> None:
        target = self.directory / at
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(self.directory / to)

    def remove(self, path: str) -> None:
        (self.directory / path).unlink()

    def counters(self, reads: int, failed: int = 0, counted: bool = True) -> None:
        line = f"n={reads + failed} ok={reads} err={failed} readMiB={reads} io_state_err=0"
        self.write(
            "proc/driver/nvidia-fs/stats",
            "GDS Version: 1.16.0.49 \nNVFS statistics(ver: 4.0)\nNVFS Driver(version: 2.29.4)\n"
            f"IO stats: {'Enabled' if counted else 'Disabled'}, peer IO stats: Disabled\nLogging level: warn\n\n"
            "Active Shadow-Buffer (MiB): 0\nActive Process: 0\n"
            + (f"Reads\t\t\t\t: {line}\n" if counted else f"Reads\t\t\t\t: err={failed} io_state_err=0\n")
            + "Reads\t\t\t\t: Bandwidth(MiB/s)=0 Avg-Latency(usec)=0\n",
        )

    def reads(self, direct: int, failed: int = 0) -> str:
        """What a run of gdsio does to the counters."""
        self.counters(100 + direct, failed)
        return "IoType: READ XferType: GPUD Threads: 1\n"

    def cufile(self, text: str) -> None:
        self.write("etc/cufile.json", text)

    def nvidia_fs(self, version: str) -> None:
        """Another version of nvidia-fs, as both of its files show it."""
        stats = self.read("proc/driver/nvidia-fs/stats") or ""
        self.write("proc/driver/nvidia-fs/stats", stats.replace("2.29.4", version))

    def _nvidia(self) -> None:
        self.write(
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build\nGCC version:  13\n",
        )
        self.write("proc/driver/nvidia-fs/version", "version: 2.29\n")
        self.write("proc/driver/nvidia-fs/modules", "nvme: 1\nrpcrdma: 1\n")
        self.counters(100)
        self.cufile(
            '{\n    // NOTE: "//" begins a comment\n    "logging": { "dir": "http://not-a-comment" },\n'
            f'    "fs": {{ "nfs": {{ "mount_table": {{\n"{self.share}": {{ "rdma_dev_addr_list": ["10.0.0.21"] }}\n'
            "    } } }\n}\n"
        )
        self.tools["ofed_info"] = "OFED-internal-26.04-1.0.0:\n"
        self.tools["gdscheck"] = " NVMe               : Supported\n NFS                : Supported\n"
        self.tools["gdsio"] = lambda: self.reads(64)

    def _amd(self) -> None:
        self.write("sys/module/amdgpu/version", "31.40.1\n")
        self.write("proc/kallsyms", "0000000000000000 t kfd_ais_rw_file\t[amdgpu]\n")
        self.tools["ais-check"] = (
            "AIS support in:\n        Kernel P2PDMA support   : True\n"
            "        HIP runtime             : True\n        amdgpu                  : True\n"
        )
