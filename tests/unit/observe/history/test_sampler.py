# SPDX-License-Identifier: Apache-2.0
"""A value a minute is in memory, whatever one source of them does."""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.observe.history import history_paths, sampler
from millrace.observe.history.database import HistoryFile
from millrace.observe.history.readings import connections, exports
from millrace.observe.history.series import DAY, HOUR, KINDS, Key
from millrace.serve.share.usage import Usage
from millrace.storage.drive.smart import DriveSmart, SmartReport
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.files.box import NOW, Box
from tests.fakes.files.running import server
from tests.unit.observe.history.minutes import START, worked

# As kernel 7.2 writes it (fs/nfsd/export.c, svc_export_show).
EXPORTS = """#path domain start-time
#\tstats
/srv/pool/data\t10.77.0.0/24\t{began}
\tfh_stale: 0
\tio_read: {read}
\tio_write: 4096

/srv/pool\t*\t12
\tfh_stale: 0
\tio_read: 0
\tio_write: 0

"""
# iproute2 6.15, ss -HtniO state established
SS = (
    "0      0         10.77.0.1:2049     10.77.0.21:745   cubic wscale:7,7 rto:201 bytes_sent:{0} bytes_acked:{0} "
    "bytes_received:600 segs_out:9\n"
    "0      0   [::ffff:10.77.0.1]:445  [::ffff:10.77.0.22]:50112 cubic bytes_acked:60 bytes_received:{0} segs_in:4\n"
)
SHARES = REPO / "tests/unit/observe/live/samples/smbstatus-shares.json"
# proc_net_tcp: a connection of a client to port 2049
TCP = "  sl  local_address rem_address   st\n   0: 01004D0A:0801 15004D0A:02E9 01\n"


class Tools(Commands):
    TAKEN = (
        "ss -HtniO state established ( sport = :2049 or sport = :445 )",
        "smbstatus --profile",
        "smbstatus --profile --json",
    )


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.look()
        yield made


def kept() -> dict[Key, list[float]]:
    result: dict[Key, list[float]] = {}
    with HistoryFile(history_paths.history_file()) as database:
        for _, key, value in database.rows(0, KINDS):
            result.setdefault(key, []).append(value)
    return result


def test_second_minute_has_rates_of_protocols_drives_and_ports(box: Box) -> None:
    worked(box, 2)
    result = kept()
    assert result["nfs-read", ""] == [9e9 / 60]
    assert result["nfs-operations", ""] == [pytest.approx(11_000 / 60)]
    assert result["nfs-latency", ""] == [pytest.approx(0.0004)]
    assert result["port-send", "ens1np0"] == [pytest.approx(4.5e9 / 60)]
    assert result["drives-read", ""][0] > 0
    assert ("smb-read", "") in result and ("client-read", "") not in result


def test_run_within_the_same_minute_keeps_nothing(box: Box) -> None:
    worked(box, 2)
    before = kept()
    assert not sampler.sample(now=NOW + timedelta(minutes=2, seconds=30), uptime=2 * 60.0 + 31)
    assert kept() == before


def test_processor_and_memory_are_parts_of_the_whole(box: Box) -> None:
    box.tree.write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    250 kB\n")
    box.tree.write("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1\n")
    worked(box, 1)
    box.tree.write("proc/stat", "cpu  150 0 150 780 120 0 0 0 0 0\ncpu0 1 1\n")
    worked(box, 1, first=2)
    assert kept()["cpu", ""] == [0.5] and kept()["memory", ""] == [0.75, 0.75]


def test_slow_figures_are_kept_every_ten_minutes_or_every_hour(box: Box) -> None:
    drive = DriveSmart(name="nvme0n1", serial="S1", transport="nvme", boot=False, known=True, temperature=41, wear=3)
    write_model(paths.smart_file(), SmartReport(uptime=0, drives=[drive]))
    write_model(paths.usage_file(), Usage(at=NOW.isoformat(), used={1001: 5000}))
    worked(box, 25)
    result = kept()
    assert result["drive-temperature", "S1"] == [41, 41, 41]
    assert result["drive-wear", "S1"] == [0.03]
    assert result["share-used", "data"] == [5000]
    assert len(result["pool-used", ""]) == 3


def test_shares_and_clients_have_rates_of_their_own(box: Box) -> None:
    tools = Tools()
    (box.root / "run/samba/smbd.pid").unlink()
    box.tree.write("proc/net/tcp", TCP)
    for minute, sent in ((1, 1000), (2, 7000)):
        box.tree.write("proc/fs/nfsd/export_stats", EXPORTS.format(began=100, read=sent * 2))
        tools.broken["ss"] = Result(0, SS.format(sent), "")
        worked(box, 1, first=minute, run=tools)
    result = kept()
    assert result["share-read", "data"] == [200]
    assert result["client-read", "10.77.0.21"] == [100] and result["client-write", "10.77.0.22"] == [100]


def test_shares_and_clients_have_their_smb_requests(box: Box) -> None:
    tools = Tools()
    box.tree.write("proc/net/tcp", TCP.replace(":0801", ":01BD"))
    records = json.loads(SHARES.read_text())
    profiles = records["Extended Profile"]
    # one of a share of the server, and one of a section that is no share
    profiles["data:44.0[::ffff:10.77.0.22]"] = calls = profiles.pop("a:44.0[127.0.0.1]")
    tools.broken["smbstatus --profile --json"] = Result(0, json.dumps({"version": "4.25.1"}), "")
    tools.broken["ss"] = Result(0, "", "")
    worked(box, 1, run=tools)
    tools.broken["smbstatus --profile --json"] = Result(0, json.dumps(records), "")
    worked(box, 1, first=2, run=tools)
    result = kept()
    written = calls["SMB2 Calls"]["smb2_write"]["inbytes"]
    assert (result["share-write", "data"], written) == ([pytest.approx(written / 60)], 3_000_112)
    assert result["share-operations", "data"] == result["client-operations", "10.77.0.22"] == [3 / 60]
    assert ("share-read", "data") not in result and ("share-operations", "b") not in result
    assert ("client-operations", "127.0.0.1") not in result


def test_profile_of_shares_that_cannot_be_read_leaves_the_others(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    tools = Tools()
    box.tree.write("proc/net/tcp", TCP.replace(":0801", ":01BD"))
    tools.broken["ss"] = Result(0, "", "")
    tools.broken["smbstatus --profile"] = Result(0, SHARES.with_name("smbstatus-profile.txt").read_text(), "")
    tools.broken["smbstatus --profile --json"] = Result(1, "", "lock failed\n")
    worked(box, 2, run=tools)
    said = capsys.readouterr().err
    assert (
        said == "millrace: the history has no smb-shares: smbstatus does not show the profile of shares: lock failed\n"
    )
    assert ("nfs-read", "") in kept()


def test_source_that_fails_is_named_once_and_the_others_go_on(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.tree.write("proc/net/tcp", TCP)
    tools = Tools()
    (box.root / "run/samba/smbd.pid").unlink()
    tools.broken["ss"] = Result(1, "", "Cannot open netlink socket")
    worked(box, 3, run=tools)
    said = capsys.readouterr().err
    assert said == "millrace: the history has no clients: ss does not list connections: Cannot open netlink socket\n"
    assert len(kept()["nfs-read", ""]) == 2


def test_time_before_the_clock_was_set_is_not_kept(box: Box) -> None:
    assert not sampler.sample(now=datetime(1970, 1, 1, tzinfo=UTC), uptime=1)
    assert not history_paths.history_file().exists()


def test_clock_that_was_put_back_leaves_no_values_of_the_future(box: Box) -> None:
    worked(box, 2)
    sampler.sample(now=NOW + timedelta(days=400), uptime=200)
    sampler.sample(now=NOW + timedelta(minutes=3), uptime=260)
    with HistoryFile(history_paths.history_file()) as database:
        assert {at for at, _, _ in database.rows(0, KINDS)} == {START + 180}


def test_values_stay_for_a_day_and_an_hour(box: Box) -> None:
    worked(box, 2)
    sampler.sample(now=NOW + timedelta(seconds=DAY + HOUR + 180), uptime=DAY + HOUR + 180)
    with HistoryFile(history_paths.history_file()) as database:
        assert min(at for at, _, _ in database.rows(0, KINDS)) > START + 120


def test_names_of_exports_are_as_they_are_on_the_drive() -> None:
    text = "#path domain start-time\n/srv/pool/a\\040b\t*\t5\n\tfh_stale: 0\n\tio_read: 1\n\tio_write: 2\n\n"
    [(path, domain, stream)] = exports(text)
    assert (path, domain, stream.began, stream.read, stream.written) == ("/srv/pool/a b", "*", 5, 1, 2)


def test_connection_without_counters_is_one_without_bytes() -> None:
    [(name, stream)] = connections("0 0 10.0.0.1:2049 [fd00::5]:900 cubic rto:201\n0 0 10.0.0.1:2049 10.0.0.2:1\n")
    assert name == "10.0.0.1:2049 [fd00::5]:900"
    assert (stream.of, stream.read, stream.written) == ("client/fd00::5", 0, 0)


def test_user_who_holds_a_lock_of_what_users_read_holds_nobody_up(box: Box) -> None:
    worked(box, 3)
    view = history_paths.history_view_file()
    assert stat.S_IMODE(view.stat().st_mode) == 0o644
    # nobody else can open what is written
    assert stat.S_IMODE(history_paths.history_file().stat().st_mode) == 0o600
    with closing(sqlite3.connect(f"{view.as_uri()}?mode=ro", uri=True, isolation_level=None)) as user:
        user.execute("BEGIN")
        before = user.execute("SELECT max(at) FROM minute").fetchone()
        worked(box, 1, first=4)
        assert user.execute("SELECT max(at) FROM minute").fetchone() == before
    with HistoryFile(view) as copy, HistoryFile(history_paths.history_file()) as own:
        assert copy.newest() == own.newest() == before[0] + 60


def test_user_who_keeps_each_copy_open_keeps_two_of_them(box: Box) -> None:
    view = history_paths.history_view_file()
    with ExitStack() as stack:
        kept = []
        for minute in range(1, 6):
            worked(box, 1, first=minute)
            kept.append(stack.enter_context(view.open("rb")))
        sizes = [os.fstat(file.fileno()).st_size for file in kept]
    assert sizes[:-2] == [0, 0, 0] and all(sizes[-2:])
