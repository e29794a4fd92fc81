# SPDX-License-Identifier: Apache-2.0
"""What a user of the server, a receiver of alerts and a server of updates cannot do."""

from host.layout import REPO
from millrace.lifecycle.update.layout import LARGEST
from tests.unit.boot.units import UDEV, unit

SYSCTL = REPO / "mkosi.extra/usr/lib/sysctl.d/60-millrace.conf"


def test_answer_of_a_receiver_does_not_take_the_memory_of_the_server() -> None:
    assert unit("millrace-alert.service")["MemoryMax"] == ["256M"]


def test_download_ends_at_the_largest_file_of_a_release() -> None:
    [limit] = unit("millrace-update-fetch.service")["LimitFSIZE"]
    assert int(limit.removesuffix("G")) << 30 == max(LARGEST.values())


def test_users_mount_nothing_and_filters_are_hardened() -> None:
    assert 'KERNEL=="fuse", MODE="0600", OPTIONS+="static_node=fuse"' in UDEV.read_text().splitlines()
    assert "net.core.bpf_jit_harden = 1" in SYSCTL.read_text().splitlines()
