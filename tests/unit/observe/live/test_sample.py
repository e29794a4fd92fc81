# SPDX-License-Identifier: Apache-2.0
"""Throughput, latency and clients of each second; null where nothing is counted."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.observe.health.model import Level
from millrace.observe.live import counters, latency, verbs
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.samples import add_external, external_pool
from tests.unit.observe.live.clock import watched

SAMPLES = Path(__file__).parent / "samples"


class Smbstatus(Commands):
    TAKEN = ("smbstatus --profile", "smbstatus --profile --json")


def printing(profile: str) -> Smbstatus:
    """Return smbstatus that prints this profile."""
    tool = Smbstatus()
    tool.broken["smbstatus"] = Result(0, profile, "")
    return tool


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.look()
        yield made


def test_the_first_line_has_no_rates_and_the_next_has(box: Box) -> None:
    first, second = watched(box, 2)
    assert [one.read_bytes_per_second for one in first.protocols] == [None, None]
    assert first.drives.read_bytes_per_second is None
    nfs, smb = second.protocols
    assert (nfs.name, nfs.read_bytes_per_second, nfs.write_bytes_per_second) == ("nfs", 9e9, 2.5e9)
    assert (nfs.operations_per_second, nfs.latency_seconds) == (11_000, pytest.approx(0.0004))
    assert (smb.read_bytes_per_second, smb.latency_seconds) == (480e6, pytest.approx(0.0009))
    assert second.ports[0].send_bytes_per_second == 4.5e9


def test_user_without_rights_gets_the_reason_of_unknown_values(tmp_path: Path) -> None:
    with server(tmp_path, user=1001) as box:
        box.provision()
        nfs, smb = watched(box, 2)[1].protocols
        assert (nfs.read_bytes_per_second, nfs.latency_seconds) == (9e9, None)
        assert (smb.read_bytes_per_second, smb.clients) == (None, 1)
        assert watched(box, 1)[0].notes == [
            "NFS latency requires root",
            "SMB statistics require root",
        ]


@pytest.mark.parametrize(("shown", "found"), [({}, None), ({"1": "0"}, 0), ({"1": "0", "2": "1"}, 1)])
def test_clients_that_go_around_nfsd_are_named(box: Box, shown: dict[str, str], found: int | None) -> None:
    for number, text in shown.items():
        path = box.root / f"sys/fs/nfs/0:{number}/localio"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n")
    (line,) = watched(box, 1)
    assert line.localio == found
    assert ("LOCALIO in use" in verbs._text(line)) == bool(found)


def test_restarted_server_has_no_rate_for_that_second(box: Box) -> None:
    def restart(second: int) -> None:
        if second == 2:
            box.tree.write("proc/net/rpc/nfsd", "io 0 0\nrpc 0 0 0 0 0\n")

    lines = watched(box, 3, restart)
    assert lines[1].protocols[0].read_bytes_per_second is None
    assert lines[2].protocols[0].read_bytes_per_second == 27e9


def test_nothing_asked_is_no_latency(box: Box) -> None:
    def idle(second: int) -> None:
        box.count(1)

    nfs = watched(box, 2, idle)[1].protocols[0]
    assert (nfs.read_bytes_per_second, nfs.operations_per_second, nfs.latency_seconds) == (0, 0, None)


def test_server_without_a_pool_has_no_clients(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.look()
        last = watched(box, 2)[1]
        assert last.drives.read_bytes_per_second is None
        assert last.protocols[1].read_bytes_per_second is None
        assert last.jobs == []


def test_rebuilds_and_a_lost_drive_are_seen_within_a_second(box: Box) -> None:
    assert watched(box, 1)[0].health is Level.WARN  # a link is slow
    box.replace("data", 3, 12)
    last = watched(box, 1)[0]
    assert [(job.name, job.progress) for job in last.jobs] == [("rebuild", 0.25)]
    box.md("data", degraded="3")
    assert watched(box, 1)[0].health is Level.FAIL


def test_health_that_is_old_is_a_failure(box: Box) -> None:
    text = paths.health_file().read_text().replace("2026-11-20T12:00", "2026-11-20T11:30")
    paths.health_file().write_text(text)
    assert watched(box, 1)[0].health is Level.FAIL


class TestCounters:
    def test_drives_of_the_pool_only(self, box: Box) -> None:
        box.count(1)
        assert len(counters.pool_drives(read_model(paths.pool_file(), Pool))) == 12

    def test_captured_profile_of_smbd(self) -> None:
        text = (SAMPLES / "smbstatus-profile.txt").read_text()
        found, why = counters.smb(printing(text))
        assert found is not None and why is None
        # 20 MiB each way, in three requests with their headers
        assert (found.read, found.written) == (20_971_760, 20_971_856)
        assert found.operations == 19
        assert found.busy == pytest.approx(0.098497)

    def test_a_profile_that_counts_without_time_has_no_latency(self) -> None:
        text = (SAMPLES / "smbstatus-profile-count.txt").read_text()
        found, _ = counters.smb(printing(text))
        assert found is not None and (found.read, found.timed, found.busy) == (20_971_760, None, None)

    def test_an_smbd_that_was_asked_nothing_yet_counts_from_zero(self) -> None:
        text = re.sub(r"\d+$", "0", (SAMPLES / "smbstatus-profile-count.txt").read_text(), flags=re.MULTILINE)
        found, _ = counters.smb(printing(text))
        assert found == counters.ProtocolCounters(0, 0, 0, 0, 0.0)

    @pytest.mark.parametrize(
        "said", ["", "Failed to initialise profile memory\n", "smb2_read_count: 1\nsmb2_read_outbytes: x\n"]
    )
    def test_a_profile_that_cannot_be_read_is_not_known(self, said: str) -> None:
        assert counters.smb(printing(said)) == (
            None,
            "smbd has no SMB statistics",
        )

    @pytest.mark.parametrize("text", ["", "io 1\n", "io a b\nrpc 1\n", "rc 0 0 0\n"])
    def test_an_nfsd_that_does_not_count_is_not_known(self, box: Box, text: str) -> None:
        box.tree.write("proc/net/rpc/nfsd", text)
        assert counters.nfs() is None

    def test_hosts_are_counted_once_over_both_families(self, box: Box) -> None:
        head = "  sl  local_address rem_address   st\n"
        mapped = "0000000000000000FFFF0000"
        box.tree.write("proc/net/tcp", f"{head}   0: 01004D0A:0801 02004D0A:0300 01\n")
        rows = [
            f"{mapped}01004D0A:0801 {mapped}02004D0A:0301 01",
            f"{mapped}01004D0A:0801 {mapped}03004D0A:0301 01",
            "00:0801 00:0000 0A",
            f"{mapped}01004D0A:01BD {mapped}04004D0A:0301 01",
        ]
        box.tree.write("proc/net/tcp6", head + "".join(f"   {n}: {row}\n" for n, row in enumerate(rows)))
        assert (counters.tcp_clients(2049), counters.tcp_clients(445)) == (2, 1)

    def test_a_kernel_that_lists_no_connections(self, box: Box) -> None:
        (box.root / "proc/net/tcp").unlink()
        assert counters.tcp_clients(445) is None

    def test_a_server_over_rdma_counts_what_the_kernel_names(self, box: Box) -> None:
        assert counters.nfs_clients() == 3
        box.tree.write("proc/fs/nfsd/portlist", "tcp 2049\n")
        assert counters.nfs_clients() == 2


class TestLatencyOfNfs:
    # as kernel 7.2 lists it
    LISTED = "hist:keys=common_cpucommon_cpu:vals=hitcount,execute:sort=hitcount:size=2048 [active]\n"
    HIST = "# event histogram\n#\n# trigger info: hist:keys=common_cpu:vals=hitcount,execute [active]\n#\n\n"

    def test_histogram_of_the_kernel_is_enabled_once(self, box: Box) -> None:
        box.tree.write(f"{latency.EVENT}/trigger", "# Available triggers:\n")
        latency.enable()
        trigger = box.root / latency.EVENT / "trigger"
        assert trigger.read_text() == latency.TRIGGER
        trigger.write_text(self.LISTED)
        latency.enable()
        assert trigger.read_text() == self.LISTED

    def test_no_tracing_is_no_latency(self, box: Box) -> None:
        latency.enable()
        assert latency.calls() is None

    def test_calls_of_all_processors_are_added_up(self, box: Box) -> None:
        entries = "{ common_cpu:   3 } hitcount:   10  execute:   4000\n{ common_cpu: 0 } hitcount: 5 execute: 500\n"
        box.tree.write(f"{latency.EVENT}/hist", f"{self.HIST}{entries}\nTotals:\n    Hits: 15\n")
        assert latency.calls() == (15, pytest.approx(0.0045))

    def test_a_trigger_that_is_not_set_counts_nothing(self, box: Box) -> None:
        box.tree.write(f"{latency.EVENT}/hist", "# event histogram\n")
        assert latency.calls() is None


def test_verb_prints_lines_until_the_reader_closes(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = watched(box, 2)
    monkeypatch.setattr(verbs, "_lines", lambda: iter(printed))
    lines = CliRunner().invoke(verbs.watch, ["--json"], catch_exceptions=False).stdout.splitlines()
    assert [json.loads(one)["schema_version"] for one in lines] == [1, 1]
    words = CliRunner().invoke(verbs.watch, [], catch_exceptions=False).stdout.splitlines()
    assert "nfs: read 9 GB/s write 2.5 GB/s latency 0.40 ms clients 3" in words[1]


@pytest.mark.parametrize(("took", "seconds"), [(0.02, 0.98), (0.2, 0.8), (1.5, 6.0), (15.0, 30.0)])
def test_a_server_that_is_slow_to_look_is_asked_less_often(took: float, seconds: float) -> None:
    assert verbs.pause(took) == pytest.approx(seconds)


def test_the_drives_of_a_pool_on_an_external_device_are_that_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_external(tmp_path, "vda1")
    assert counters.pool_drives(external_pool("VOL")) == {"vda"}
