# SPDX-License-Identifier: Apache-2.0
"""What the image leaves to somebody who is already on it, or in front of it."""

import mmap
import re
import subprocess
from pathlib import Path

import pytest

from tests.image import apparmor
from tests.image.test_image import chroot

# Who becomes somebody else by the mode of a file; the bus's helper is for services that systemd does not start.
SETUID = {
    "usr/bin/passwd",
    "usr/bin/sudo",
    "usr/lib/dbus-1.0/dbus-daemon-launch-helper",
    "usr/sbin/unix_chkpwd",
}
# Exposure of the daemons that clients talk to, in tenths; Debian's units as they come have 94. sshd is not among them:
# what it starts inherits every limit, and an administrator's shell has none.
DAEMONS = {
    "cockpit.service": 9,
    "cockpit-wsinstance-http.service": 17,
    "cockpit-wsinstance-https@.service": 17,
    "gssproxy.service": 27,
    "mdmonitor.service": 24,
    "nfs-idmapd.service": 25,
    # in the host's mount namespace, where the kernel looks up exports
    "nfs-mountd.service": 40,
    # prunes its own bounding set, which takes CAP_SETPCAP
    "nfsdcld.service": 23,
    "rpc-gssd.service": 28,
    "smbd.service": 34,
    # speaks with another host, and reads the whole journal
    "systemd-journal-upload.service": 15,
    "tlshd.service": 21,
    "winbind.service": 29,
}
WRITES = re.compile("ReadWritePaths=")
PROTOCOLS = """
import ctypes
lib = ctypes.CDLL("libgnutls.so.30")
name = lib.gnutls_protocol_get_name
name.restype = ctypes.c_char_p
cache, numbers = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_uint)()
assert lib.gnutls_priority_init(ctypes.byref(cache), None, None) == 0
count = lib.gnutls_priority_protocol_list(cache, ctypes.byref(numbers))
print(*[name(numbers[at]).decode() for at in range(count)])
"""


def test_these_programs_and_no_others_are_setuid_or_setgid(tree: Path) -> None:
    found = {str(path.relative_to(tree)) for path in (tree / "usr").rglob("*") if _is_setuid(path)}
    assert found == SETUID


def _is_setuid(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and bool(path.stat().st_mode & 0o6000)


def test_no_group_is_root_by_its_name(tree: Path) -> None:
    rules = "".join(path.read_text() for path in tree.glob("usr/share/polkit-1/rules.d/*.rules"))
    assert "empower" not in rules


def test_tls_begins_at_1_2(tree: Path) -> None:
    said = chroot(tree, "/usr/bin/python3", "-c", PROTOCOLS)
    assert said.stdout.split() == ["TLS1.3", "TLS1.2", "DTLS1.2"], said.stderr


@pytest.mark.parametrize("unit", sorted(DAEMONS))
def test_daemons_of_clients_have_no_more_rights_than_they_use(tree: Path, unit: str) -> None:
    limit = f"--threshold={DAEMONS[unit]}"
    verdict = chroot(tree, "/usr/bin/systemd-analyze", "security", "--offline=yes", limit, "--no-pager", unit)
    assert verdict.returncode == 0, verdict.stdout[-400:] + verdict.stderr


@pytest.mark.parametrize("unit", sorted(DAEMONS))
def test_what_a_daemon_may_write_is_there_before_it_starts(tree: Path, unit: str) -> None:
    """A path that is missing keeps the unit from starting; behind an ExecCondition= even without a failure."""
    lines = [line for file in tree.glob("usr/lib/tmpfiles.d/*.conf") for line in file.read_text().splitlines()]
    made = {line.split()[1] for line in lines if line[:1] in "dDv" and line.strip()} | {"/run", "/srv/pool"}
    # made on the mounted pool by millrace-lock-records.service; nfsdcld is not to start without it
    made.add("/srv/pool/.millrace/nfsdcld")
    drop_ins = [file.read_text() for file in tree.glob(f"usr/lib/systemd/system/{unit}.d/*.conf")]
    wanted = [line.partition("=")[2].split() for text in drop_ins for line in text.splitlines() if WRITES.match(line)]
    assert {path for paths in wanted for path in paths if not path.startswith("-")} <= made


def test_profiles_are_compiled_and_their_programs_are_there(tree: Path) -> None:
    made = tree / "usr/lib/millrace/apparmor"
    policy, text = (made / "policy").read_bytes(), (made / "profiles").read_text()
    profiles = dict(re.findall(r"^profile (\S+) (\S+) ", text, re.MULTILINE))
    assert len(profiles) == 7 and len(policy) < 1 << 20
    assert all(policy.count(name.encode() + b"\0") >= 1 for name in profiles)
    assert all((tree / path.lstrip("/")).is_file() for path in profiles.values())
    # nothing in the image changes them
    assert not (tree / "usr/sbin/apparmor_parser").exists()


# Letters of apparmor.d(5) beside `l`, of which the kernel asks with both names; "" is nothing.
MEDIATED = (
    ("smbd", "/srv/pool/models/data", "wrk"),
    ("smbd", "/srv/pool/.millrace-snapshots/models/daily/tree/data", "rk"),
    ("smbd", "/srv/pool/.millrace/keep/state-000001.tar.gz", ""),
    ("smbd", "/var/lib/samba/private/secrets.tdb", "wrk"),
    ("smbd", "/run/samba/smbd.pid", "wrk"),
    ("smbd", "/usr/lib/x86_64-linux-gnu/samba/vfs/fruit.so", "wrkm"),
    ("smbd", "/usr/libexec/samba/rpcd_lsad", "xwrkm"),
    ("smbd", "/usr/bin/id", "wrkm"),
    ("smbd", "/etc/passwd", "rk"),
    ("smbd", "/etc/shadow.next", ""),
    ("smbd", "/proc/sys/kernel/core_pattern", "rk"),
    ("winbindd", "/etc/krb5.keytab", "wrk"),
    ("winbindd", "/srv/pool/models/data", ""),
    ("mountd", "/proc/42/net/rpc/nfsd.export/channel", "wrk"),
    ("mountd", "/run/millrace/nfs/etab", "wrk"),
    ("mountd", "/srv/pool/models/data", "rk"),
    ("mountd", "/etc/exports", "rk"),
    ("tlshd", "/var/lib/millrace/certificate/current", "wrk"),
    ("tlshd", "/var/lib/millrace/config.json", ""),
    ("cockpit-tls", "/run/cockpit/wsinstance/http.sock", "wrk"),
    ("cockpit-ws", "/run/cockpit/session", "wrk"),
    ("cockpit-ws", "/etc/cockpit/ws-certs.d/millrace.key", ""),
)


@pytest.mark.parametrize(("program", "path", "letters"), MEDIATED)
def test_compiled_policy_allows_what_a_program_needs(tree: Path, program: str, path: str, letters: str) -> None:
    rules = apparmor.file_rules(tree / "usr/lib/millrace/apparmor/policy")[f"millrace-{program}"]
    assert set(apparmor.allowed(rules, path)) - {"l"} == set(letters)


def test_boot_menu_takes_no_command_line(output: Path) -> None:
    with (
        next(output.glob("millrace_*.esp.raw")).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as esp,
    ):
        assert esp.find(b"\neditor no\n") != -1


def test_firewall_of_the_image_loads_and_bounds_each_source(tree: Path) -> None:
    command = ["unshare", "--net", "chroot", str(tree), "/usr/sbin/nft", "-f", "/etc/nftables.conf"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    rules = (tree / "etc/nftables.conf").read_text()
    for port in ("{ 2049, 20049 }", "445", "9090", "19100", "22"):
        assert f"tcp dport {port} add @held_" in rules
    # before anything is let in
    assert rules.index("ct state new jump bound") < rules.index("tcp dport @tcp_services accept")


def test_nothing_of_the_image_receives_journals(tree: Path) -> None:
    programs = {path.name for path in (tree / "usr/lib/systemd").glob("systemd-journal-*")}
    assert programs == {"systemd-journal-upload"}
    # Debian's file would let the unit start without a policy
    assert not (tree / "etc/systemd/journal-upload.conf").exists()
