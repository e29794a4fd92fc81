# SPDX-License-Identifier: Apache-2.0
"""The AppArmor profiles of what faces the network: compiled at the build, loaded first, and what they keep away."""

import re
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system import paths
from tests.unit.boot.units import ADDED, OWN, names, read, unit

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
    assert "audit deny @{SECRETS} mrwkl," in body and "audit deny @{UNITS} wl," in body
    # deny without audit is silent (apparmor.d(5))
    assert not re.search(r"(?<!audit )deny", body)
    secrets = " ".join(re.findall(r"^@\{SECRETS\} \+?= (.*)$", TEXT, re.MULTILINE)).split()
    own = {f"/srv/pool/{name}/**" for name in (paths.POOL_OWN, paths.VOLUMES, paths.CLONES)}
    assert own | {"/etc/shadow*", "/etc/gshadow*", "/etc/ssh/**", "/root/**"} <= set(secrets)
    assert f"/{paths.smb_direct_users().relative_to(paths.ROOT)}" in secrets


def test_what_systemd_hides_from_a_daemon_its_profile_refuses_too() -> None:
    """A file that is replaced is not hidden any more: rename(2) takes the mount of InaccessiblePaths= away."""
    assert "audit deny @{STATE} mrwkl," in PROFILES["millrace-smbd"][1]
    for name in ("millrace-winbindd", "millrace-gssproxy"):
        assert {"audit deny @{STATE} mrwkl,", "audit deny /srv/** mrwkl,"} <= set(
            map(str.strip, PROFILES[name][1].splitlines())
        )
    for name in ("smbd.service", "winbind.service", "gssproxy.service"):
        assert "-/etc/shadow" in unit(name)["InaccessiblePaths"][0].split()


def test_mount_daemon_writes_to_no_share_and_to_no_setting_of_the_kernel() -> None:
    written = allowed("millrace-mountd", "w")
    assert not [path for path in written if path.startswith(("/srv", "/etc", "/sys", "/usr", "/**"))]
    assert {path for path in written if path.startswith("/proc")} == {
        "/proc/*/{,task/*/}comm",
        "/proc/*/net/rpc/**",
        "/proc/fs/{nfs,nfsd}/**",
    }


def test_policy_is_loaded_before_any_service_and_nobody_waits_for_its_success() -> None:
    found = unit(UNIT)
    assert (OWN / f"sysinit.target.wants/{UNIT}").is_symlink()
    assert "sysinit.target" in names(found, "Before") and found["DefaultDependencies"] == ["no"]
    assert found["CapabilityBoundingSet"] == ["CAP_MAC_ADMIN"]
    assert found["ConditionSecurity"] == ["apparmor"]
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
    assert read(Path("usr/lib/systemd/journald.conf.d/10-millrace.conf"))["Audit"] == ["keep"]
    assert str((ADDED.parents[3] / "etc/systemd/system/systemd-journald-audit.socket").readlink()) == "/dev/null"
