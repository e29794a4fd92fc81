# SPDX-License-Identifier: Apache-2.0
"""A server of files with processors, network ports and their interrupts, and the tools that change them."""

import errno
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands

MLX5 = "mlx5_comp{}@pci:0000:81:00.0"
ALL = "0-95"


class Machine(Commands):
    """Also the runner of tools: ethtool makes the vectors of a port again, as mlx5 does, and nfsdctl keeps numbers."""

    TAKEN = (
        "ethtool -i *",
        "ethtool --json -l *",
        "ethtool -L * combined *",
        "ethtool --json -g *",
        "ethtool -G * rx *",
        "ethtool -G * tx *",
        "ip -j addr",
        "ethtool --json -c *",
        "ethtool -C * adaptive-rx on",
        "ethtool -C * rx-usecs *",
        "ethtool -C * adaptive-rx off rx-usecs *",
        "nfsdctl threads",
        "/usr/lib/millrace/nfsd-threads -m * *",
        "systemctl is-active --quiet *.service",
        "systemctl daemon-reload",
    )

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.missing: set[str] = set()
        self.active: set[str] = set()
        self.nfsd_threads = [8, 64]
        self.pools = 2
        self._queues: dict[str, list[int]] = {}
        self._handlers: dict[str, str] = {}
        self.coalescing: dict[str, dict[str, int | bool]] = {}
        self.rings: dict[str, dict[str, int]] = {}
        # looks at a port without an address after its driver has started again
        self.away = 0
        self._away: dict[str, int] = {}
        self.refusing: set[str] = set()
        self._next_irq = 40

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{text}\n")

    def read(self, path: str) -> str:
        return (self.root / path).read_text().strip()

    def node(self, number: int, cores: Sequence[tuple[int, ...]], package: int | None = None) -> None:
        """A NUMA node and the threads of each of its cores."""
        cpus = sorted(cpu for threads in cores for cpu in threads)
        self.write(f"sys/devices/system/node/node{number}/cpulist", ",".join(map(str, cpus)))
        for threads in cores:
            for cpu in threads:
                topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
                self.write(f"{topology}/thread_siblings_list", ",".join(map(str, threads)))
                self.write(f"{topology}/physical_package_id", str(number if package is None else package))

    def port(self, name: str, node: int, bus: int = 0x81, link: str = "32.0 GT/s PCIe", width: int = 16) -> Path:
        """A network port without queues or vectors yet. Returns the directory of its PCI function."""
        function = self.root / f"sys/devices/pci0000:80/0000:80:01.0/0000:{bus:02x}:00.0"
        place = function.relative_to(self.root)
        for attribute in ("current", "max"):
            self.write(f"{place}/{attribute}_link_speed", link)
            self.write(f"{place}/{attribute}_link_width", str(width))
        self.write(f"{place}/numa_node", str(node))
        (function / "msi_irqs").mkdir()
        (function / "net" / name).mkdir(parents=True)
        (function / "net" / name / "device").symlink_to("../..")
        self.write(f"{place}/net/{name}/carrier", "1")
        link_path = self.root / "sys/class/net" / name
        link_path.parent.mkdir(parents=True, exist_ok=True)
        link_path.symlink_to(function / "net" / name)
        return function

    def vector(self, function: Path, handler: str) -> int:
        """An interrupt of a PCI function, allowed on all CPUs."""
        irq, self._next_irq = self._next_irq, self._next_irq + 1
        (function / "msi_irqs" / str(irq)).write_text("msix\n")
        self.write(f"proc/irq/{irq}/smp_affinity_list", ALL)
        (self.root / f"proc/irq/{irq}" / handler).mkdir()
        return irq

    def queues(self, name: str, now: int, most: int, handler: str | None = None, xps: bool = True) -> None:
        """Queues as the driver has them; `handler` names the vector of each, with {} for its number."""
        self._queues[name] = [now, most]
        directory = self.root / "sys/class/net" / name / "queues"
        for number in range(now):
            (directory / f"rx-{number}").mkdir(parents=True, exist_ok=True)
            (directory / f"tx-{number}").mkdir(parents=True, exist_ok=True)
            if xps:
                self.write(f"sys/class/net/{name}/queues/tx-{number}/xps_cpus", "00000000,00000000,00000000")
        if handler:
            self._handlers[name] = handler
            function = (self.root / "sys/class/net" / name / "device").resolve()
            for number in range(now):
                self.vector(function, handler.format(number))

    def irqs(self, name: str) -> dict[str, str]:
        """The CPUs of each vector of a port, by the name of its handler."""
        function = (self.root / "sys/class/net" / name / "device").resolve()
        found = {}
        for entry in sorted((function / "msi_irqs").iterdir(), key=lambda entry: int(entry.name)):
            directory = self.root / "proc/irq" / entry.name
            [handler] = [one.name for one in directory.iterdir() if one.is_dir()]
            found[handler] = (directory / "smp_affinity_list").read_text().strip()
        return found

    def snapshot(self) -> dict[str, str]:
        """Everything that is set on this server, by path."""
        found = {str(path.relative_to(self.root)): path for top in ("sys", "proc") for path in self.files(top)}
        return {name: path.read_text() for name, path in sorted(found.items())}

    def files(self, top: str) -> list[Path]:
        return [path for path in (self.root / top).rglob("*") if path.is_file() and not path.is_symlink()]

    def works(self, words: Sequence[str], stdin: str) -> Result:
        if words[0] in self.missing:
            return Result(127, "", f"{words[0]} is not installed")
        return super().works(words, stdin)

    def _ethtool(self, words: list[str], stdin: str) -> Result:
        match words:
            case ["--json", "-l", name]:
                return self._channels(name)
            case ["-L", name, "combined", count]:
                self._renew(name, int(count))
            case ["--json", "-g", name] if name in self.rings:
                return Result(0, json.dumps([{"ifname": name, **self.rings[name]}]), "")
            case ["-G", name, direction, count] if name in self.rings and name not in self.refusing:
                assert int(count) <= self.rings[name][f"{direction}-max"]
                self.rings[name][direction] = int(count)
                self._renew(name, self._queues[name][0])
            case ["--json", "-c", name] if name in self.coalescing:
                return Result(0, json.dumps([{"ifname": name, **self.coalescing[name]}]), "")
            case ["-C", name, *_] if name in self.coalescing and name not in self.refusing:
                self._coalesce(name, words[2:])
            case ["--json", "-c" | "-g", name] | ["-C" | "-G", name, *_]:
                return Result(1, "[ ]\n", "netlink error: Operation not supported\n")
        return GOOD

    def _ip(self, words: list[str], stdin: str) -> Result:
        found = []
        for number, name in enumerate(sorted(one.name for one in (self.root / "sys/class/net").glob("*"))):
            has = [{"local": f"10.77.{number}.1", "prefixlen": 24, "scope": "global"}]
            if self._away.get(name, 0):
                self._away[name] -= 1
                has = []
            found.append({"ifname": name, "addr_info": has})
        return Result(0, json.dumps(found), "")

    def _coalesce(self, name: str, words: list[str]) -> None:
        has = self.coalescing[name]
        for key, value in zip(words[::2], words[1::2], strict=True):
            assert key in has, f"{name} has no {key}"
            has[key] = int(value) if value.isdigit() else value == "on"

    def _nfsdctl(self, words: list[str], stdin: str) -> Result:
        least, most = self.nfsd_threads
        each = " ".join([str(most // self.pools)] * self.pools)
        return Result(0, f"min-threads: {least}\npool-threads: {each}\n", "")

    def _nfsd_threads(self, words: list[str], stdin: str) -> Result:
        self.nfsd_threads = [int(words[1]), int(words[2])]
        return GOOD

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        return Result(3, "", "") if words[0] == "is-active" and words[-1] not in self.active else GOOD

    def _channels(self, name: str) -> Result:
        if name not in self._queues:
            return Result(1, "[ ]\n", "netlink error: Operation not supported\n")
        now, most = self._queues[name]
        return Result(0, json.dumps([{"ifname": name, "combined-max": most, "combined": now}]), "")

    def _renew(self, name: str, count: int) -> None:
        self._away[name] = self.away
        most = self._queues[name][1]
        function = (self.root / "sys/class/net" / name / "device").resolve()
        for entry in list((function / "msi_irqs").iterdir()):
            entry.unlink()
        queues = self.root / "sys/class/net" / name / "queues"
        for number in range(count, self._queues[name][0]):
            (queues / f"tx-{number}/xps_cpus").unlink()
            (queues / f"tx-{number}").rmdir()
            (queues / f"rx-{number}").rmdir()
        self.queues(name, count, most, self._handlers.get(name))


def two_sockets(machine: Machine, cores: int = 24) -> None:
    """Two nodes of `cores` cores with two threads each, numbered as the kernel does: second threads come last."""
    for node in range(2):
        first = node * cores
        machine.node(node, [(cpu, cpu + 2 * cores) for cpu in range(first, first + cores)])


def refuse(patch: pytest.MonkeyPatch, *paths: Path, error: int = errno.EPERM) -> None:
    """Writing to any of these files fails."""
    write = Path.write_text

    def write_text(self: Path, data: str, *more: object, **options: object) -> int:
        if self in paths:
            raise OSError(error, "refused")
        return write(self, data)

    patch.setattr(Path, "write_text", write_text)
