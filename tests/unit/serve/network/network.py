# SPDX-License-Identifier: Apache-2.0
"""A server whose networkd does what its files say, in the order in which it reads them.

Of two ports both have a link; bonds and VLANs are made by netdev files and gone when they are deleted.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from millrace.serve.network import trial
from millrace.serve.network.trial import NetworkServer
from millrace.serve.share.server import ShareServer
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import GOOD
from tests.fakes.samples import port
from tests.fakes.sockets import listen

FIRST, SECOND = "52:54:00:00:00:01", "52:54:00:00:00:02"
PARTNER = "02:00:00:00:00:99"
DEFAULT_MTU = 1500


class Network(Appliance):
    """`taken` are addresses that another host answers for; `deaf` ones on which smbd will not listen.

    `partner` answers LACP, `path` is what pings pass, `most` the MTU that drivers take, all in bytes; `clock` is what
    the wait for a confirmation has come to.
    """

    TAKEN = (
        *Appliance.TAKEN,
        "ip -j addr",
        "ip -d -j link show dev *",
        "ip link set dev * mtu *",
        "ip -j route get *",
        "ping -n -q -M do -c 2 -i 0.2 -W 1 -I * -s * *",
        "networkctl reload",
        "networkctl delete *",
        "networkctl reconfigure * ...",
        "systemctl reload-or-restart systemd-resolved.service",
        "systemctl try-restart systemd-timesyncd.service",
        "hostnamectl hostname *",
        "systemctl stop millrace-network-trial.service",
        "systemctl reset-failed millrace-network-trial.service",
        "systemd-run --quiet --collect --unit=millrace-network-trial ...",
    )

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.taken: set[str] = set()
        self.deaf: set[str] = set()
        self.partner = ""
        self.path, self.most = 9000, 9216
        self.clock = 100.0
        self.dhcp = {"enp1s0": ["10.0.0.2/24"], "enp2s0": ["10.0.1.2/24"]}
        self.addresses = {name: list(have) for name, have in self.dhcp.items()}
        self.mtus = dict.fromkeys(self.dhcp, DEFAULT_MTU)
        self.macs = {"enp1s0": FIRST, "enp2s0": SECOND}
        self.master: dict[str, str] = {}
        self.parents: dict[str, str] = {}
        default = root / "usr/lib/systemd/network/80-millrace-dhcp.network"
        default.parent.mkdir(parents=True)
        default.write_text("[Match]\nType=ether\n\n[Network]\nDHCP=yes\n")
        for name in self.macs:
            self._attribute(name, "carrier", "1")
            self._attribute(name, "speed", "100000")
            self._attribute(name, "address", self.macs[name])
            (root / f"sys/class/net/{name}/device").mkdir()

    def host(self) -> NetworkServer:
        """What the verbs change; another process applies a change in no time."""
        made = NetworkServer(self, lambda seconds: None, self.server, lambda: self.clock, lambda run: trial.apply(made))
        return made

    def server(self, *networks: str) -> ShareServer:
        ports = [replace(port(name, *have), mac=self.macs.get(name)) for name, have in self.addresses.items()]
        return replace(super().server(*networks), ports=[one for one in ports if one.addresses])

    def power_cut(self) -> None:
        """What is in /run is gone, and networkd reads its files at the next boot."""
        for directory in ("systemd", "millrace"):
            for path in sorted((self.root / "run" / directory).rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()
        for name in set(self.addresses) - set(self.macs):
            self._delete(name)
        self.mtus = dict.fromkeys(self.macs, DEFAULT_MTU)
        self._networkctl(["reload"], "")
        self._networkctl(["reconfigure", *self.addresses], "")

    def _attribute(self, name: str, attribute: str, text: str) -> None:
        path = self.root / f"sys/class/net/{name}/{attribute}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def _ip(self, words: list[str], stdin: str) -> Result:
        if words[:2] == ["-d", "-j"]:
            return Result(0, json.dumps([{"ifname": words[-1], "max_mtu": self.most}]), "")
        if words[0] == "link":
            self.mtus[words[3]] = int(words[5])
            return GOOD
        if "route" in words:
            return Result(0, json.dumps([{"dst": words[-1], "dev": "enp1s0"}]), "")
        present: list[dict[str, Any]] = [{"ifname": "lo", "link_type": "loopback", "addr_info": []}]
        for name, addresses in self.addresses.items():
            infos = [
                {"local": each.split("/")[0], "prefixlen": int(each.split("/")[1]), "scope": "global"}
                for each in addresses
            ]
            mac = self.macs.get(name, FIRST)
            entry = {"ifname": name, "link_type": "ether", "address": mac, "mtu": self.mtus[name], "addr_info": infos}
            entry |= {"master": self.master[name]} if name in self.master else {}
            present.append(entry | ({"link": self.parents[name]} if name in self.parents else {}))
        return Result(0, json.dumps(present), "")

    def _ping(self, words: list[str], stdin: str) -> Result:
        return GOOD if int(words[words.index("-s") + 1]) + 28 <= self.path else Result(1, "", "")

    def _networkctl(self, words: list[str], stdin: str) -> Result:
        if words[0] == "reload":
            for path in self._files("netdev"):
                text = path.read_text()
                name = re.findall("^Name=(.*)", text, re.MULTILINE)[0]
                if name not in self.addresses:
                    self._create(name, text)
        elif words[0] == "delete":
            self._delete(words[1])
        for name in words[1:] if words[0] == "reconfigure" else []:
            self._configure(name)
        heard = [each.split("/")[0] for have in self.addresses.values() for each in have]
        listen(self.root, "0.0.0.0:2049", *(f"{each}:445" for each in heard if each not in self.deaf))
        return GOOD

    def _files(self, suffix: str) -> list[Path]:
        directories = (self.root / one / "systemd/network" for one in ("etc", "run", "usr/lib"))
        return sorted((path for one in directories for path in one.glob(f"*.{suffix}")), key=lambda path: path.name)

    def _create(self, name: str, text: str) -> None:
        self.addresses[name], self.mtus[name] = [], DEFAULT_MTU
        self._attribute(name, "carrier", "1")
        self._attribute(name, "uevent", "DEVTYPE=bond" if "[Bond]" in text else "DEVTYPE=vlan")
        if "[Bond]" in text:
            self._attribute(name, "bonding/slaves", "")
            self._attribute(name, "bonding/ad_partner_mac", self.partner or "00:00:00:00:00:00")
        self._configure(name)

    def _delete(self, name: str) -> None:
        for path in sorted((self.root / f"sys/class/net/{name}").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        del self.addresses[name], self.mtus[name]
        self.master = {port: bond for port, bond in self.master.items() if bond != name}
        self.parents.pop(name, None)

    def _configure(self, name: str) -> None:
        text = next(path.read_text() for path in self._files("network") if self._matches(path.read_text(), name))
        wanted = re.findall("^Address=(.*)", text, re.MULTILINE)
        wanted += self.dhcp.get(name, []) if "DHCP=yes" in text else []
        self.addresses[name] = [each for each in wanted if each not in self.taken]
        for size in re.findall("^MTUBytes=(.*)", text, re.MULTILINE):
            self.mtus[name] = min(int(size), self.most)
        for vlan in re.findall("^VLAN=(.*)", text, re.MULTILINE):
            self.parents[vlan] = name
        self.master.pop(name, None)
        for bond in re.findall("^Bond=(.*)", text, re.MULTILINE):
            self.master[name] = bond
            (made,) = [path.read_text() for path in self._files("netdev") if f"Name={bond}\n" in path.read_text()]
            speed = (self.root / f"sys/class/net/{name}/speed").read_text().strip()
            deaf = "Mode=802.3ad" in made and speed == "-1"
            self._attribute(name, "bonding_slave/mii_status", "down" if deaf else "up")
        for bond in {each for each in self.addresses if (self.root / f"sys/class/net/{each}/bonding").is_dir()}:
            members = [member for member, where in self.master.items() if where == bond]
            self._attribute(bond, "bonding/slaves", " ".join(members))

    def _matches(self, text: str, name: str) -> bool:
        keys = dict(line.split("=", 1) for line in text.partition("\n\n")[0].splitlines() if line[:1].isalpha())
        mac = keys.get("PermanentMACAddress") or keys.get("MACAddress")
        if mac:
            return self.macs.get(name) == mac
        return keys.get("Name", name) == name and (name in self.macs or "Name" in keys)
