# SPDX-License-Identifier: Apache-2.0
"""The reply of node_exporter: it comes in time, as text and whole, or there is one sentence why not."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.metrics import node_exporter as client
from millrace.observe.metrics.node_exporter import read
from millrace.system import paths
from millrace.system.errors import Failed
from tests.fakes import node_exporter
from tests.fakes.node_exporter import NodeExporter
from tests.unit.observe.metrics.scrape import parsed, value, values

OWN = "# TYPE millrace_x gauge\nmillrace_x 1\n"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeExporter]:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    paths.metrics_file().parent.mkdir(parents=True)
    paths.metrics_file().write_text(OWN)
    with node_exporter.node_exporter() as made:
        yield made


def test_reply_has_arrays_file_system_nfs_and_the_textfile(fake: NodeExporter) -> None:
    found = parsed(read())
    assert value(found, "node_md_disks", device="md126", state="active") == 9
    assert value(found, "node_xfs_read_calls_total", device="md125") == 91
    assert value(found, "node_nfsd_disk_bytes_read_total") == 4096
    assert set(values(found, "node_scrape_collector_success")) == {1}
    assert value(found, "millrace_x") == 1
    assert fake.asked == 1


def test_node_exporter_that_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    with pytest.raises(Failed, match=r"^node_exporter does not respond: No such file or directory$"):
        read()
    paths.run_dir().mkdir(parents=True)
    # of a socket that nobody listens on
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(paths.node_exporter_socket()))
    with pytest.raises(Failed, match=r"^node_exporter does not respond: Connection refused$"):
        read()


def test_node_exporter_that_ends_without_a_reply_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    paths.run_dir().mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as ends:
        ends.bind(str(paths.node_exporter_socket()))
        ends.listen()
        threading.Thread(target=_hang_up, args=[ends], daemon=True).start()
        with pytest.raises(
            Failed, match=r"^node_exporter does not respond: (Remote end closed|Connection reset|Broken)"
        ):
            read()


def _hang_up(listening: socket.socket) -> None:
    listening.accept()[0].close()


def test_reply_that_never_ends_is_given_up_at_the_deadline(fake: NodeExporter) -> None:
    fake.body = None
    began = time.monotonic()
    with pytest.raises(Failed, match=r"^node_exporter does not respond within 0.5 s$"):
        read(0.5)
    assert 0.4 < time.monotonic() - began < 5


def test_other_status_is_no_reply(fake: NodeExporter) -> None:
    fake.status = 503
    with pytest.raises(Failed, match=r"^node_exporter responds with status 503$"):
        read()


def test_reply_that_is_too_long_is_refused(fake: NodeExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_BYTES", 1 << 20)
    fake.body = b"#" * (1 << 20)
    with pytest.raises(Failed, match=r"^the reply of node_exporter is longer than 1 MiB$"):
        read()


@pytest.mark.parametrize(
    ("kind", "body"),
    [("text/html", b"<html>\n"), ("application/openmetrics-text; version=1.0.0", b"# EOF\n"), ("text/plain", b"x 1")],
)
def test_reply_to_which_nothing_can_be_added_is_refused(fake: NodeExporter, kind: str, body: bytes) -> None:
    fake.type, fake.body, fake.textfile = kind, body, False
    with pytest.raises(Failed, match=r"^the reply of node_exporter is not text for Prometheus$"):
        read()
