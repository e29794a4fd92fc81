# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a share: exact, out of the reach of clients, back in the share, and complete or not there."""

import json
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST, nfs, smb
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

TOP = "/srv/pool/.millrace-snapshots"
RECORD = f"{TOP}/.removals.json"
MIB = 1 << 20
HELD = ("held-first", "held-second")
UPKEEP = "millrace-cleanup@schedule.service"
# The newest scheduled snapshot of the share data gets the name and the manifest of some hours ago.
AGED = """
cd /srv/pool/.millrace-snapshots/data
new=$(ls -d *-hourly | tail -n 1)
old=$(date -u -d '{hour} hours ago' +%Y%m%dT%H%M%SZ)-hourly
sed -i "s/$new/$old/" $new/manifest.json
mv $new $old
"""
# The second file gets each version when the server has it of the first one.
HOLDER = """
import os, sys, time
files = [os.open(name, os.O_RDWR) for name in sys.argv[1:]]
version = 0
while True:
    version += 1
    print(version, flush=True)
    for file in files:
        os.pwrite(file, b"%015d\\n" % version * 256, 0)
        os.fsync(file)
    time.sleep(0.5)
"""


def made(box: Box, share: str = "data") -> dict[str, Any]:
    lines = box.millrace(f"snapshot create {share} --json", seconds=600).out.splitlines()
    return dict(json.loads(lines[-1]))


def place(manifest: dict[str, Any]) -> str:
    return f"{manifest['share']}@{manifest['name']}"


def pass_time(box: Box) -> None:
    """Let the time pass that ordered removals and locks still take: the record has it, which root can write."""
    box.machine.wait_command(f"! systemctl is-active --quiet {UPKEEP}", "the end of an upkeep by the timer", 600)
    box.say(f'sed -i \'s/"left": [0-9]*/"left": 0/\' {RECORD}')
    box.say(f"systemctl start {UPKEEP}")
    box.machine.wait_command(f"! systemctl is-active --quiet {UPKEEP}", "the end of the upkeep", 600)


def remove_all(box: Box, share: str) -> None:
    rows = box.shown(f"snapshot list {share} --json")["snapshots"]
    for row in rows:
        box.millrace(f"snapshot remove {share}@{row['name']}", seconds=600)
    if rows:
        pass_time(box)


def test_file_that_a_client_changed_comes_back_from_a_snapshot(box: Box, client: Machine) -> None:
    with nfs(client, "data") as where:
        client.run(f"mkdir -p {where}/snap/deep; head -c 16M /dev/urandom > {where}/snap/file; sync")
        client.run(f"echo kept > {where}/snap/deep/note; ln {where}/snap/file {where}/snap/deep/second; sync")
    digest = box.say("sha256sum < /srv/pool/data/snap/file")
    before = box.used()
    manifest = made(box)
    assert manifest["moment"] is not None and manifest["changed"] == [], manifest
    assert box.used() - before < 4 * MIB
    tree = f"{TOP}/data/{manifest['name']}/tree"
    listed = "find . -printf '%P %y %U %G %m %n %s %T@ %l\\n' | sort"
    assert box.say(f"cd {tree}; {listed}") == box.say(f"cd /srv/pool/data; {listed}")
    with nfs(client, "data") as where:
        client.run(f"echo changed > {where}/snap/file; rm {where}/snap/deep/note; sync")
    assert box.say(f"sha256sum < {tree}/snap/file") == digest
    compared = box.shown(f"snapshot compare {place(manifest)}/snap --json")
    # two names of one file
    assert {(entry["what"], entry["path"]) for entry in compared["entries"]} == {
        *(("changed", "deep/second"), ("changed", "file"), ("removed", "deep/note")),
    }
    box.millrace(f"snapshot get {place(manifest)}/snap/deep/note", seconds=600)
    refused = box.millrace(f"snapshot get {place(manifest)}/snap/file", seconds=600, check=False)
    assert refused.status == 1 and "data/snap/file already exists" in refused.err
    box.millrace(f"snapshot get {place(manifest)}/snap/file data/snap/before", seconds=600)
    box.millrace(f"snapshot get {place(manifest)}/snap data/snap.old", seconds=600)
    with nfs(client, "data") as where:
        assert client.run(f"cat {where}/snap/deep/note {where}/snap/file").out == "kept\nchanged\n"
        assert client.run(f"sha256sum < {where}/snap/before", seconds=300).out.strip() == digest
        assert client.run(f"sha256sum < {where}/snap.old/deep/second", seconds=300).out.strip() == digest
    listing = box.shown(f"snapshot browse {place(manifest)}/snap --json")
    assert [entry["name"] for entry in listing["entries"]] == ["deep", "file"]


def test_no_client_sees_or_changes_a_snapshot(box: Box, client: Machine) -> None:
    manifest = made(box)
    digest = f"cd {TOP} && find . -type f -exec sha256sum {{}} + | sort | sha256sum"
    before = box.say(digest)
    # even where root is root
    box.millrace("share set data --nfs-client '10.77.0.0/24 access=rw squash=none'", seconds=600)
    try:
        with nfs(client, "data") as where:
            for attempt in (
                "ls {}/.millrace-snapshots",
                "ls {}/../.millrace-snapshots",
                "touch {}/.millrace-snapshots/x",
            ):
                assert client.run(attempt.format(where), check=False).status != 0, attempt
        refused = f"mount -t nfs4 -o vers=4.2 {HOST}:{TOP} /mnt/share"
        assert client.run(refused, seconds=300, check=False).status != 0
        with smb(client, "models") as where:
            assert client.run(f"ls {where}/../.millrace-snapshots", check=False).status != 0
    finally:
        box.millrace("share set data --nfs-client default", seconds=600)
    assert box.say(digest) == before
    assert box.say(f"stat -c '%a %U' {TOP} {TOP}/.stage") == "711 root\n700 root"
    rows = box.shown("snapshot list data --json")["snapshots"]
    assert manifest["name"] in [row["name"] for row in rows] and not any(row["problem"] for row in rows)


def test_file_that_never_rests_is_named(box: Box) -> None:
    box.say("systemd-run --quiet --unit=writer sh -c 'while :; do echo x >> /srv/pool/data/restless; done'")
    try:
        manifest = made(box)
    finally:
        box.say("systemctl stop writer")
    assert manifest["moment"] is None and manifest["changed"] == ["restless"], manifest
    box.say("rm /srv/pool/data/restless")


def test_files_that_a_client_holds_with_a_delegation_are_of_the_moment_or_named(box: Box, client: Machine) -> None:
    client.run("cat > /run/holder.py", stdin=HOLDER)
    with nfs(client, "data") as where:
        files = " ".join(f"{where}/{name}" for name in HELD)
        client.run(f"for file in {files}; do head -c 4096 /dev/zero > $file; done; sync")
        client.run(
            "rm -f /run/versions; systemd-run --collect --unit=holder --property=StandardOutput=file:/run/versions"
            f" python3 /run/holder.py {files}"
        )
        try:
            # seen on the client: whoever opens the files on the server ends the delegations
            client.wait_command("test $(wc -l < /run/versions) -ge 3", "versions of the files", 120)
            print(box.say(f"cat /proc/locks; stat -c '%n %i %z' {' '.join(f'/srv/pool/data/{name}' for name in HELD)}"))
            manifest = made(box)
            print(box.say("cat /proc/locks"), manifest)
            last = int(client.run("tail -n 1 /run/versions").out)
        finally:
            client.run("systemctl stop holder", check=False)
        tree = f"{TOP}/data/{manifest['name']}/tree"
        contents = [box.say(f"cat {tree}/{name}").split() for name in HELD]
        client.run(f"rm {files}")
    assert [(len(content), len(set(content))) for content in contents] == [(256, 1)] * len(HELD), contents
    first, second = (int(content[0]) for content in contents)
    assert 1 <= first <= last and 1 <= second <= last
    if manifest["moment"] is None:
        assert manifest["changed_count"] >= 1 and set(manifest["changed"]) <= set(HELD), manifest
    else:
        assert manifest["changed_count"] == 0 and first - second in (0, 1), (manifest, first, second)


# by hand: it starts the server once more
@pytest.mark.soak
def test_snapshot_that_a_power_cut_ended_is_cleaned_up_by_the_next_boot(box: Box) -> None:
    box.say("mkdir /srv/pool/data/many && cd /srv/pool/data/many && seq 20000 | xargs touch; sync", seconds=600)
    names = [row["name"] for row in box.shown("snapshot list data --json")["snapshots"]]
    box.say(
        "systemd-run --quiet --collect millrace snapshot create data;"
        f" until ls -d {TOP}/.stage/new/*/tree/many 2>/dev/null; do :; done; sync -f /srv/pool",
        seconds=600,
    )
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    box.machine.wait_command(f"! ls {TOP}/.stage/* 2>/dev/null", "the removal of what was not complete", 600)
    assert [row["name"] for row in box.shown("snapshot list data --json")["snapshots"]] == names
    assert "millrace-reflink@snapshot.service" not in box.failed_units()
    assert box.shown("job show snapshot --json")["state"] == "interrupted"


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_share_that_is_rolled_back_is_seen_by_clients_as_it_was(box: Box, client: Machine) -> None:
    for share in ("data", "models"):
        with nfs(client, share) as where:
            client.run(f"mkdir {where}/roll; echo first > {where}/roll/file; echo kept > {where}/roll/second; sync")
    snapshots = {share: made(box, share) for share in ("data", "models")}
    with nfs(client, "data") as where:
        client.run(f"echo changed > {where}/roll/file; rm {where}/roll/second; echo new > {where}/roll/new; sync")
        settings = box.shown("share show data --json")
        box.millrace(f"snapshot rollback {place(snapshots['data'])} --share-again data", seconds=900)
        # until then the client may read former files by the handles that it has
        box.machine.wait_command(f"! ls {TOP}/.stage/* 2>/dev/null", "the removal of the former files", 600)
        stale = client.run(f"ls {where}/roll", seconds=300, check=False)
        assert stale.status != 0 and "Stale file handle" in stale.err, stale
    with nfs(client, "data") as where:
        assert client.run(f"cd {where}/roll && cat *").out == "first\nkept\n"
        client.run(f"echo again > {where}/roll/again; mv {where}/roll/again {where}/again; rm {where}/again")
    assert box.shown("share show data --json")["share"] == settings["share"]
    [kept] = [row for row in box.shown("snapshot list data --json")["snapshots"] if row["name"].endswith("rollback")]
    assert box.say(f"cd {TOP}/data/{kept['name']}/tree/roll && cat file new") == "changed\nnew"
    with smb(client, "models") as where:
        client.run(f"echo changed > {where}/roll/file; sync")
        box.millrace(f"snapshot rollback {place(snapshots['models'])} --share-again models", seconds=900)
        client.wait_command(f"grep first {where}/roll/file", "the file over the new connection", 300)
    box.say("rm -rf /srv/pool/data/roll /srv/pool/models/roll")
    remove_all(box, "models")


# by hand: it starts the server once more
@pytest.mark.soak
def test_rollback_that_a_power_cut_ended_after_the_exchange_is_finished_by_the_next_boot(box: Box) -> None:
    box.say("mkdir /srv/pool/data/many-rolled && cd /srv/pool/data/many-rolled && seq 20000 | xargs touch", seconds=600)
    manifest = made(box)
    box.say("echo later > /srv/pool/data/later; sync -f /srv/pool")
    box.say(
        f"systemd-run --quiet --collect millrace snapshot rollback {place(manifest)} --share-again data;"
        f" while test -e /srv/pool/data/later; do :; done; sync -f /srv/pool",
        seconds=900,
    )
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    assert box.say("ls /srv/pool/data/later 2>/dev/null; ls /srv/pool/data/many-rolled | wc -l") == "20000"
    removed = f"! test -e {TOP}/.rollback && ! ls {TOP}/.stage/* 2>/dev/null"
    finished = f"cat {TOP}/data/*-before-rollback/tree/later && {removed}"
    box.machine.wait_command(finished, "the end of the rollback", 900)
    box.say("rm -rf /srv/pool/data/many-rolled")


def test_removed_snapshots_free_their_space(box: Box) -> None:
    box.say("head -c 64M /dev/urandom > /srv/pool/data/large; sync -f /srv/pool", seconds=600)
    made(box)
    box.say("rm -rf /srv/pool/data/large /srv/pool/data/many /srv/pool/data/snap /srv/pool/data/snap.old")
    before = box.used()
    remove_all(box, "data")
    box.machine.wait_command(f"! ls {TOP}/.stage/* {TOP}/data 2>/dev/null", "the removal of the snapshots", 600)
    # XFS frees the blocks of removed files in the background
    freed = f"test $(df --output=used -B1 /srv/pool | tail -n 1) -lt {before - 64 * MIB}"
    box.machine.wait_command(f"sync -f /srv/pool; {freed}", "the space of the snapshots", 300)
    assert box.shown("snapshot list data --json")["snapshots"] == []


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_removal_waits_can_be_cancelled_and_is_refused_for_a_locked_snapshot(box: Box) -> None:
    snapshots = [made(box) for _ in range(3)]
    gone, kept, locked = (place(manifest) for manifest in snapshots)
    until = box.say("date -u -d '40 days' +%Y-%m-%d")
    assert box.shown(f"snapshot lock {locked} --until {until} --json")["until"].startswith(until)
    refused = box.millrace(f"snapshot remove {locked}", seconds=600, check=False)
    assert refused.status == 1 and f"is locked until {until} 00:00 UTC" in refused.err
    hasty = box.millrace(f"snapshot remove {gone} --after 1", seconds=600, check=False)
    assert hasty.status == 2 and "24 hours or more" in hasty.err
    assert [box.shown(f"snapshot remove {name} --json")["left"] for name in (gone, kept)] == [24 * 3600] * 2
    box.say("systemctl start millrace-health.service", seconds=600)
    warnings = {finding["key"] for finding in box.read_json("cat /run/millrace/health.json")["findings"]}
    assert {f"snapshots/removal/{name}" for name in (gone, kept)} <= warnings, warnings
    box.millrace(f"snapshot keep {kept}", seconds=600)
    ahead = float(box.say("echo $(date +%s.%N) $(cut -d' ' -f1 /proc/uptime) | awk '{ printf \"%.2f\", $1 - $2 }'"))
    box.say("systemctl stop systemd-timesyncd.service; date -s '+10 years'")
    try:
        box.say(f"systemctl start {UPKEEP}")
        box.machine.wait_command(f"! systemctl is-active --quiet {UPKEEP}", "the end of the upkeep", 600)
        names = [row["name"] for row in box.shown("snapshot list data --json")["snapshots"]]
        assert {manifest["name"] for manifest in snapshots} <= set(names), names
    finally:
        box.say(f"date -s @$(awk '{{ printf \"%.2f\", $1 + {ahead:.2f} }}' /proc/uptime)")
        box.say("rm -f /run/millrace/clock.json; systemctl start systemd-timesyncd.service")
    pass_time(box)
    rows = {f"data@{row['name']}": row for row in box.shown("snapshot list data --json")["snapshots"]}
    assert gone not in rows and rows[kept]["removal"] is None and rows[locked]["lock"]["until"].startswith(until)
    refused = box.millrace("pool destroy --status", seconds=600, check=False)
    assert "is locked until" in refused.out + refused.err, refused
    # the next stories count the space of all snapshots
    box.say(f"rm {RECORD}")
    remove_all(box, "data")
    box.machine.wait_command(f"! ls {TOP}/.stage/* {TOP}/data 2>/dev/null", "the removal of the snapshots", 600)


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_schedule_makes_hourly_snapshots_and_thins_them(box: Box) -> None:
    planned = box.shown("snapshot schedule data --hourly 2 --dry-run --json")["plan"]
    assert planned["obstacle"] is None and planned["kept"] == 2 and planned["entries"] > 0, planned
    manual = made(box)
    box.millrace("snapshot schedule data --hourly 2", seconds=600)
    try:
        assert box.shown("share show data --json")["share"]["snapshots"]["hourly"] == 2
        box.machine.wait_command(f"ls -d {TOP}/data/*-hourly", "the first scheduled snapshot", 600)
        box.machine.wait_command(f"! systemctl is-active --quiet {UPKEEP}", "the end of the upkeep", 600)
        box.say("systemctl is-active millrace-upkeep@snapshot.timer")
        for hour in (3, 2):
            # the clock stays: what was made now is made older by its name
            box.say(AGED.format(hour=hour), seconds=600)
            box.say(f"systemctl start {UPKEEP}")
            box.machine.wait_command(f"! systemctl is-active --quiet {UPKEEP}", "the end of the upkeep", 600)
        names = [row["name"] for row in box.shown("snapshot list data --json")["snapshots"]]
        assert manual["name"] in names and len([name for name in names if name.endswith("-hourly")]) == 2, names
        [listed] = box.shown("snapshot schedules --json")["shares"]
        assert listed["last"]["problem"] is None and listed["snapshots"]["held"]["hourly"] == 2, listed
        [lit] = box.shown("protection show data --json")["shares"]
        assert [light["state"] for light in lit["lights"]] == ["ok", "none", "none"], lit
        assert not [each for each in box.failed_units() if "cleanup" in each]
    finally:
        box.millrace("snapshot schedule data --off", seconds=600)
    assert box.shown("snapshot schedules --json")["shares"] == []
