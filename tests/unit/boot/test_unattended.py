# SPDX-License-Identifier: Apache-2.0
"""A server without an operator: it restarts after a panic or a hang, and names itself."""

from pathlib import Path

import pytest

from host.layout import REPO
from millrace.state.domain_names import netbios_name
from tests.unit.boot.units import read, unit

SYSTEMD = Path("usr/lib/systemd")


def test_panic_and_oops_end_in_a_reboot() -> None:
    lines = (REPO / "mkosi.extra/usr/lib/sysctl.d/60-millrace.conf").read_text().splitlines()
    assert {"kernel.panic = 30", "kernel.panic_on_oops = 1"} <= set(lines)


def test_hang_ends_in_a_reset() -> None:
    assert read(SYSTEMD / "system.conf.d/10-millrace.conf")["RuntimeWatchdogSec"] == ["3min"]


@pytest.mark.parametrize(
    "name",
    [
        "nfs-mountd.service",
        "nfsdcld.service",
        "cockpit.service",
        "cockpit-wsinstance-http.service",
        "cockpit-wsinstance-https@.service",
    ],
)
def test_memory_that_runs_out_ends_a_benchmark_before_what_serves(name: str) -> None:
    [kept] = unit(name)["OOMScoreAdjust"]
    [first] = unit("millrace-bench.service")["OOMScoreAdjust"]
    assert int(kept) < 0 < int(first)


def test_host_name_is_made_from_the_machine_id_and_is_a_netbios_name() -> None:
    # hostname(5): each ? becomes a hexadecimal digit, the same in each boot
    name = (REPO / "mkosi.extra/etc/hostname").read_text().strip()
    assert name == "millrace-??????"
    assert netbios_name(name.replace("?", "0")) == "MILLRACE-000000"


def test_names_are_not_resolved_by_multicast() -> None:
    resolved = read(SYSTEMD / "resolved.conf.d/10-millrace.conf")
    assert (resolved["LLMNR"], resolved["MulticastDNS"]) == (["no"], ["no"])


def test_mountd_speaks_with_the_kernel_only() -> None:
    assert unit("nfs-mountd.service")["ExecStart"] == ["/usr/sbin/rpc.mountd --no-nfs-version 2 --no-nfs-version 3"]


def test_scope_of_the_nfs_server_survives_each_setting_of_its_threads() -> None:
    server = unit("nfs-server.service")
    assert [line for line in server["ExecStartPost"] if "threads" in line] == [
        "/usr/lib/millrace/nfsd-threads -m $MILLRACE_NFSD_THREADS_MIN $MILLRACE_NFSD_THREADS_MAX"
    ]
