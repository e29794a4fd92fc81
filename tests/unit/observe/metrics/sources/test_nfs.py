# SPDX-License-Identifier: Apache-2.0
"""Figures of the NFS server of the kernel that node_exporter does not have."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import nfs
from tests.fakes import node_exporter
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.observe.metrics.records import POOL_STATS
from tests.unit.observe.metrics.scrape import parsed, value, values

# As kernel 7.2 writes it, with the operations of NFSv4.0 (up to 39), `backchannel_ctl` and `bind_conn_to_session`.
COUNTERS = """rc 0 5 100
fh 0 0 0 0 0
io 4096 1024
th 16 0
net 110 0 110 3
rpc 108 3 1 2 0
proc4 2 1 107
proc4ops 42 0 0 0 7 1 0 0 0 0 20 9 0 0 0 0 3 0 0 2 0 0 0 40 0 5 33 0 0 0 0 0 0 0 0 0 0 0 0 0 0 8 6
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.count(1)
        made.tree.write("proc/net/rpc/nfsd", COUNTERS)
        yield made


def test_operations_that_node_exporter_does_not_count_have_their_names(box: Box) -> None:
    series = parsed(exposition(nfs.families()))
    by_name = {
        name: value(series, "millrace_nfsd_operations_total", operation=name)
        for name in ("backchannel_ctl", "bind_conn_to_session")
    }
    assert by_name == {"backchannel_ctl": 8, "bind_conn_to_session": 6}
    assert len(values(series, "millrace_nfsd_operations_total")) == 2
    # RFC 8881, section 16.2, and RFC 8276: the last of each
    numbers = {name: number for number, name in enumerate(nfs.OPERATIONS, start=nfs.FIRST)}
    assert (numbers["sequence"], numbers["reclaim_complete"], numbers["removexattr"]) == (53, 58, 75)


def test_node_exporter_counts_the_operations_before_those() -> None:
    theirs = {one.lower() for one in re.findall(r'method="(\w+)",proto="4"', node_exporter.REPLY)}
    assert {"read", "write", "rellockowner"} <= theirs and not theirs & set(nfs.OPERATIONS)


def test_clients_listeners_and_the_time_of_calls(box: Box) -> None:
    found = parsed(exposition(nfs.families()))
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


def test_counters_of_another_kernel_are_a_failure_and_not_nothing(box: Box) -> None:
    box.tree.write("proc/net/rpc/nfsd", COUNTERS.replace(" 8 6", " x 6"))
    with pytest.raises(ValueError, match="invalid literal"):
        nfs.families()
