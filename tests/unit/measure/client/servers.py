# SPDX-License-Identifier: Apache-2.0
"""A server with two data ports, its shares as clients meet them, and a client whose /proc and /sys are files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from millrace.measure.client.build import build
from millrace.measure.client.choices import ClientWorkload, Gpu, Protocol, RecipeWish
from millrace.measure.client.model import Recipe
from millrace.measure.client.served import ServedShare
from millrace.system.net import Interface
from millrace_client import this_client

SAMPLES = Path(__file__).parent / "samples"

PORTS = [
    Interface("enp1s0", [ip_interface("10.0.0.2/24")], True, 100000),
    Interface("enp65s0np0", [ip_interface("10.0.1.2/24"), ip_interface("fd00:1::2/64")], True, 100000),
]

TRAIN = ServedShare(
    name="train",
    path="/srv/pool/train",
    addresses=[ip_interface("10.0.0.2/24"), ip_interface("10.0.1.2/24"), ip_interface("fd00:1::2/64")],
    mtu=9000,
    nfs=True,
    smb=True,
    read_only=False,
    sec=None,
    xprtsec=None,
    posix=False,
    leases=False,
    rdma=[ip_interface("10.0.0.2/24"), ip_interface("10.0.1.2/24"), ip_interface("fd00:1::2/64")],
    rdma_mtu=9000,
)
SMB_ONLY = replace(TRAIN, nfs=False, posix=True, leases=True)


def recipe(
    workload: str = "training",
    protocol: str | None = "nfs-tcp",
    served: ServedShare = TRAIN,
    host: str | None = None,
    user: str | None = None,
    gpu: str | None = None,
    **more: Any,
) -> Recipe:
    chosen = Protocol(protocol) if protocol else None
    return build(served, RecipeWish(ClientWorkload(workload), chosen, host, user, Gpu(gpu) if gpu else None, **more))


def expectation(
    workload: str = "training", protocol: str = "nfs-tcp", served: ServedShare = TRAIN, gpu: str | None = None
) -> dict[str, Any]:
    """As the script reads it from a file."""
    found = json.loads(recipe(workload, protocol, served, gpu=gpu).expect.model_dump_json())
    assert isinstance(found, dict)
    return found


class Client(this_client.System):
    """A client at rest: files under `root`, a route that the story names, a server that answers or not."""

    def __init__(self, root: Path, route: this_client.Route, answers: bool = True) -> None:
        super().__init__(str(root))
        self.directory = root
        self.way = route
        self.answers = answers
        self.tools: dict[str, str | Callable[[], str]] = {}
        self.started: list[list[str]] = []
        self.waited = 0.0
        self.asked: list[tuple[str, int]] = []
        self.while_waiting: Callable[[], None] = lambda: None

    def write(self, path: str, text: str) -> None:
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def parameters(self, module: str, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            self.write(f"sys/module/{module}/parameters/{name}", f"{value}\n")

    def touch(self, where: str, times: int) -> bool:
        self.asked.append((where, times))
        return self.answers

    def run(self, argv: list[str]) -> str | None:
        self.started.append(argv)
        said = self.tools.get(argv[0].rpartition("/")[2])
        return said() if callable(said) else said

    def route(self, address: str, port: int) -> this_client.Route:
        return self.way

    def wait(self, seconds: float) -> None:
        self.waited += seconds
        self.while_waiting()


FAST = this_client.Route("enp1s0", 9000, 100000, 9000, 120)


def nfs_client(root: Path, sample: str) -> Client:
    """A client with an NFS mount on /mnt/train; `sample` is its mountstats."""
    client = Client(root, FAST)
    text = (SAMPLES / sample).read_text()
    client.write("proc/self/mountstats", text)
    client.write("proc/self/mounts", (SAMPLES / "mounts").read_text())
    client.parameters(
        "nfs",
        {
            "max_session_slots": 256,
            "max_session_cb_slots": 64,
            "callback_nr_threads": 12,
            "nfs_access_max_cachesize": 4194304,
            "nfs4_disable_idmapping": "Y",
        },
    )
    client.parameters("sunrpc", {"tcp_max_slot_table_entries": 65536})
    return client


def smb_client(root: Path, sample: str = "DebugData") -> Client:
    """A client with the share on /mnt/smb over as many channels as the sample has."""
    client = Client(root, FAST)
    client.write("proc/self/mounts", (SAMPLES / "mounts").read_text())
    client.write("proc/fs/cifs/DebugData", (SAMPLES / sample).read_text())
    return client
