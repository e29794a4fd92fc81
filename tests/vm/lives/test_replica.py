# SPDX-License-Identifier: Apache-2.0
"""A second server has a replica of a share: paired, pulled, killed twenty times, tried, and promoted."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.box import NEVER, SERVER_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.link import Cables
from vm.server import Nic

# two servers; by hand until a row of soak has seen it
pytestmark = pytest.mark.soak

SERVER = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0)])
SOURCE, SECOND = SERVER_ADDRESSES[0], "10.77.0.5"
MIB = 256
KILLS = 20

# What a replica keeps of each file, and what is in it; how large a directory is depends on how it was filled.
STATE = (
    "cd {tree} && find . -type d -printf '%p %m %U %G %T@ %n\\n' -o -printf '%p %m %U %G %s %T@ %n %l\\n' | sort; "
    "find . -type f -print0 | sort -z | xargs -0 sha256sum; "
    "find . ! -type l -print0 | sort -z | xargs -0 getfacl -n; "
    'python3 -c \'import os; print(os.getxattr(next(path for path in ("set/first", "moved/first") '
    'if os.path.exists(path)), "user.colour"))\''
)
FILES = f"""
set -eu; cd /srv/pool/data; mkdir -p set/deep
head -c {MIB}M /dev/urandom > large; truncate -s 64M sparse; echo island | dd of=sparse bs=1M seek=30 conv=notrunc
for number in $(seq 200); do echo $number > set/deep/$number; done
echo twin > set/first; ln set/first set/second; ln -s /etc/passwd set/link; mkfifo set/pipe
echo x > "set/$(printf 'a\\nb')"
chown 2001:2002 set/deep/7; chmod 0640 set/deep/8
python3 -c 'import os; os.setxattr("set/first", "user.colour", b"blue")'
"""


@pytest.fixture(scope="module")
def cable() -> Iterator[Cables]:
    with Cables(1) as only:
        yield only


@pytest.fixture(scope="module")
def source(image: Path, accelerator: Accel, cable: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    where = tmp_path_factory.mktemp("source")
    with appliance(SERVER, image, where, accelerator, credentials=given, links=[cable.server_ends[0]]) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_serving()
        box.say(FILES, seconds=900)
        yield box


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cable: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    name = "network.network.50-data0"
    given[name] = given[name].replace(SOURCE.encode(), SECOND.encode())
    where = tmp_path_factory.mktemp("second")
    with appliance(SERVER, image, where, accelerator, credentials=given, links=[cable.client_ends[0]]) as machine:
        machine.start()
        second = Box(machine)
        machine.wait_agent()
        second.wait_serving()
        yield second


def snapshot(source: Box) -> str:
    """Make a snapshot, and list its files as the upkeep does; return its name."""
    source.millrace("snapshot create data", seconds=900)
    source.millrace("replica upkeep", seconds=900)
    name: str = source.shown("snapshot list data --json")["snapshots"][-1]["name"]
    return name


def synced(box: Box) -> dict[str, Any]:
    """Bring the replica up to date; return how."""
    box.millrace("replica sync mirror", seconds=3600)
    [row] = box.shown("replica status mirror --json")["replicas"]
    report: dict[str, Any] = row["last"]["report"]
    return report


def state(box: Box, share: str, name: str) -> list[str]:
    tree = f"/srv/pool/.millrace-snapshots/{share}/{name}/tree"
    return box.say(STATE.format(tree=tree), seconds=1800).splitlines()


def test_pairing_needs_the_fingerprint_on_each_side(source: Box, box: Box) -> None:
    second = box.shown("replica certificate --json")
    allow = ["millrace", "replica", "allow", "data", SECOND, "-", "--fingerprint"]
    wrong = source.machine.run([*allow, "00:00:00:00"], stdin=second["authority"], check=False, seconds=300)
    assert wrong.status != 0 and "nothing was changed" in wrong.err
    source.machine.run([*allow, second["fingerprint"]], stdin=second["authority"], seconds=600)
    authority = source.say("millrace certificate show --ca") + "\n"
    known = source.say("millrace certificate show --ca | openssl x509 -noout -fingerprint -sha256").partition("=")[2]
    add = ["millrace", "replica", "add", f"{SOURCE}:data", "-", "--name", "mirror", "--keep", "3", "--fingerprint"]
    assert box.machine.run([*add, "00:00:00:00"], stdin=authority, check=False, seconds=300).status != 0
    box.machine.run([*add, known], stdin=authority, seconds=600)
    assert [reader["address"] for reader in source.shown("replica list --json")["readers"]] == [SECOND]


def test_snapshots_are_closed_without_a_certificate(source: Box, box: Box) -> None:
    where = f"{SOURCE}:/srv/pool/.millrace-snapshots/data"
    plain = f"timeout 120 mount -t nfs4 -o vers=4.2,soft,retry=0 {where} /mnt"
    assert box.machine.run(plain, check=False, seconds=300).status != 0
    # nor does the source open the share itself for the pairing
    assert SECOND not in source.say("grep '^/srv/pool/data ' /etc/exports.d/millrace.exports || true")


def test_replica_equals_the_snapshot_after_twenty_kills(source: Box, box: Box) -> None:
    name = snapshot(source)
    place = f"/srv/pool/.millrace-snapshots/mirror/{name}"
    kills = 0
    for _ in range(KILLS):
        box.say("millrace replica sync mirror > /run/sync.out 2>&1 &")
        unit = "systemctl is-active --quiet millrace-reflink@replica.service"
        box.machine.wait_command(f"{unit} || test -e {place}", "the run of the replica", 300)
        # later each time: the whole run takes minutes here
        box.say(
            f"sleep {1 + kills}; systemctl kill --signal=KILL millrace-reflink@replica.service || true", seconds=300
        )
        box.machine.wait_command(f"! {unit}", "the end of the run", 300)
        if box.say(f"test -e {place} && echo there || true") == "there":
            break
        kills += 1
    report = synced(box)
    assert report["snapshot"] == name and kills > 0
    assert state(box, "mirror", name) == state(source, "data", name)


def test_four_kilobytes_of_a_large_file_move_less_than_two_megabytes(source: Box, box: Box) -> None:
    source.say("dd if=/dev/urandom of=/srv/pool/data/large bs=4k count=1 seek=9999 conv=notrunc,fsync", seconds=300)
    source.say("mv /srv/pool/data/set /srv/pool/data/moved")
    name = snapshot(source)
    report = synced(box)
    assert report["snapshot"] == name and report["changed"] == 1
    assert report["fetched"] + report["verified"] < 2 << 20
    assert state(box, "mirror", name) == state(source, "data", name)


def test_source_removes_nothing_here(source: Box, box: Box) -> None:
    before = [row["name"] for row in box.shown("snapshot list mirror --json")["snapshots"]]
    # as an administrator of the source would who does not wait
    source.say("rm -rf /srv/pool/.millrace-snapshots/data/*")
    refused = box.millrace("replica sync mirror", seconds=900, check=False)
    assert refused.status == 1 and "has no snapshot with a list of its files" in refused.err.splitlines()[-1]
    assert [row["name"] for row in box.shown("snapshot list mirror --json")["snapshots"]] == before
    assert box.shown("replica status mirror --json")["replicas"][0]["last"]["problem"]


def test_drill_is_red_where_a_block_was_flipped(source: Box, box: Box) -> None:
    name = snapshot(source)
    assert synced(box)["snapshot"] == name
    box.millrace("replica drill mirror", seconds=900)
    tree = f"/srv/pool/.millrace-snapshots/mirror/{name}/tree"
    keep_time = 'd=$(stat -c %y "$1"); echo X > "$1"; touch -d "$d" "$1"'
    flip = f"find {tree} -type f -size -2k -exec sh -c '{keep_time}' _ {{}} \\;"
    box.say(flip, seconds=600)
    red = box.millrace("replica drill mirror", seconds=900, check=False)
    assert red.status == 1 and "differ from the source" in red.err
    assert box.shown("replica status mirror --json")["replicas"][0]["last"]["drill"]["different"] > 0


def test_promoted_replica_is_served(source: Box, box: Box) -> None:
    source.say("echo last > /srv/pool/data/last")
    name = snapshot(source)
    assert synced(box)["snapshot"] == name
    assert box.millrace("share set mirror --nfs", check=False).status != 0
    said = box.millrace("replica promote mirror --name-again mirror", seconds=1800)
    assert "share mirror is served" in said.out
    assert box.say("cat /srv/pool/mirror/last") == "last"
    assert box.say("stat -c %u:%g /srv/pool/mirror/moved/deep/7") == "2001:2002"
    assert box.shown("replica list --json")["replicas"] == []
    assert "/srv/pool/mirror " in box.say("cat /etc/exports.d/millrace.exports")
