# SPDX-License-Identifier: Apache-2.0
"""A server whose networkd does what its files say: of two ports the second is part of nothing and has no link."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from millrace.serve.share.server import ShareServer
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import GOOD
from tests.fakes.samples import port
from tests.fakes.sockets import listen

FIRST, SECOND = "52:54:00:00:00:01", "52:54:00:00:00:02"


class Network(Appliance):
    """`taken` are addresses that another host answers for; `deaf` ones on which smbd will not listen."""

    TAKEN = (*Appliance.TAKEN, "ip -j addr", "networkctl reload", "networkctl reconfigure * ...")

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.taken: set[str] = set()
        self.deaf: set[str] = set()
        self.dhcp = {"enp1s0": ["10.0.0.2/24"], "enp2s0": ["10.0.1.2/24"]}
        self.addresses = {name: list(have) for name, have in self.dhcp.items()}
        self.macs = {"enp1s0": FIRST, "enp2s0": SECOND}
        self.master: dict[str, str] = {}
        for name in self.macs:
            (root / f"sys/class/net/{name}/device").mkdir(parents=True)
            (root / f"sys/class/net/{name}/carrier").write_text("1\n")
            (root / f"sys/class/net/{name}/speed").write_text("100000\n")

    def server(self, *networks: str) -> ShareServer:
        ports = [replace(port(name, *have), mac=self.macs[name]) for name, have in self.addresses.items()]
        return replace(super().server(*networks), ports=ports)

    def _ip(self, words: list[str], stdin: str) -> Result:
        found: list[dict[str, Any]] = [{"ifname": "lo", "link_type": "loopback", "addr_info": []}]
        for name, mac in self.macs.items():
            infos = [
                {"local": one.split("/")[0], "prefixlen": int(one.split("/")[1]), "scope": "global"}
                for one in self.addresses[name]
            ]
            entry = {"ifname": name, "link_type": "ether", "address": mac, "mtu": 9000, "addr_info": infos}
            found.append(entry | ({"master": self.master[name]} if name in self.master else {}))
        return Result(0, json.dumps(found), "")

    def _networkctl(self, words: list[str], stdin: str) -> Result:
        for name in words[1:]:
            path = self.root / f"etc/systemd/network/40-millrace-{self.macs[name].replace(':', '')}.network"
            text = path.read_text() if path.exists() else "DHCP=yes"
            wanted = [line.split("=")[1] for line in text.splitlines() if line.startswith("Address=")]
            wanted += self.dhcp[name] if "DHCP=yes" in text else []
            self.addresses[name] = [one for one in wanted if one not in self.taken]
        heard = [one.split("/")[0] for have in self.addresses.values() for one in have]
        listen(self.root, "0.0.0.0:2049", *(f"{one}:445" for one in heard if one not in self.deaf))
        return GOOD
