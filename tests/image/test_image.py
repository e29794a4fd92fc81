# SPDX-License-Identifier: Apache-2.0
"""What must be in the image, and what must never be."""

import configparser
import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from host import layout
from millrace.lifecycle.etc import factory as etc
from millrace.serve.config.model import Domain
from millrace.serve.share import smb
from millrace.system.documents import read_model
from vm import pe

REPO = layout.REPO

# Everything that an administrator finds enabled; a package that enables itself is seen here.
ENABLED = {
    "autovt@.service",
    "cockpit.socket",
    "dbus-org.freedesktop.network1.service",
    "dbus-org.freedesktop.resolve1.service",
    "dbus-org.freedesktop.timesync1.service",
    "fstrim.timer",
    "getty@tty1.service",
    "mdmonitor-oneshot.timer",
    "nftables.service",
    "remote-fs.target",
    "ssh.service",
    "sshd.service",
    "systemd-boot-update.service",
    "systemd-journal-upload.service",
    "systemd-network-generator.service",
    "systemd-networkd-wait-online.service",
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-networkd-resolve-hook.socket",
    "systemd-networkd-varlink-metrics.socket",
    "systemd-networkd-varlink.socket",
    "systemd-pstore.service",
    "systemd-resolved.service",
    "systemd-resolved-monitor.socket",
    "systemd-resolved-varlink.socket",
    "systemd-timesyncd.service",
    "xfs_healer_start.service",
}
# Exposure as systemd counts it, in tenths. Raising a limit needs a reason beside the unit's settings.
EXPOSURE = {
    "millrace-inventory.service": 35,
    "millrace-plan.service": 13,
    "millrace-erase.service": 35,
    "millrace-drive-test.service": 35,
    "millrace-install@.service": 45,
    "millrace-provision.service": 43,
    "millrace-drive.service": 43,
    "millrace-rescue.service": 46,
    "millrace-reset.service": 22,
    "millrace-assemble.service": 39,
    "millrace-backend.service": 27,
    "millrace-backend-release.service": 20,
    "millrace-find.service": 42,
    "millrace-adopt.service": 58,
    "millrace-pool.service": 23,
    "millrace-share.service": 37,
    "millrace-tune.service": 41,
    "millrace-users.service": 42,
    "millrace-checker.service": 33,
    "millrace-health.service": 33,
    "millrace-health-stopped.service": 22,
    "millrace-heartbeat.service": 14,
    "millrace-smart.service": 26,
    "millrace-admin.service": 42,
    "millrace-alert.service": 12,
    "millrace-metrics.service": 12,
    "millrace-metrics-collect.service": 27,
    "millrace-metrics-collector.service": 27,
    "millrace-firewall@.service": 14,
    "millrace-node-exporter.service": 8,
    "millrace-nvme-hostid.service": 32,
    "millrace-again@.service": 13,
    "millrace-event@.service": 13,
    "millrace-locate@.service": 15,
    "millrace-members.service": 20,
    "millrace-readd.service": 26,
    "millrace-replace@.service": 35,
    "millrace-unclean.service": 25,
    "millrace-unreadable.service": 27,
    "millrace-failures.service": 27,
    "millrace-pool-change@.service": 42,
    "millrace-scrub.service": 22,
    "millrace-scrub-files.service": 25,
    "millrace-xfs-scrub.service": 27,
    "millrace-trim.service": 20,
    "millrace-keep.service": 15,
    "millrace-lock-records.service": 14,
    "millrace-journal.service": 13,
    "millrace-certificate.service": 15,
    "millrace-bench.service": 39,
    "millrace-tuner.service": 40,
    "millrace-cleanup@.service": 33,
    "millrace-child-quota.service": 27,
    "millrace-copy.service": 42,
    "millrace-reflink@.service": 36,
    "millrace-permissions.service": 43,
    "millrace-module@.service": 17,
    "millrace-smb-direct.service": 30,
    "millrace-volumes.service": 33,
    "millrace-update.service": 45,
    "millrace-update-download.service": 30,
    "millrace-update-fetch.service": 12,
    "millrace-boot-check.service": 30,
    "millrace-trial.service": 30,
    "millrace-documents.service": 14,
    "millrace-confine.service": 13,
}

# What is there at the build, or made by the program that uses it. By the beginning of the path.
VAR_OF_THE_BUILD = (
    "/var/cache/",
    "/var/lib/apt",
    "/var/lib/dpkg/",
    "/var/lib/dracut",
    # our textfile is in /run
    "/var/lib/prometheus",
    "/var/log/prometheus",
    # its timers are off
    "/var/log/sysstat",
    "/var/lib/python",
    "/var/lib/samba/printers",
    "/var/lib/sgml-base",
    "/var/lib/systemd",
    "/var/lib/ucf",
    "/var/lib/xml-core",
    "/var/log/runit",
)


def chroot(tree: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the image in the image; the mounts that it needs are its own and end with it."""
    script = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
    command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, str(tree), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_nothing_belongs_to_one_machine(factory: Path) -> None:
    assert not list(factory.glob("ssh/ssh_host_*"))
    assert not (factory / "nvme/hostid").exists()
    assert not (factory / "nvme/hostnqn").exists()
    assert not list(factory.glob("cockpit/ws-certs.d/*"))
    assert not list(factory.rglob("*.key"))
    assert not list(factory.glob("*-"))
    # an empty file would suppress what belongs to a first boot
    assert (factory / "machine-id").read_text() == "uninitialized\n"


def test_no_account_has_a_password(factory: Path) -> None:
    hashes = {line.split(":")[0]: line.split(":")[1] for line in (factory / "shadow").read_text().splitlines()}
    assert all(hash_.startswith(("!", "*")) for hash_ in hashes.values()), hashes
    assert "root" in (factory / "cockpit/disallowed-users").read_text().split()


def test_exactly_these_units_are_enabled(factory: Path) -> None:
    system = factory / "systemd/system"
    links = {path.name for path in system.rglob("*") if path.is_symlink() and path.readlink() != Path("/dev/null")}
    assert links == ENABLED


def test_nothing_of_nfs_is_generated_or_named_alike(tree: Path, factory: Path) -> None:
    # it fails in each boot, and our drop-in orders nfs-server after its mount
    assert (tree / "usr/lib/systemd/system-generators/nfs-server-generator").exists()
    assert (factory / "systemd/system-generators/nfs-server-generator").readlink() == Path("/dev/null")
    # what nfsd-threads runs
    assert all((tree / "usr" / tool).exists() for tool in ("sbin/nfsconf", "sbin/nfsdctl", "bin/unshare"))
    assert (factory / "hostname").read_text() == "millrace-??????\n"


def test_no_mirror_is_named(tree: Path) -> None:
    assert not (tree / "usr/share/factory/etc/apt").exists() or not list(
        (tree / "usr/share/factory/etc/apt").rglob("*.sources")
    )


def test_kernel_command_line_is_the_one_of_the_configuration(uki: Path) -> None:
    words = pe.section(uki, ".cmdline").decode().strip("\0\n ").split()
    for word in ("root=dissect", "mount.usr=dissect", "iommu=pt", "numa_balancing=disable", "console=ttyS0,115200"):
        assert word in words
    assert {"panic=30", "systemd.crash_action=reboot"} <= set(words)
    # how long a mute drive holds its array; corrected errors of memory are left to EDAC
    assert {"nvme_core.io_timeout=10", "ras=cec_disable"} <= set(words)
    assert any(word.startswith("usrhash=") for word in words)
    assert not any(word.startswith("mitigations=") for word in words)


def test_initrd_leaves_emergency_mode_by_itself(initrd_names: set[str]) -> None:
    units = "usr/lib/systemd/system"
    assert {f"{units}/emergency.target.d/10-millrace.conf", f"{units}/millrace-emergency.timer"} <= initrd_names


def test_initrd_makes_etc_that_of_the_version(initrd_names: set[str]) -> None:
    units = "usr/lib/systemd/system"
    assert {f"{units}/millrace-etc.service", f"{units}/initrd.target.wants/millrace-etc.service"} <= initrd_names
    assert "usr/sbin/chroot" in initrd_names or "usr/bin/chroot" in initrd_names


def test_list_of_etc_names_what_is_in_it_and_no_accounts(factory: Path) -> None:
    listed = read_model(factory / etc.LIST, etc.Factory)
    assert listed == etc.listed(factory)
    assert {"nftables.conf", "pam.d/common-auth", "systemd/system/rpcbind.socket"} <= listed.entries.keys()
    assert not {"passwd", "shadow", "group", "machine-id", "hostname", ".updated"} & listed.entries.keys()


def test_initrd_confines_credentials(initrd_names: set[str]) -> None:
    systemd, unit = "usr/lib/systemd", "millrace-credentials.service"
    own = {f"{systemd}/system/{unit}", f"{systemd}/system/initrd.target.wants/{unit}"}
    own |= {f"{systemd}/system-environment-generators/millrace-credentials", "usr/lib/millrace/credentials"}
    programs = ("cut", "find", "grep", "mkdir", "mount", "mv", "rm", "rmdir", "sh", "sha256sum", "sync")
    assert own | {f"usr/bin/{name}" for name in programs} <= initrd_names


def test_initrd_encrypts_and_opens_root(initrd_names: set[str]) -> None:
    units = "usr/lib/systemd/system"
    own = {"millrace-root-encryption.service", "millrace-unlock.timer", "systemd-repart.service.d/10-millrace.conf"}
    own |= {"dev-disk-by\\x2ddesignator-root.device.d/10-millrace.conf", "initrd-root-device.target.d/10-millrace.conf"}
    own |= {"systemd-cryptsetup@root.service.d/10-millrace.conf", "millrace-root-missing.service"}
    own |= {"millrace-seal-root.service", "initrd-root-fs.target.requires/millrace-seal-root.service"}
    assert {f"{units}/{name}" for name in own} | {"usr/lib/millrace/root-encryption.conf"} <= initrd_names
    assert {"usr/lib/systemd/systemd-cryptsetup", "usr/bin/install", "usr/bin/test", "usr/bin/echo"} <= initrd_names
    tools = ("bin/mountpoint", "bin/systemd-cryptenroll", "lib/systemd/systemd-pcrextend", "lib/millrace/seal-root")
    assert {f"usr/{name}" for name in tools} <= initrd_names
    assert not any(name.endswith("systemd-cryptenroll-firstboot.service") for name in initrd_names)
    assert any(Path(name).name.startswith("dm-crypt.ko") for name in initrd_names)
    assert not any(name.startswith("usr/lib/nvpcr") for name in initrd_names)


@pytest.mark.parametrize("module", ["nvme", "vmd", "megaraid_sas", "mpt3sas", "mpi3mr", "smartpqi", "ahci"])
def test_initrd_reaches_the_boot_drive_of_real_servers(initrd_names: set[str], module: str) -> None:
    assert any(Path(name).name.startswith(f"{module}.ko") for name in initrd_names)


def test_initrd_cannot_assemble_arrays(initrd_names: set[str]) -> None:
    assert "usr/bin/systemctl" in initrd_names
    assert not any(Path(name).name == "mdadm" for name in initrd_names)


@pytest.mark.parametrize(
    "pattern",
    [
        "modules/*/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko*",
        "modules/*/kernel/drivers/net/ethernet/intel/ice/ice.ko*",
        "modules/*/kernel/drivers/net/ethernet/intel/i40e/i40e.ko*",
        "modules/*/kernel/drivers/net/ethernet/intel/ixgbe/ixgbe.ko*",
        "modules/*/kernel/drivers/net/ethernet/broadcom/bnxt/bnxt_en.ko*",
        "modules/*/kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko*",
        "modules/*/kernel/net/sunrpc/xprtrdma/rpcrdma.ko*",
        "firmware/intel/ice/ddp/ice*.pkg*",
    ],
)
def test_network_ports_of_real_servers_work(tree: Path, pattern: str) -> None:
    assert list((tree / "usr/lib").glob(pattern))


def test_slots_have_the_same_size_in_the_image_and_at_first_boot() -> None:
    def sizes(directory: Path) -> dict[str, tuple[str, str]]:
        found = {}
        for path in directory.glob("*.conf"):
            file = configparser.ConfigParser(strict=False, interpolation=None)
            file.optionxform = str  # type: ignore[assignment,method-assign]
            file.read(path)
            part = file["Partition"]
            found[path.name] = (part.get("SizeMinBytes", ""), part.get("SizeMaxBytes", ""))
        return found

    image = sizes(REPO / "mkosi.repart")
    first_boot = sizes(REPO / "mkosi.extra/usr/lib/repart.d")
    assert all(size and size[0] == size[1] for size in image.values())
    for name, size in image.items():
        assert first_boot[name] == size
    assert first_boot["20-usr-verity-b.conf"] == image["10-usr-verity.conf"]
    assert first_boot["21-usr-b.conf"] == image["11-usr.conf"]


MEMBER = Domain(realm="AD.EXAMPLE.COM", workgroup="EXAMPLE", machine="MILLRACE")


@pytest.mark.parametrize(
    "text",
    [(REPO / "tests/unit/serve/share/golden/smb.conf").read_text(), smb.configuration([], [], MEMBER)],
    ids=["alone", "in a domain"],
)
def test_samba_of_the_image_accepts_the_configuration(tree: Path, text: str) -> None:
    (tree / "tmp/smb.conf").write_text(text)
    said = chroot(tree, "/usr/bin/testparm", "-s", "/tmp/smb.conf")
    assert said.returncode == 0, said.stderr
    assert "Unknown parameter" not in said.stderr
    assert "Ignoring" not in said.stderr


def test_limits_of_units_can_be_enforced(tree: Path) -> None:
    # systemd opens it at run time and goes on without: every SystemCall…= and Restrict…= would be ignored
    assert (tree / "usr/lib/x86_64-linux-gnu/libseccomp.so.2").exists()


def test_monitor_of_arrays_waits_for_md(tree: Path) -> None:
    """What mdmonitor.service is told it would otherwise ignore, and find a lost member once a minute."""
    dropin = (tree / "usr/lib/systemd/system/mdmonitor.service.d/32-events.conf").read_text()
    (name,) = re.findall(r"^Environment=(\w+)=1$", dropin, re.MULTILINE)
    assert name.encode() in (tree / "usr/sbin/mdadm").read_bytes()


def test_program_of_the_image_starts(tree: Path) -> None:
    said = chroot(tree, "/usr/bin/millrace", "--version")
    assert said.returncode == 0, said.stderr
    assert (REPO / "mkosi.version").read_text().strip() in said.stdout


def test_node_exporter_of_the_image_knows_the_options_of_its_unit(tree: Path) -> None:
    text = (tree / "usr/lib/systemd/system/millrace-node-exporter.service").read_text()
    [command] = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    variables = dict(re.findall(r'^Environment="(\w+)=(.+)"$', text, re.MULTILINE))
    words = [word for part in command.split() for word in variables.get(part.removeprefix("$"), part).split()]
    assert len(words) > 15 and not any(word.startswith("$") for word in words)
    said = chroot(tree, *words, "--version")
    assert said.returncode == 0, said.stderr


def test_table_of_exports_is_in_memory(tree: Path) -> None:
    """As the tools of the image read it; a version without the included file has its own place."""
    rendered, included = tree / "nfs.conf", tree / "usr/lib/millrace/nfs-state.conf"
    rendered.write_text((REPO / "tests/unit/serve/share/golden/nfs.conf").read_text())
    ask = ("/usr/sbin/nfsconf", "--file", "/nfs.conf", "--get", "mountd", "state-directory-path")
    text = included.read_text()
    try:
        assert chroot(tree, *ask).stdout == "/run/millrace/nfs\n"
        included.unlink()
        said = chroot(tree, *ask)
        assert (said.stdout, said.stderr) == ("", "")
    finally:
        included.write_text(text)
        rendered.unlink()


def test_program_of_the_image_changes_a_database_of_samba(tree: Path) -> None:
    program = (
        "import os, pathlib, tdb; from millrace.system.tdb import transaction\n"
        "opened = tdb.open('/some.tdb', 0, 0, os.O_RDWR | os.O_CREAT, 0o600)\n"
        "opened.store(b'key', b'1'); opened.close()\n"
        "with transaction(pathlib.Path('/some.tdb')) as database: database.put(b'key', b'two')\n"
        "with transaction(pathlib.Path('/some.tdb')) as database: print(database.get(b'key'))\n"
    )
    try:
        said = chroot(tree, "/usr/bin/python3", "-I", "-B", "-c", program)
        assert (said.stdout, said.returncode) == ("b'two'\n", 0), said.stderr
    finally:
        (tree / "some.tdb").unlink(missing_ok=True)


@pytest.mark.parametrize("tool", ["bin/gpgv", "bin/bootctl", "lib/systemd/systemd-sysupdate"])
def test_tool_of_updates_starts(tree: Path, tool: str) -> None:
    said = chroot(tree, f"/usr/{tool}", "--version")
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("unit", sorted(path.name for path in (REPO / "units").glob("*.service")))
def test_units_have_no_more_rights_than_they_use(tree: Path, unit: str) -> None:
    limit = f"--threshold={EXPOSURE[unit]}"
    verdict = chroot(tree, "/usr/bin/systemd-analyze", "security", "--offline=yes", limit, "--no-pager", unit)
    assert verdict.returncode == 0, verdict.stdout[-400:] + verdict.stderr


def test_units_are_well_formed(tree: Path) -> None:
    units = [path.name for path in (REPO / "units").glob("millrace-*")]
    said = chroot(tree, "/usr/bin/systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units)
    ours = [line for line in said.stderr.splitlines() if "millrace-" in line and "srv-pool.mount" not in line]
    assert ours == []


def test_first_boot_makes_what_packages_left_in_var(tree: Path, output: Path) -> None:
    """/var is not shipped: a service whose directory nothing makes fails at first boot."""
    left = {f"/{line}" for line in (output / "var.directories").read_text().splitlines()}
    assert "/var/lib/samba" in left
    needed = {path for path in left if not path.startswith(VAR_OF_THE_BUILD)}
    lines = [line.split() for file in tree.glob("usr/lib/tmpfiles.d/*.conf") for line in file.read_text().splitlines()]
    made = {fields[1] for fields in lines if len(fields) > 1 and not fields[0].startswith("#")}
    assert needed - made == set()


def test_checksums_are_right(output: Path) -> None:
    listed = dict(reversed(line.split()) for line in (output / "SHA256SUMS").read_text().splitlines())
    assert next(name for name in listed if name.endswith(".efi"))
    for name, digest in listed.items():
        with (output / name.lstrip("*")).open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == digest
