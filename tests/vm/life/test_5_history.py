# SPDX-License-Identifier: Apache-2.0
"""What the server did is kept: a value a minute in memory, a copy on the pool that outlives what is in memory."""

import pytest

from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]

COLLECTOR, COLLECT = "millrace-metrics-collector.service", "millrace-metrics-collect.service"
MEMORY = "/run/millrace/history.db"
VIEW = "/run/millrace/history-view.db"
POOL = "/srv/pool/.millrace/history/history.db"
# A value is kept in each minute in which a collection runs.
MINUTE = 61
BYTES = 64 << 20
SERVER = f"{SERVER_ADDRESSES[0]}:/srv/pool/data"


def collect(box: Box) -> None:
    """Have a value of the next minute kept."""
    box.say(f"sleep {MINUTE}; systemctl start {COLLECT}", seconds=900)


def last(box: Box, *names: str) -> dict[tuple[str, str], float | None]:
    """The newest value of each series, by name and what it is of."""
    shown = box.shown(f"history {' '.join(names)} --since 1h --json")
    return {(series["name"], series["of"]): series["peak"] for series in shown["series"]}


def test_history_is_kept_although_no_metrics_are_served(box: Box) -> None:
    assert box.say(f"systemctl is-active {COLLECTOR}") == "active"
    collect(box)
    collect(box)
    values = last(box, "cpu", "memory", "nfs", "pool", "drives", "port")
    cpu = values["cpu", ""]
    assert cpu is not None and 0 < cpu <= 1
    assert values["pool-used", ""] and values["pool-size", ""]
    assert {name for name, _ in values} >= {"nfs-read", "drives-read", "port-receive", "memory"}
    # the latency of the counters needs the trace of the kernel
    assert "the history has no" not in box.say(f"journalctl -b -o cat -u {COLLECTOR} -u {COLLECT} --no-pager")


def test_user_who_holds_a_lock_of_the_history_holds_nobody_up(box: Box) -> None:
    collect(box)
    assert box.machine.run(f"runuser -u nobody -- cat {MEMORY} > /dev/null", check=False).status != 0
    hold = f"import sqlite3, time; s = sqlite3.connect('file:{VIEW}?mode=ro', uri=True, isolation_level=None); "
    hold += "s.execute('BEGIN'); s.execute('SELECT max(at) FROM minute').fetchone(); time.sleep(600)"
    box.say(f'systemd-run --quiet --collect --unit=holds --uid=nobody python3 -c "{hold}"')
    try:
        before = box.say(f"stat -c %i {VIEW}")
        collect(box)
        assert box.say(f"stat -c %i {VIEW}") != before
    finally:
        box.say("systemctl stop holds.service")


def test_share_and_client_have_what_was_transferred(box: Box, client: Machine) -> None:
    client.run(f"mkdir -p /mnt/history; mount -t nfs4 -o vers=4.2 {SERVER} /mnt/history", seconds=600)
    try:
        collect(box)
        write = f"dd if=/dev/zero of=/mnt/history/history bs=1M count={BYTES >> 20} conv=fsync"
        client.run(write, seconds=900)
        box.say(f"systemctl start {COLLECT}", seconds=600)
        collect(box)
        values = last(box, "share", "client")
        assert values.get(("share-write", "data")), values
        written = {of: value for (name, of), value in values.items() if name == "client-write"}
        assert any(written.get(address) for address in CLIENT_ADDRESSES), values
    finally:
        client.run("rm -f /mnt/history/history; umount /mnt/history", check=False, seconds=600)


def test_share_and_client_have_their_smb_requests(box: Box, client: Machine) -> None:
    options = "vers=3.1.1,credentials=/run/credentials.smb"
    host = SERVER_ADDRESSES[0]
    # connected in both minutes: the counters of a client end with its connection
    client.run(f"mkdir -p /mnt/history; mount -t cifs -o {options} //{host}/data /mnt/history", seconds=600)
    try:
        collect(box)
        write = f"dd if=/dev/zero of=/mnt/history/history bs=1M count={BYTES >> 20} conv=fsync"
        client.run(write, seconds=900)
        collect(box)
        values = last(box, "share", "client")
        wrote, asked = values.get(("share-write", "data")), values.get(("share-operations", "data"))
        assert wrote is not None and wrote > BYTES / 600, values
        assert asked is not None and asked > (BYTES >> 20) / 10 / 600, values
        assert any(values.get(("client-operations", address)) for address in CLIENT_ADDRESSES), values
    finally:
        client.run("rm -f /mnt/history/history; umount /mnt/history", check=False, seconds=600)


def test_copy_on_the_pool_outlives_what_is_in_memory(box: Box) -> None:
    box.say("systemctl start millrace-keep.service", seconds=900)
    assert box.say(f"stat -c '%a %U' {POOL}") == "600 root"
    before = box.shown("history cpu --since 1h --json")
    assert before["stored"]
    box.say(f"systemctl stop {COLLECTOR}; rm {MEMORY} /run/millrace/history-readings.json")
    after = box.shown("history cpu --since 1h --json")
    assert any(point is not None for point in after["series"][0]["points"])
    box.say(f"systemctl start {COLLECTOR}")
    assert "nothing has been kept since this server was started" in after["notes"]


def test_files_are_below_their_limits(box: Box) -> None:
    collect(box)
    sizes = [int(size) for size in box.say(f"stat -c %s {MEMORY} {POOL}").split()]
    assert sizes[0] <= 16 << 20 and sizes[1] <= 64 << 20


def test_table_has_a_sparkline_and_says_that_a_forecast_needs_time(box: Box) -> None:
    shown = box.millrace("history pool cpu").out
    assert shown.startswith("Series") and "cpu" in shown
    assert "There is not enough history for a forecast" in shown
