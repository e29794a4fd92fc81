# SPDX-License-Identifier: Apache-2.0
"""The boot drive is lost: a new one finds the pool without a write, adopts it, and clients go on."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, NEVER, Box, credentials
from tests.vm.servers import server_named
from tests.vm.shares.words import HOST, PASSWORD
from vm.accel import Accel
from vm.appliance import appliance
from vm.disks import BASE
from vm.link import Cables
from vm.machine import Machine
from vm.qemu import Files
from vm.server import Nic, Node, Server

# four boots of the server, one of which builds a pool
pytestmark = pytest.mark.soak

SERVER = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0)])
# Another chassis, in which a drive is missing: two processors, and drives and port are in other slots.
CHASSIS = dataclasses.replace(
    SERVER,
    nodes=(Node(cpus=1, memory=SERVER.memory // 2),) * 2,
    drives=tuple(dataclasses.replace(drive, node=1) for drive in reversed(SERVER.drives[:-1])),
    nics=(Nic(node=1),),
)
HOST_NQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
KEEP = "/srv/pool/.millrace/keep"
WHERE = "/mnt/models"
VOLUMES = """
import json, sys
for one in json.load(sys.stdin)["volumes"]:
    print([one[key] for key in ("name", "uuid", "nqn", "size", "export")])
"""
# What a server is known by, and what only it knows.
IDENTITY = {
    "SID": "net getlocalsid 2>/dev/null | grep -o 'S-1-.*'",
    "certificate": "sha256sum < /var/lib/millrace/certificate/current/server.pem",
    "handles": "sha256sum < /var/lib/millrace/nfs-handles.key",
    "exports": "exportfs -s | grep -o '^/srv/pool/models.*fsid=[^,]*' | sed 's/ .*fsid=/ fsid=/'",
    "password": "grep ^anna: /etc/shadow | cut -d: -f2",
    "NT hash": "pdbedit -L -w 2>/dev/null | grep ^anna: | cut -d: -f4",
    "uid": "id -u anna",
    "machine": "cat /etc/machine-id",
    "volumes": f"millrace volume list --json | python3 -c '{VOLUMES}'",
    "quota": "xfs_quota -x -c 'report -p -N -b' /srv/pool | awk '$4 > 0 {print $1, $4}'",
    "host": "cat /proc/sys/kernel/hostname",
    "SSH keys": "stat -c '%a %U' /home/admin/.ssh/authorized_keys; cat /home/admin/.ssh/authorized_keys; true",
}
# An administrator allows a key for sign-in.
ALLOW = "install -d -o admin -g admin -m 700 /home/admin/.ssh && echo 'ssh-ed25519 AAAA of-anna' > /tmp/key && \
install -o admin -g admin -m 600 /tmp/key /home/admin/.ssh/authorized_keys"
STATES = "/proc/fs/nfsd/clients/*/states"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("adopt")


@contextmanager
def started(
    image: Path,
    accelerator: Accel,
    cables: Cables,
    directory: Path,
    server: Server,
    *,
    no_reboot: bool = True,
    **given: bytes,
) -> Iterator[Box]:
    """The server with the drives in a directory, and a boot drive that is new where there is none."""
    with appliance(
        server,
        image,
        directory,
        accelerator,
        credentials=credentials(NEVER, **given),
        links=cables.server_ends,
        no_reboot=no_reboot,
    ) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        yield box


def lose_boot_drive(directory: Path) -> None:
    """Nothing of the server is left but its drives."""
    files = Files(directory, directory)
    for path in (files.boot_disk, files.variables, directory / BASE):
        path.unlink()


def digests(directory: Path) -> dict[str, str]:
    """A digest of each whole drive."""
    files = Files(directory, directory)
    found = {}
    for drive in SERVER.drives:
        with files.drive(drive.serial).open("rb") as file:
            found[drive.serial] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def identity(box: Box) -> dict[str, str]:
    return {what: box.say(command) for what, command in IDENTITY.items()}


def lock(client: Machine, uid: str) -> None:
    """A user of the client opens a file, writes, and keeps a lock on it."""
    file = f"{WHERE}/locked"
    holder = f"exec 9<> {file}; echo before >&9; flock -x 9; sync {file}; echo held > /tmp/held; exec sleep 36000"
    anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
    client.run(f"mkdir -p {WHERE} && mount -t nfs4 -o vers=4.2,hard {HOST}:/srv/pool/models {WHERE}", seconds=300)
    client.run(f"setsid -f {anna} sh -c '{holder}' > /dev/null 2>&1 < /dev/null")
    client.wait_command("test -s /tmp/held", "the lock", 300)


def see_reclaimed(box: Box, client: Machine) -> None:
    """See that the client got its lock back, and lost nothing on the way.

    It reclaims the open file, and with a delegation keeps the lock to itself: another reader takes that back.
    """
    box.machine.wait_command(f"grep -hsE 'type: (lock|deleg)' {STATES}", "the reclaimed file", 300)
    box.say("cat /srv/pool/models/locked", seconds=300)
    box.machine.wait_command(f"grep -hs 'type: lock' {STATES}", "the reclaimed lock", 300)
    assert client.run("dmesg | grep -iE 'stale file handle|lock reclaim failed|lost lock'; true").out == ""


def see_volume_exported(box: Box) -> None:
    """See that the volume of the server waits for its host."""
    box.machine.wait_command("ss -Hltn sport = :4420 | grep -q .", "the listener of the volume", 300)
    assert [one["problem"] for one in box.shown("volume list --json")["volumes"]] == [None]


@pytest.fixture(scope="module")
def before(image: Path, accelerator: Accel, cables: Cables, client: Machine, directory: Path) -> dict[str, str]:
    """A server with users, shares and a client that has a file locked; then its boot drive is lost with the power."""
    with started(image, accelerator, cables, directory, SERVER, millrace__provision=b"auto") as box:
        box.wait_serving()
        box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
        box.millrace("share create models --type mixed --size 96M --smb-user anna", seconds=600)
        box.millrace(
            f"volume create tank --size 16M --export tcp --host {HOST_NQN} --address {CLIENT_ADDRESSES[0]}", seconds=600
        )
        lock(client, box.say("id -u anna"))
        box.say(ALLOW)
        traits = identity(box)
        assert "600 admin\nssh-ed25519 AAAA of-anna" in traits["SSH keys"]
        box.millrace("keep now", seconds=300)
        box.say("sync")
        box.machine.power_cut()
    lose_boot_drive(directory)
    return traits


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, directory: Path, before: dict[str, str]) -> Iterator[Box]:
    written = digests(directory)
    with started(image, accelerator, cables, directory, SERVER) as box:
        box.wait_booted()
        assert digests(directory) == written
        yield box


def test_new_boot_drive_leads_with_the_pool_and_writes_nothing(box: Box, directory: Path) -> None:
    written = digests(directory)
    report = box.shown("pool find --json")
    assert report["problem"] is None, report
    assert (report["pool"]["missing"], report["pool"]["kept"]["shares"]) == (0, ["data", "models"])
    assert report["pool"]["kept"]["users"] == ["anna"]
    assert json.loads(box.say("cat /run/millrace/found.json"))["pool"]["uuid"] == report["pool"]["uuid"]
    said = box.millrace("status").out
    assert "millrace pool adopt" in said and "erase" not in said
    assert "millrace pool adopt" in box.millrace("plan", check=False).out + box.millrace("plan", check=False).err
    assert digests(directory) == written
    left = (
        "ls /dev/mapper | grep find; losetup -l | grep find; ls /dev/md 2>/dev/null; cat /proc/mdstat | grep ^md; true"
    )
    assert box.say(left) == ""
    assert box.failed_units() == []


def test_adopted_server_is_the_same_and_a_client_goes_on(box: Box, client: Machine, before: dict[str, str]) -> None:
    assert box.say(IDENTITY["host"]) != before["host"]
    box.millrace("pool adopt --yes", seconds=900)
    box.wait_serving()
    assert identity(box) == before
    see_volume_exported(box)
    # what was recorded under the machine ID of before, and what is since
    for unit in ("systemd-networkd.service", "nfs-server.service"):
        assert box.say(f"journalctl -b -o cat --grep=Start -u {unit}") != ""
    assert box.say("ls /var/log/journal") == before["machine"]
    client.run(f"echo after >> {WHERE}/other; sync {WHERE}/other", seconds=900)
    assert client.run(f"cat {WHERE}/locked").out == "before\n"
    see_reclaimed(box, client)
    client.run("cat > /run/anna", stdin=f"username=anna\npassword={PASSWORD}\n")
    assert "locked" in client.run(f"smbclient -A /run/anna //{HOST}/models -c ls", seconds=300).out
    box.say("systemctl start millrace-health.service", seconds=600)
    failed = [finding for finding in box.shown("health --json")["findings"] if finding["level"] == "FAIL"]
    assert failed == []
    assert box.failed_units() == []


def test_adopted_by_credential_in_another_chassis_without_a_drive_and_with_a_torn_state(
    box: Box, image: Path, accelerator: Accel, cables: Cables, directory: Path, before: dict[str, str]
) -> None:
    # two generations at least, of which the newest is torn
    box.millrace("share set models --comment one", seconds=600)
    box.millrace("keep now", seconds=300)
    newest = box.say(f"ls {KEEP}/state-*.tar.gz | tail -n 1")
    number = int(re.sub(r"\D", "", Path(newest).name.partition(".")[0]))
    box.say(f"truncate -s 1000 {newest}; sync -f /srv/pool")
    box.machine.power_cut()
    lose_boot_drive(directory)
    with started(image, accelerator, cables, directory, CHASSIS, millrace__adopt=b"auto") as new:
        new.wait_serving()
        took = float(new.say("cut -d' ' -f1 /proc/uptime"))
        print(f"adopted and serving {took:.0f} s after the boot ({accelerator.name})")
        # said of servers and of KVM; emulated, a boot alone may take as long
        assert accelerator.name == "tcg" or took < 90
        again = identity(new)
        assert {what: again[what] for what in before if what != "SSH keys"} == {
            what: value for what, value in before.items() if what != "SSH keys"
        }
        # nobody was asked: whoever wrote the drives does not get into the server
        assert "of-anna" in before["SSH keys"] and "of-anna" not in again["SSH keys"]
        see_volume_exported(new)
        assert "members missing" in new.millrace("pool show").out
        journal = new.say("journalctl -b -o cat -u millrace-adopt.service")
        assert "is adopted" in journal
        kept = new.shown("keep list --json")["generations"]
        assert number in {generation["generation"] for generation in kept}
        assert new.failed_units() == []


def test_server_with_a_pool_takes_no_credential_that_it_was_not_set_up_with(
    image: Path, accelerator: Accel, cables: Cables, directory: Path, before: dict[str, str]
) -> None:
    made, unit = b"f /run/from-outside 0644 root root - -\n", b"[Service]\nExecStart=/bin/touch /run/from-outside\n"
    more = {"tmpfiles__extra": made, "systemd__extra_unit__outside__service": unit}
    more |= {"systemd__unit_dropin__nfs_server__service": b"[Unit]\nConditionPathExists=/nowhere\n"}
    with started(image, accelerator, cables, directory, CHASSIS, **more) as box:
        box.wait_serving()
        assert box.say("ls /run/from-outside 2>/dev/null; true") == ""
        assert box.say("systemctl show -P LoadState outside.service") == "not-found"
        said = box.say("journalctl -b -o cat -u millrace-credentials.service")
        for name in ("tmpfiles.extra", "systemd.extra-unit.outside.service", "systemd.unit-dropin.nfs-server.service"):
            assert f"The credential {name} was removed" in said
        # the addresses, the agent and the settings for an emulated server are those of before
        assert box.say("ls -A /run/credentials/@system | grep -c ^network.network; true") != "0"
        assert "adopt" not in box.say("ls -A /run/credentials/@system")
        assert box.failed_units() == []
