# SPDX-License-Identifier: Apache-2.0
"""pynfs, the test suite of NFS 4.1 by the developers of Linux' NFS, against a share, and over restarts of its server.

`MILLRACE_PYNFS` names a checkout of it, which is in no package registry; it is built on the test client.
"""

from collections.abc import Iterator

import pytest

from host.suites import results
from host.suites.sources import pynfs
from tests.vm.box import Box
from tests.vm.shares.suites import UNSQUASHED, available, make_unsquashed, put, run_long, unexplained
from tests.vm.shares.words import HOST
from vm.machine import Machine

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

SUITE = "pynfs"
PLACE = "/run/pynfs"
# As in other exports, only ports below 1024 may ask. After a restart pynfs takes any port: here all are below.
PORTS = "sysctl -q -w net.ipv4.ip_unprivileged_port_start=500 net.ipv4.ip_local_port_range='500 1023'"
ORDINARY = "sysctl -q -w net.ipv4.ip_local_port_range='32768 60999' net.ipv4.ip_unprivileged_port_start=1024"
# The reboot part but those of 100 and 1,000 clients.
REBOOT = "REBT1 REBT2a REBT3a REBT4a REBT5"
# What pynfs starts to have the server restarted: it asks, and waits.
ASK, DONE = "/run/restart.ask", "/run/restart.done"
HELPER = f"#!/bin/sh\nrm -f {DONE}\ntouch {ASK}\nuntil test -e {DONE}; do sleep 1; done\n"


@pytest.fixture(scope="module")
def checkout(client: Machine) -> Iterator[None]:
    put(client, available(pynfs), "/run/pynfs.tar.gz")
    client.run(f"mkdir -p {PLACE} && tar -xzf /run/pynfs.tar.gz -C {PLACE}")
    client.run(f"cd {PLACE} && python3 setup.py build > /run/pynfs.build 2>&1 || cat /run/pynfs.build", seconds=900)
    client.run(f"cat > {PLACE}/restart && chmod +x {PLACE}/restart", stdin=HELPER)
    client.run(PORTS)
    yield
    client.run(ORDINARY)


@pytest.fixture(scope="module")
def unsquashed(box: Box, checkout: None) -> Iterator[str]:
    make_unsquashed(box)
    yield UNSQUASHED
    box.millrace(f"share remove {UNSQUASHED} --delete-data {UNSQUASHED}", seconds=600)


def line(share: str, options: str, tests: str) -> str:
    return f"cd {PLACE}/nfs4.1 && python3 -u testserver.py {HOST}:/srv/pool/{share} -v --maketree {options} {tests}"


def test_every_test_of_nfs_4_1_passes_as_root(client: Machine, unsquashed: str) -> None:
    output = run_long(client, SUITE, line(unsquashed, "", "all"), 5400)
    ended = results.of_pynfs(output)
    assert len(ended) > 150, output
    assert unexplained(SUITE, "root", ended, output) == []


@pytest.mark.usefixtures("checkout")
def test_user_of_an_ordinary_share_is_refused_nothing_but_what_root_alone_may(client: Machine) -> None:
    output = run_long(client, SUITE, line("models", "--uid=2000 --gid=2000", "all"), 5400)
    ended = results.of_pynfs(output)
    assert len(ended) > 150, output
    assert unexplained(SUITE, "user", ended, output) == []


def test_state_is_reclaimed_after_restarts_of_the_server(box: Box, client: Machine, unsquashed: str) -> None:
    restarts = []

    def restart_where_asked() -> None:
        if client.run(f"test -e {ASK}", check=False).status == 0:
            client.run(f"rm {ASK}")
            box.say("systemctl restart nfs-server", seconds=300)
            restarts.append(True)
            client.run(f"touch {DONE}")

    options = f"--noinit --serverhelper={PLACE}/restart"
    output = run_long(client, SUITE, line(unsquashed, options, REBOOT), 3600, restart_where_asked)
    ended = results.of_pynfs(output)
    assert set(ended) == set(REBOOT.split()), output
    assert len(restarts) == 6
    assert unexplained(SUITE, "reboot", ended, output) == []
