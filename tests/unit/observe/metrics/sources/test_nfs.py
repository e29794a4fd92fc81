# SPDX-License-Identifier: Apache-2.0
"""What the NFS server of the kernel counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import nfs
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.observe.metrics.records import POOL_STATS
from tests.unit.observe.metrics.scrape import parsed, value, values

# As kernel 7.2 writes it, with the operations up to `read`.
COUNTERS = """rc 0 5 100
fh 0 0 0 0 0
io 4096 1024
th 16 0
net 110 0 110 3
rpc 108 3 1 2 0
proc4 2 1 107
proc4ops 26 0 0 0 7 1 0 0 0 0 20 9 0 0 0 0 3 0 0 2 0 0 0 40 0 5 33
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.count(1)
        made.tree.write("proc/net/rpc/nfsd", COUNTERS)
        yield made


def test_operations_have_their_names(box: Box) -> None:
    found = parsed(exposition(nfs.families()))
    by_name = {
        name: value(found, "millrace_nfsd_operations_total", operation=name) for name in ("access", "putfh", "read")
    }
    assert by_name == {"access": 7, "putfh": 40, "read": 33}
    assert len(values(found, "millrace_nfsd_operations_total")) == 23
    # RFC 8881, section 16.2, and RFC 8276: the last of each
    numbers = {name: number for number, name in enumerate(nfs.OPERATIONS, start=3)}
    assert (numbers["release_lockowner"], numbers["reclaim_complete"], numbers["removexattr"]) == (39, 58, 75)


def test_traffic_threads_and_clients(box: Box) -> None:
    found = parsed(exposition(nfs.families()))
    assert value(found, "millrace_nfsd_read_bytes_total") == 4096
    assert value(found, "millrace_nfsd_written_bytes_total") == 1024
    assert value(found, "millrace_nfsd_calls_total") == 108
    reasons = {
        one: value(found, "millrace_nfsd_bad_calls_total", reason=one) for one in ("all", "format", "authentication")
    }
    assert reasons == {"all": 3, "format": 1, "authentication": 2}
    assert value(found, "millrace_nfsd_threads") == int((box.root / "proc/fs/nfsd/threads").read_text())
    assert (value(found, "millrace_nfsd_clients"), value(found, "millrace_nfsd_stateful_clients")) == (3, 3)
    assert value(found, "millrace_nfsd_listening", transport="rdma") == 1
    assert value(found, "millrace_nfsd_call_seconds_count") == 11_000
    assert value(found, "millrace_nfsd_call_seconds_sum") == pytest.approx(4.4)


def test_pools_of_threads_show_work_that_found_none_idle(box: Box) -> None:
    box.tree.write("proc/fs/nfsd/pool_stats", POOL_STATS)
    found = parsed(exposition(nfs.families()))
    assert value(found, "millrace_nfsd_pool_enqueued_total", pool="0") == 70
    assert value(found, "millrace_nfsd_pool_threads_woken_total", pool="0") == 60
    assert value(found, "millrace_nfsd_pool_enqueued_total", pool="1") == 9


@pytest.mark.parametrize(
    "text",
    [
        "# pool packets-arrived threads-woken\n0 1 1\n",
        "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 1 x 1 0\n",
    ],
)
def test_pools_of_another_kernel_are_a_failure(box: Box, text: str) -> None:
    box.tree.write("proc/fs/nfsd/pool_stats", text)
    with pytest.raises(ValueError, match=r"pool_stats|invalid literal"):
        nfs.families()


def test_server_without_nfsd_has_no_figures_of_it(box: Box) -> None:
    (box.root / "proc/net/rpc/nfsd").unlink()
    assert nfs.families() == []


@pytest.mark.parametrize("text", ["io 1\nrpc 1 0 0 0 0", "io a b\nrpc 1", "rc 0 0 0"])
def test_counters_of_another_kernel_are_a_failure_and_not_nothing(box: Box, text: str) -> None:
    box.tree.write("proc/net/rpc/nfsd", text)
    with pytest.raises(ValueError, match=r"invalid literal|has no"):
        nfs.families()
