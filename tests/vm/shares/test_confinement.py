# SPDX-License-Identifier: Apache-2.0
"""AppArmor: what faces the network has its profile, is refused what no client needs, and is refused nothing else."""

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import listed_over_smb, nfs, smb
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

# What runs on a server that has joined no domain and serves no share over TLS.
DAEMONS = {
    "smbd.service": "millrace-smbd",
    "nfs-mountd.service": "millrace-mountd",
    "cockpit.service": "millrace-cockpit-tls",
}
# A program of the story's own, as each profile begins where the program is started.
INSIDE = "echo -n 'exec {profile}' > /proc/self/attr/exec; exec {command}"
# Who starts programs for root; what hides them is a socket on which nobody listens.
SOCKETS = ("/run/systemd/private", "/run/dbus/system_bus_socket")
HIDDEN = ("winbind.service", "gssproxy.service", "tlshd.service")
CONNECT = (
    "/usr/bin/python3 -I -c 'import socket; s = socket.socket(socket.AF_UNIX); "
    'print("connected" if s.connect_ex("{path}") == 0 else "refused")\''
)
# Names of the programs that this story starts inside; each other refusal is of a service.
OWN = "cat|head|touch|sh|ls"


def inside(box: Box, profile: str, command: str, enter: str = "") -> str:
    """Return what a command says that runs with a profile; `enter` is a program that starts it."""
    words = INSIDE.format(profile=profile, command=command)
    return box.say(f'{enter} /bin/sh -c "{words}" 2>&1 || true')


def refusals(box: Box) -> str:
    """Return the refusals of this boot that no program of this story has caused."""
    return box.say(f"journalctl -b -k -o cat --grep 'apparmor=.DENIED.' | grep -vE 'comm=\"({OWN})\"' || true")


def test_each_service_that_faces_the_network_is_confined(box: Box) -> None:
    # it starts with the first connection of a browser
    box.say("systemctl start cockpit.service")
    assert "millrace-confine.service" not in box.failed_units()
    for unit, profile in DAEMONS.items():
        processes = box.say(f"cat /sys/fs/cgroup$(systemctl show -P ControlGroup {unit})/cgroup.procs").split()
        assert processes, unit
        for process in processes:
            assert box.say(f"cat /proc/{process}/attr/current") == f"{profile} (enforce)", unit


def test_clients_are_served_and_nothing_is_refused(box: Box, client: Machine) -> None:
    assert "models" in listed_over_smb(client)
    for protocol in (nfs, smb):
        with protocol(client, "models") as where:
            client.run(
                f"mkdir {where}/confined && echo x > {where}/confined/a && mv {where}/confined/a {where}/confined/b"
            )
            client.run(f"cat {where}/confined/b && rm -r {where}/confined")
    box.millrace("share verify", seconds=900)
    assert refusals(box) == ""


def test_password_file_that_was_replaced_stays_out_of_reach_of_smbd(box: Box) -> None:
    """systemd hides the file that is there when smbd starts; a change of a password puts another one in its place."""
    box.say("cp -a /etc/shadow /etc/shadow.next && mv /etc/shadow.next /etc/shadow")
    smbd = "nsenter -m -t $(systemctl show -P MainPID smbd.service)"
    # the mount is gone, and the profile is there
    assert box.say(f"{smbd} grep -c ^root: /etc/shadow") == "1"
    assert "Permission denied" in inside(box, "millrace-smbd", "/usr/bin/head -c 4 /etc/shadow", smbd)


def test_smbd_asks_nobody_to_start_a_program(box: Box) -> None:
    smbd = "nsenter -m -t $(systemctl show -P MainPID smbd.service)"
    for path in SOCKETS:
        # they answer outside of the sandbox
        assert box.say(CONNECT.format(path=path)) == "connected"
        assert box.say(f"{smbd} {CONNECT.format(path=path)}") != "connected", path


@pytest.mark.parametrize("unit", HIDDEN)
def test_other_daemons_ask_nobody_either_as_their_units_are_set(box: Box, unit: str) -> None:
    """They need a domain, a keytab or a share over TLS to run: a program runs with what their units hide."""
    hidden = box.say(f"systemctl show -P InaccessiblePaths {unit}")
    sandbox = f"systemd-run --quiet --pipe --wait --collect --property='InaccessiblePaths={hidden}'"
    for path in SOCKETS:
        assert box.say(f"{sandbox} {CONNECT.format(path=path)}") != "connected", path


def test_mount_daemon_opens_no_boot_drive(box: Box) -> None:
    """Handles of /srv/pool are by the UUID of the array, which it reads."""
    policy = "$(systemctl show -P ControlGroup nfs-mountd.service)"
    # a process in its control group has its devices
    tried = (
        "sh -c 'echo $$ > /sys/fs/cgroup{group}/cgroup.procs; head -c 1 {device} > /dev/null && echo read; true' 2>&1"
    )
    root = box.say("findmnt -no SOURCE /")
    assert "read" not in box.say(tried.replace("{group}", policy).replace("{device}", root)).splitlines()
    assert box.say(tried.replace("{group}", policy).replace("{device}", "/dev/md/millrace-data")) == "read"


@pytest.mark.parametrize("profile", sorted(DAEMONS.values()))
def test_profile_keeps_secrets_and_programs_away(box: Box, profile: str) -> None:
    for path in ("/etc/shadow", "/var/lib/millrace/pool.json"):
        assert "Permission denied" in inside(box, profile, f"/usr/bin/cat {path}"), path
    assert "Permission denied" in inside(box, profile, "/usr/bin/touch /etc/systemd/system/planted.service")
    assert "Permission denied" in inside(box, profile, "/bin/sh -c /usr/bin/id")
    # what it needs
    assert "Permission denied" not in inside(box, profile, "/usr/bin/cat /etc/passwd")
