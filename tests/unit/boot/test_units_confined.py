# SPDX-License-Identifier: Apache-2.0
"""What a user of the server, a receiver of alerts and a server of updates cannot do."""

from host.layout import REPO
from millrace.lifecycle.update.layout import LARGEST
from tests.image.test_hardening import DAEMONS
from tests.unit.boot.units import ADDED, UDEV, unit

SYSCTL = REPO / "mkosi.extra/usr/lib/sysctl.d/60-millrace.conf"


def test_answer_of_a_receiver_does_not_take_the_memory_of_the_server() -> None:
    assert unit("millrace-alert.service")["MemoryMax"] == ["256M"]


def test_download_ends_at_the_largest_file_of_a_release() -> None:
    [limit] = unit("millrace-update-fetch.service")["LimitFSIZE"]
    assert int(limit.removesuffix("G")) << 30 == max(LARGEST.values())


def test_users_mount_nothing_and_filters_are_hardened() -> None:
    assert 'KERNEL=="fuse", MODE="0600", OPTIONS+="static_node=fuse"' in UDEV.read_text().splitlines()
    assert "net.core.bpf_jit_harden = 1" in SYSCTL.read_text().splitlines()


def test_mount_daemon_reaches_no_other_host_and_keeps_the_mounts_of_the_server() -> None:
    found = unit("nfs-mountd.service")
    assert (found["IPAddressDeny"], found["IPAddressAllow"], found["UMask"]) == (["any"], ["localhost"], ["0077"])
    # It opens no port. Where it stands the kernel looks up exports; each of these makes a namespace (systemd.exec(5)).
    assert found["ExecStart"] == ["/usr/sbin/rpc.mountd --no-nfs-version 2 --no-nfs-version 3"]
    mounting = {"ProtectSystem", "ProtectHome", "ProtectHostname", "PrivateDevices", "ProtectKernelTunables"}
    assert not (mounting | {"InaccessiblePaths", "ReadWritePaths", "PrivateMounts"}) & set(found)


def test_web_server_has_no_capability_and_makes_no_namespace() -> None:
    for name in ("cockpit.service", "cockpit-wsinstance-http.service", "cockpit-wsinstance-https@.service"):
        found = unit(name)
        assert "CapabilityBoundingSet" in found and found["CapabilityBoundingSet"] == []
        assert (found["RestrictNamespaces"], found["SystemCallFilter"]) == (["yes"], ["@system-service"])


def test_each_daemon_of_clients_has_a_sandbox_whose_exposure_is_bounded() -> None:
    """tests/image asks systemd-analyze, which reads the units of the packages too."""
    links = [link for link in ADDED.glob("*/*") if link.name == "30-sandbox.conf"]
    confined = {link.parent.name.removesuffix(".d") for link in links}
    assert confined == set(DAEMONS)
    assert max(DAEMONS.values()) <= 40
