# SPDX-License-Identifier: Apache-2.0
"""What `millrace network` prints: ports, a VLAN and a bond, a change that waits, one that was rolled back, a path."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel

from millrace.serve.network import network_state, trial, trial_record
from millrace.serve.network.edit import LinkSettings, add_bond, add_vlan, set_dns, set_link, set_routes
from millrace.serve.network.path_mtu import path_mtu
from millrace.system import nfs_client, paths
from tests.unit.plugin.week import DIRECTORY
from tests.unit.serve.network.network import PARTNER, Network


def documents() -> dict[str, str]:
    """The text of every document by its path below the golden files."""
    with tempfile.TemporaryDirectory(prefix="millrace-network-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", Path(directory))
        patch.setenv("SUDO_USER", "admin")
        patch.setattr("os.geteuid", lambda: 0)
        for change in ("os.chown", "os.fchown", "os.fsync"):
            patch.setattr(change, lambda *arguments: None)
        network = Network(Path(directory))
        patch.setattr(nfs_client, "session", network.nfs_session)
        (Path(directory) / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
        (Path(directory) / "proc/sys/kernel/hostname").write_text("nas\n")
        return {f"{DIRECTORY}/{name}": f"{said.model_dump_json(indent=2)}\n" for name, said in _said(network, patch)}


def _said(network: Network, patch: pytest.MonkeyPatch) -> Iterator[tuple[str, BaseModel]]:
    host = network.host()
    patch.setattr("millrace.serve.network.trial_record.report", partial(trial_record.report, lambda: network.clock))
    set_link("enp1s0", LinkSettings(("10.1.0.11/24",), gateway="10.1.0.1"), host)
    trial.confirm(host)
    set_dns(["10.1.0.53"], ["example.com"], host, lambda server: True)
    trial.confirm(host)
    set_routes(["10.2.0.0/16=10.1.0.2"], host)
    trial.confirm(host)
    yield "network-show.plain.json", network_state.found(network)
    yield "network-vlan.json", add_vlan("enp1s0", 100, LinkSettings(("10.9.0.1/24",), mtu=9000), host)
    yield "network-show.waiting.json", network_state.found(network)
    yield "network-confirm.json", trial.confirm(host)
    network.partner = PARTNER
    add_bond("bond0", ["enp2s0"], "lacp", LinkSettings(("10.3.0.1/24",)), host)
    trial.confirm(host)
    yield "network-show.json", network_state.found(network)
    yield "network-path-mtu.json", path_mtu("10.9.0.20", network)
    network.path = 1500
    yield "network-path-mtu.less.json", path_mtu("10.9.0.20", network)
    network.path = 0
    yield "network-path-mtu.silent.json", path_mtu("10.9.0.20", network)
    set_dns([], [], host, lambda server: True)
    network.clock += trial.TO_CONFIRM
    trial.expire(host)
    yield "network-show.rolled-back.json", network_state.found(network)
