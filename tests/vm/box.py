# SPDX-License-Identifier: Apache-2.0
"""An appliance under test, asked in the words of the stories: what it planned, what it made, what it serves."""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from vm.agent import Result
from vm.appliance import Appliance
from vm.machine import Machine

# The data networks of the two cables; management is QEMU's own network.
NETWORKS = ("10.77.0.0/24", "10.77.1.0/24")
SERVER_ADDRESSES = ("10.77.0.1", "10.77.1.1")
CLIENT_ADDRESSES = ("10.77.0.2", "10.77.1.2")
# As a fabric for data is set up; emulated, every packet costs the same.
MTU = 9000
ADMIN_PASSWORD = "correct-horse-9-battery"

# Emulated, a look at everything takes a tenth of the 30 s until the next; after 120 s what was seen counts as old.
SELDOM = 90
NEVER = 1_000_000
CHECKER = "millrace-checker.service"
# These servers reach no time server, and most stories are not about that: STA_PLL without STA_UNSYNC (adjtimex(2)).
SYNCHRONISED = (
    "[Service]\nExecStartPost=+/usr/bin/python3 -I -S -c 'import ctypes, struct; "
    'ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(struct.pack("I4xqqqqi", 28, 0, 0, 0, 0, 1), 512))\'\n'
)

PROVISION_SECONDS = 900.0
SERVING_SECONDS = 900.0


def data_networks(addresses: Sequence[str] = SERVER_ADDRESSES) -> dict[str, bytes]:
    """Return credentials that give the data ports fixed addresses (systemd-network-generator(8))."""
    return {
        f"network.network.50-data{number}": (
            f"[Match]\nMACAddress=52:54:00:4d:01:{number:02x}\n[Link]\nMTUBytes={MTU}\n"
            f"[Network]\nAddress={address}/24\nLinkLocalAddressing=no\n"
        ).encode()
        for number, address in enumerate(addresses)
    }


def credentials(every: int = SELDOM, **more: bytes) -> dict[str, bytes]:
    """Return what every appliance of these tests is given; `more` by name with `_` for `-` and `__` for `.`.

    Health is checked once, and again `every` so many seconds.
    """
    extra = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    policy = "[nfs]\nnetworks = [" + ", ".join(f'"{network}"' for network in NETWORKS) + "]\n"
    return {
        "millrace.admin-password": ADMIN_PASSWORD.encode(),
        "millrace.policy": policy.encode(),
        f"systemd.unit-dropin.{CHECKER}": f"[Service]\nEnvironment=EVERY={every}\n".encode(),
        "systemd.unit-dropin.systemd-timesyncd.service": SYNCHRONISED.encode(),
        **data_networks(),
        **extra,
    }


def node_of(drive: str) -> str:
    """Return a shell line that prints the NUMA node of a drive by its sysfs directory, once or more.

    A drive that could have a second port belongs to a subsystem, and its controllers are in that.
    """
    return f"cat {drive}/device/device/numa_node {drive}/device/nvme*/device/numa_node 2>/dev/null || true"


class Box:
    """The questions that several stories ask an appliance."""

    def __init__(self, machine: Appliance) -> None:
        self.machine = machine

    def say(self, command: str, seconds: float = 300.0) -> str:
        """Run a shell line and return what it printed, stripped."""
        return self.machine.run(command, seconds=seconds).out.strip()

    def look_every(self, seconds: int) -> None:
        """Have the server check its health now and every so many seconds, until it starts again."""
        directory = f"/run/systemd/system/{CHECKER}.d"
        dropin = f"[Service]\nEnvironment=EVERY={seconds}\n"
        self.machine.run(f"mkdir -p {directory} && cat > {directory}/60-every.conf", stdin=dropin)
        self.say(f"systemctl daemon-reload; systemctl restart {CHECKER}")

    def wait_examined(self) -> None:
        """Wait until no drive that was put in is being examined: nobody else may open it meanwhile."""
        self.say("udevadm settle")
        ended = "systemctl show -P ActiveState millrace-replace@event.service | grep -qxE 'inactive|failed'"
        self.machine.wait_command(ended, "the end of the examination", 300)

    def find(self, secret: str, command: str) -> str:
        """Return the lines of what a shell line prints that have this text, which is on no command line meanwhile."""
        # standard input, where the text arrives, is that of the first command of a pipe only
        line = f"exec 3<&0; ({command}) < /dev/null | grep -F -f /dev/fd/3"
        return self.machine.run(line, stdin=secret, check=False).out.strip()

    def read_json(self, command: str) -> Any:
        return json.loads(self.say(command))

    def used(self) -> int:
        """Return the bytes of the pool that are taken, when what was written is on the drives."""
        return int(self.say("sync -f /srv/pool; df --output=used -B1 /srv/pool | tail -n 1"))

    def millrace(
        self, words: str | Sequence[str], *, user: str = "root", seconds: float = 300.0, check: bool = True
    ) -> Result:
        """Run a command line of `millrace` without starting the program again (vm.guest)."""
        line = shlex.split(words) if isinstance(words, str) else words
        return self.machine.millrace(line, user=user, seconds=seconds, check=check)

    def change_network(self, words: str) -> Result:
        """Run `millrace network` with these words and keep the change; return what was said before that."""
        said = self.millrace(f"network {words}", seconds=600)
        self.millrace("network confirm", seconds=300)
        return said

    def link(self, name: str) -> dict[str, Any]:
        """Return a link of the server as `millrace network show` lists it, by its name, MAC address or an address."""
        links: list[dict[str, Any]] = self.shown("network show --json")["links"]
        [link] = [
            one
            for one in links
            if name in (one["name"], one["mac"]) or any(name == each.split("/")[0] for each in one["addresses"])
            if one["kind"] == "port" or name == one["name"]
        ]
        return link

    def shown(self, words: str, user: str = "root") -> Any:
        """What a command line of `millrace` prints as JSON."""
        return json.loads(self.millrace(words, user=user).out)

    def give_check(self, client: Machine, words: str = "") -> None:
        """Put the check of mounts onto a client, as /run/check.pyz; it is no text, so it goes through a pipe."""
        made = self.say(f"millrace client check-script {words} | base64 -w0", seconds=300)
        client.run("base64 -d > /run/check.pyz", stdin=made)

    def wait_booted(self) -> None:
        """Wait until every job of the boot is done, whatever its result."""
        # getty comes when the boot has little left to do: systemd takes an emulated processor a second for each answer
        self.machine.wait_console("login:", PROVISION_SECONDS)
        self.machine.wait_agent()
        self.machine.wait_command("systemctl is-system-running --wait; true", "end of the boot", PROVISION_SECONDS)
        self.machine.wait_command('test -z "$(systemctl list-jobs --no-legend)"', "empty job queue", PROVISION_SECONDS)

    def wait_serving(self) -> None:
        """Wait until NFS and SMB are both up."""
        # what costs nothing to ask is asked first
        up = "read -r threads < /proc/fs/nfsd/threads && [ $threads -gt 0 ] && [ -e /run/samba/smbd.pid ] && exec"
        self.machine.wait_command(
            f"{up} systemctl is-active millrace-serving.target nfs-server.service smbd.service millrace-tune.service",
            "NFS and SMB",
            SERVING_SECONDS,
        )

    def see_stopped_whole(self) -> None:
        """See that the last shutdown stopped all: of a cycle systemd drops a job, and the pool stays mounted."""
        assert self.say("journalctl -b -o cat _PID=1 | grep 'ordering cycle'; true") == ""
        before = "journalctl -b -1 -o cat _PID=1"
        assert self.say(f"{before} | grep 'ordering cycle'; true") == ""
        assert "Unmounted srv-pool.mount" in self.say(f"{before} | grep srv-pool.mount; true")

    def failed_units(self) -> list[str]:
        return [unit["unit"] for unit in self.read_json("systemctl --failed --output=json")]

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that the pool was made from."""
        found = self.read_json("cat /var/lib/millrace/plan.json")
        return dict(found.get("proposal", found))

    @property
    def pool(self) -> dict[str, Any]:
        return dict(self.read_json("cat /var/lib/millrace/pool.json"))

    def array_detail(self, name: str) -> dict[str, str]:
        """Return `mdadm --detail --export` of one of our arrays."""
        lines = self.say(f"mdadm --detail --export /dev/md/millrace-{name}").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def array_sysfs(self, name: str, attribute: str) -> str:
        return self.say(f"cat /sys/class/block/$(basename $(readlink -f /dev/md/millrace-{name}))/{attribute}")

    def uuids(self) -> dict[str, str]:
        """Return the UUID of each of our arrays by its name, as the drives have it."""
        names = [record["array"]["name"] for record in self.pool["arrays"]]
        return {name: self.array_detail(name)["MD_UUID"] for name in names}

    def recorded(self, name: str, kind: str = "members") -> list[str]:
        """Return the serials of an array's members, or of its hot spares, as pool.json has them."""
        (found,) = [one for one in self.pool["arrays"] if one["array"]["name"] == name]
        return [one["serial"] for one in found[kind]]

    def members_by_serial(self, name: str) -> set[str]:
        """Return the serials of the drives that an array really sits on."""
        device = f"$(basename $(readlink -f /dev/md/millrace-{name}))"
        script = f"""
for slave in /sys/class/block/{device}/slaves/*; do
    drive=$(readlink -e $slave) || continue # the drive was pulled just now
    if [ -e $drive/partition ]; then drive=$(dirname $drive); fi
    cat $drive/device/serial || true
done"""
        return {line.strip() for line in self.say(script).splitlines()}

    def xfs_geometry(self) -> dict[str, int]:
        """Return `xfs_info` of the pool as numbers, keyed section.name; units are blocks unless XFS says bytes."""
        section, found = "", {}
        for line in self.say("xfs_info /srv/pool").splitlines():
            section = line.split("=")[0].strip() or section
            for name, value in re.findall(r"(\w+)=(\d+)", line):
                found.setdefault(f"{section}.{name}", int(value))
        return found

    def mount_options(self) -> set[str]:
        return set(self.say("findmnt -no OPTIONS /srv/pool").split(","))

    def drive_checksums(self) -> str:
        return self.say("for d in /dev/nvme*n1; do sha256sum $d; done", seconds=600)
