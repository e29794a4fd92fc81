# SPDX-License-Identifier: Apache-2.0
"""A user of the web console sees what root saw last, and at once what happens to the arrays."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace import paths
from millrace.bench import live
from millrace.bench.model import State
from millrace.bench.reports import Progress
from millrace.health.current import as_seen, current
from millrace.health.host import Host
from millrace.health.jobs import jobs
from millrace.health.model import Level
from millrace.health.status import Status, status
from tests.unit.plugin.box import Box, server


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path, user=1001) as made:
        made.provision()
        made.shares()
        made.look()
        yield made


def look() -> Status:
    return status(Host())


def test_everything_that_root_saw_is_there(box: Box) -> None:
    seen = look()
    assert not seen.as_root
    assert {one.check for one in seen.health.findings} >= {"pool", "arrays", "nfs", "smb", "shares", "cockpit"}
    assert seen.health.level is Level.WARN
    assert [one.url for one in seen.addresses] == ["https://10.77.0.1:9090", "https://10.77.1.1:9090"]
    assert (seen.product, seen.version, seen.hostname) == ("Millrace", "0.1.0", "millrace")
    assert seen.space is not None and seen.space.used + seen.space.free == seen.space.size


def test_a_drive_that_is_pulled_is_seen_without_waiting_for_root(box: Box) -> None:
    box.pull("data", 3)
    [finding] = [one for one in look().health.findings if "misses 1 of 10 drives" in one.sentence]
    assert finding.level is Level.WARN
    assert look().next[0] == finding.todo


def test_what_to_do_next_is_said_once_and_the_worst_first(box: Box) -> None:
    box.tree.write("proc/1/mounts", "")
    found = look().next
    assert found[0].startswith("systemctl status srv-pool.mount")
    assert len(set(found)) == len(found)


def test_before_root_looked_nothing_is_said_to_be_well(box: Box) -> None:
    paths.health_file().unlink()
    found = as_seen(Host())
    assert found.level is Level.UNKNOWN
    assert "not looked at in this boot yet" in found.findings[-1].sentence + found.findings[0].sentence


def test_what_root_saw_long_ago_is_not_the_truth(box: Box) -> None:
    text = paths.health_file().read_text().replace("2026-11-20T12:00", "2026-11-20T11:55")
    paths.health_file().write_text(text)
    assert current(Host()).level is Level.UNKNOWN
    assert any("last looked at 5 minutes ago" in one.sentence for one in current(Host()).findings)


def test_a_benchmark_is_a_job_while_it_speaks(box: Box) -> None:
    live.begin()
    assert look().jobs == []
    said = Progress(run="r1", time=time.time(), state=State.RUNNING, what="read 1M", progress=0.4, seconds_left=60)
    live.say(said)
    assert [(job.name, job.what, job.progress) for job in look().jobs] == [("benchmark", "read 1M", 0.4)]
    live.say(said.model_copy(update={"time": time.time() - 600}))
    assert look().jobs == []
    live.say(said.model_copy(update={"state": State.DONE}))
    assert look().jobs == []


def test_a_pool_that_is_being_built_is_a_job(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.begin(done=7)
        [job] = jobs(None)
        assert (job.name, job.what, job.progress) == ("provision", "partition MRD00000000008", 7 / 15)
        paths.transaction_file().write_text("{")
        assert jobs(None) == []
