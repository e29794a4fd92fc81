# SPDX-License-Identifier: Apache-2.0
"""The AppArmor profiles of what faces the network: compiled at the build, loaded first, and what they keep away."""

import re
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system import paths
from tests.unit.boot.units import ADDED, OWN, names, read, settings, unit

POLICY = REPO / "mkosi.extra/usr/lib/millrace/apparmor"
UNIT = "millrace-confine.service"
TEXT = (POLICY / "profiles").read_text()
PROFILES = {
    match[1]: (match[2], match[3])
    for match in re.finditer(r"^profile (\S+) (\S+) flags=\S+ \{\n(.*?)^\}", TEXT, re.M | re.S)
}
PROGRAMS = {
    "millrace-smbd": "/usr/sbin/smbd",
    "millrace-winbindd": "/usr/sbin/winbindd",
    "millrace-mountd": "/usr/sbin/rpc.mountd",
    "millrace-gssproxy": "/usr/sbin/gssproxy",
    "millrace-tlshd": "/usr/sbin/tlshd",
    "millrace-cockpit-tls": "/usr/lib/cockpit/cockpit-tls",
    "millrace-cockpit-ws": "/usr/lib/cockpit/cockpit-ws",
}
SAMBA = {"millrace-smbd", "millrace-winbindd"}
ALLOWED = re.compile(r"^  (?!audit deny)(\S+) (\w+),$", re.MULTILINE)


def variable(name: str) -> set[str]:
    """Return the paths of a variable of the profiles."""
    return set(" ".join(re.findall(rf"^@\{{{name}\}} \+?= (.*)$", TEXT, re.MULTILINE)).split())


def allowed(name: str, letter: str) -> set[str]:
    return {path for path, permissions in ALLOWED.findall(PROFILES[name][1]) if letter in permissions}


def test_each_program_that_faces_the_network_has_a_profile_by_its_path() -> None:
    assert {name: path for name, (path, _) in PROFILES.items()} == PROGRAMS


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_starts_no_other_one_but_those_of_samba(name: str) -> None:
    assert allowed(name, "x") == ({"/usr/libexec/samba/*"} if name in SAMBA else set())
    # nor maps one that a client has written
    assert allowed(name, "m") == {"/usr/**"}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_secrets_of_the_system_are_refused_and_the_refusal_is_in_the_journal(name: str) -> None:
    body = PROFILES[name][1]
    assert "audit deny @{SECRETS} mrwkl," in body and "audit deny @{POWER} wl," in body
    # deny without audit is silent (apparmor.d(5)); at each start the web server looks for ssh by a shell
    silent = re.findall(r"(?<!audit )deny .*", body)
    assert silent == (["deny /usr/bin/{dash,sh} x,"] if name == "millrace-cockpit-ws" else [])
    secrets = variable("SECRETS")
    own = {f"/srv/pool/{name}/**" for name in (paths.POOL_OWN, paths.VOLUMES, paths.CLONES)}
    assert own | {"/etc/shadow*", "/etc/gshadow*", "/etc/ssh/**", "/root/**"} <= secrets
    assert f"/{paths.smb_direct_users().relative_to(paths.ROOT)}" in secrets
    # a setting of the kernel names a program that it starts as root
    assert {"/proc/sys/**", "/run/udev/rules.d/**"} <= variable("POWER")


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_profile_is_enforced_and_refuses_nothing_but_what_it_names(name: str) -> None:
    """A path that a service needs after an update is not refused: what may be written is for systemd's sandbox."""
    assert PROFILES[name][1].count("  /** rwkl,\n") == 1
    assert "complain" not in TEXT


def test_what_systemd_hides_from_a_daemon_its_profile_refuses_too() -> None:
    """A file that is replaced is not hidden any more: rename(2) takes the mount of InaccessiblePaths= away."""
    assert "audit deny @{STATE} mrwkl," in PROFILES["millrace-smbd"][1]
    for name in ("millrace-winbindd", "millrace-gssproxy"):
        assert {"audit deny @{STATE} mrwkl,", "audit deny /srv/** mrwkl,"} <= set(
            map(str.strip, PROFILES[name][1].splitlines())
        )
    for name in ("smbd.service", "winbind.service", "gssproxy.service"):
        assert "-/etc/shadow" in unit(name)["InaccessiblePaths"][0].split()


def test_smbd_reads_snapshots_of_shares_and_writes_to_nothing_of_root_on_the_pool() -> None:
    assert "audit deny /srv/pool/.millrace*/{,**} wl," in PROFILES["millrace-smbd"][1]
    assert all(name.startswith(".millrace") for name in (paths.SNAPSHOTS, paths.POOL_OWN, paths.VOLUMES, paths.CLONES))
    assert not [path for path in variable("SECRETS") if paths.SNAPSHOTS in path]


def test_mount_daemon_writes_to_no_share_and_to_no_setting_of_the_kernel() -> None:
    # its sandbox has no mounts that would say so
    assert "ProtectSystem" not in unit("nfs-mountd.service")
    assert "audit deny /{etc,home,opt,srv,sys,usr}/** wl," in PROFILES["millrace-mountd"][1]
    assert "/proc/sys/**" in variable("POWER")


@pytest.mark.parametrize("name", ["smbd.service", "winbind.service", "gssproxy.service", "tlshd.service"])
def test_daemon_with_mounts_of_its_own_asks_nobody_to_start_a_program(name: str) -> None:
    hidden = {path for line in unit(name)["InaccessiblePaths"] for path in line.split()}
    assert {"-/run/systemd/private", "-/run/dbus/system_bus_socket"} <= hidden


def test_mount_daemon_reads_arrays_and_no_boot_drive() -> None:
    """On the boot drive are the passwords that its profile keeps away, also for who reads it as a device."""
    mountd = unit("nfs-mountd.service")
    assert (mountd["DevicePolicy"], mountd["DeviceAllow"]) == (["closed"], ["block-md r"])


def test_policy_is_loaded_before_any_service_and_nobody_waits_for_its_success() -> None:
    service = unit(UNIT)
    assert (OWN / f"sysinit.target.wants/{UNIT}").is_symlink()
    assert "sysinit.target" in names(service, "Before") and service["DefaultDependencies"] == ["no"]
    # its sandbox covers /tmp and /var/tmp, which an earlier boot has not made yet
    assert {"local-fs.target", "systemd-tmpfiles-setup.service"} <= names(service, "After")
    assert service["CapabilityBoundingSet"] == ["CAP_MAC_ADMIN"]
    assert service["ConditionSecurity"] == ["apparmor"]
    for file in [*OWN.glob("millrace-*.*"), *ADDED.glob("*.d/*.conf")]:
        if file.is_file():
            assert f"Requires={UNIT}" not in file.read_text() and "AppArmorProfile=" not in file.read_text()


def test_policy_is_compiled_where_it_is_loaded_from_for_the_features_of_the_tree() -> None:
    build = (REPO / "mkosi.finalize").read_text()
    assert '--ofile="$BUILDROOT/usr/lib/millrace/apparmor/policy"' in build
    assert '--features-file="$BUILDROOT/usr/lib/millrace/apparmor/features"' in build
    assert (
        " if=/usr/lib/millrace/apparmor/policy of=/sys/kernel/security/apparmor/.replace " in unit(UNIT)["ExecStart"][0]
    )
    # one write: dd reads a short one again, and the policy is far smaller than a block
    assert {"bs=4M", "iflag=fullblock"} <= set(unit(UNIT)["ExecStart"][0].split())
    features, depth = set(), 0
    for line in (POLICY / "features").read_text().splitlines():
        if not depth and "{" in line:
            features.add(line.partition(" ")[0])
        depth += line.count("{") - line.count("}")
    # what is not named is not limited: network, D-Bus, Unix sockets, io_uring
    assert features == {"caps", "capability", "domain", "file", "mount", "policy"}


def test_refusals_are_logged_and_auditing_stays_off() -> None:
    assert "audit=0" not in (REPO / "mkosi.conf.d/10-kernel.conf").read_text().split()
    assert read(Path("usr/lib/systemd/journald.conf.d/10-millrace.conf"))["Audit"] == ["no"]
    initrd = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib/systemd/journald.conf.d/10-millrace.conf"
    assert settings(initrd.read_text())["Audit"] == ["no"]
    assert str((ADDED.parents[3] / "etc/systemd/system/systemd-journald-audit.socket").readlink()) == "/dev/null"
