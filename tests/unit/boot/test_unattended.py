# SPDX-License-Identifier: Apache-2.0
"""A server without an operator: it restarts after a panic or a hang, and names itself."""

from pathlib import Path

import pytest

from host.layout import REPO
from millrace.lifecycle.encryption.root import wanted_file
from millrace.serve.config.domain_names import netbios_name
from millrace.system import paths
from tests.unit.boot.units import ADDED, OWN, read, settings, unit

SYSTEMD = Path("usr/lib/systemd")


# systemd-bless-boot-generator(8) of systemd 262 asks for the same
COUNTED = "/sys/firmware/efi/efivars/LoaderBootCountPath-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def test_panic_oops_and_crash_of_the_system_manager_end_in_a_reboot() -> None:
    words = (REPO / "mkosi.conf.d/10-kernel.conf").read_text().split()
    # sysctl.d is too late for a kernel that panics before its /usr is there
    assert {"panic=30", "systemd.crash_action=reboot"} <= set(words)
    assert "kernel.panic_on_oops = 1" in (REPO / "mkosi.extra/usr/lib/sysctl.d/60-millrace.conf").read_text()


@pytest.mark.parametrize("tree", ["mkosi.extra", "mkosi.initrd.conf/mkosi.extra"])
def test_emergency_mode_ends_in_a_reboot_unless_it_is_left(tree: str) -> None:
    added = REPO / tree / SYSTEMD / "system"
    target = settings((added / "emergency.target.d/10-millrace.conf").read_text())
    assert target["Wants"] == ["millrace-emergency.timer"]
    own = OWN if tree == "mkosi.extra" else added
    timer = settings((own / "millrace-emergency.timer").read_text())
    assert (timer["Unit"], timer["OnActiveSec"]) == (["reboot.target"], ["2min"])
    assert (timer["PartOf"], timer["DefaultDependencies"]) == (["emergency.target"], ["no"])


def test_emergency_mode_of_an_accepted_version_stays() -> None:
    [accepted] = unit("systemd-bless-boot.service")["ExecStartPost"]
    marker = accepted.removeprefix("/usr/bin/touch ")
    assert unit("millrace-emergency.timer")["ConditionPathExists"] == [COUNTED, f"!{marker}"]


def test_a_version_on_trial_does_not_wait_for_a_recovery_key_for_ever() -> None:
    added = REPO / "mkosi.initrd.conf/mkosi.extra" / SYSTEMD / "system"
    root = settings((added / "initrd-root-device.target.d/10-millrace.conf").read_text())
    assert root["Wants"] == ["millrace-unlock.timer"]
    timer = settings((added / "millrace-unlock.timer").read_text())
    assert (timer["Unit"], timer["ConditionPathExists"]) == (["reboot.target"], [COUNTED])
    # a root that was opened is not cut off
    assert timer["Conflicts"] == ["shutdown.target initrd-switch-root.target"]


def test_a_person_has_time_to_type_the_recovery_key() -> None:
    added = REPO / "mkosi.initrd.conf/mkosi.extra" / SYSTEMD / "system"
    # the device that sysroot.mount waits for (systemd-gpt-auto-generator, root=dissect): else 90 s, then emergency mode
    device = settings((added / "dev-disk-by\\x2ddesignator-root.device.d/10-millrace.conf").read_text())
    assert device["JobRunningTimeoutSec"] == ["30min"]


def test_wrong_recovery_keys_end_in_a_restart_and_not_in_silence() -> None:
    added = REPO / "mkosi.initrd.conf/mkosi.extra" / SYSTEMD / "system"
    opener = settings((added / "systemd-cryptsetup@root.service.d/10-millrace.conf").read_text())
    # which restarts after two minutes
    assert opener["OnFailure"] == ["emergency.target"]


def test_root_that_could_not_be_made_is_not_waited_for() -> None:
    added = REPO / "mkosi.initrd.conf/mkosi.extra" / SYSTEMD / "system"
    maker = settings((added / "systemd-repart.service.d/10-millrace.conf").read_text())
    [check] = maker["OnFailure"]
    assert maker["StandardError"] == ["journal+console"]
    service = settings((added / check).read_text())
    # one that exists is used, and a server that is years old is not stopped by a drive that is full
    awaited = next(added.glob("dev-disk-*.device.d")).name.removesuffix(".device.d")
    root = "/" + awaited.replace("-", "/").replace("\\x2d", "-")
    assert service["ExecCondition"] == ["udevadm settle --timeout=60", f"test ! -e {root}", f"test ! -e {root}-luks"]
    sentence, start = service["ExecStart"]
    assert sentence.startswith('echo "The boot drive has no root file system')
    assert start == "systemctl --no-block --job-mode=replace-irreversibly start emergency.target"
    assert service["DefaultDependencies"] == ["no"] and service["StandardOutput"] == ["journal+console"]


def test_root_is_made_in_the_clear_only_where_it_is_not_to_be_encrypted() -> None:
    added = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib"
    maker = settings((added / "systemd/system/systemd-repart.service.d/10-millrace.conf").read_text())
    assert maker["Requires"] == ["millrace-root-encryption.service"]
    setup = settings((added / "systemd/system/millrace-root-encryption.service").read_text())
    assert setup["ConditionSecurity"] == ["uefi-secureboot", "tpm2"]
    assert setup["ConditionPathExists"] == ["/.extra/tpm2-pcr-public-key.pem"]
    assert "systemd-repart.service" in setup["Before"]
    # systemd-repart reads drop-ins of the file that makes root
    [command] = setup["ExecStart"]
    *_, source, target = command.split()
    assert (added.parents[1] / source[1:]).is_file()
    assert (
        Path(target).parent.name == "40-root.conf.d" and (REPO / "mkosi.extra/usr/lib/repart.d/40-root.conf").is_file()
    )
    root = settings((added.parents[1] / source[1:]).read_text())
    assert (root["Encrypt"], root["TPM2PCRs"]) == (["tpm2"], ["7"])
    # the first start makes a recovery key: later nothing opens root but that
    [copied] = root["CopyFiles"]
    mark, target = copied.split(":")
    assert (REPO / "mkosi.extra" / mark[1:]).is_file() and target[1:] == str(wanted_file().relative_to(paths.ROOT))


def test_console_of_the_first_boot_is_not_asked_for_keys() -> None:
    removed = (REPO / "mkosi.initrd.conf/mkosi.conf").read_text().splitlines()
    unit_file = "systemd-cryptenroll-firstboot.service"
    places = ("/usr/lib/systemd/system", "/usr/lib/systemd/system/initrd.target.wants")
    assert {f"RemoveFiles={place}/{unit_file}" for place in places} <= set(removed)


def test_hang_ends_in_a_reset() -> None:
    assert read(SYSTEMD / "system.conf.d/10-millrace.conf")["RuntimeWatchdogSec"] == ["3min"]


@pytest.mark.parametrize(
    "name",
    [
        "nfs-mountd.service",
        "nfsdcld.service",
        "cockpit.service",
        "cockpit-wsinstance-http.service",
        "cockpit-wsinstance-https@.service",
    ],
)
def test_memory_that_runs_out_ends_a_benchmark_before_what_serves(name: str) -> None:
    [kept] = unit(name)["OOMScoreAdjust"]
    [first] = unit("millrace-bench.service")["OOMScoreAdjust"]
    assert int(kept) < 0 < int(first)


def test_host_name_is_made_from_the_machine_id_and_is_a_netbios_name() -> None:
    # hostname(5): each ? becomes a hexadecimal digit, the same in each boot
    name = (REPO / "mkosi.extra/etc/hostname").read_text().strip()
    assert name == "millrace-??????"
    assert netbios_name(name.replace("?", "0")) == "MILLRACE-000000"


def test_names_are_not_resolved_by_multicast() -> None:
    resolved = read(SYSTEMD / "resolved.conf.d/10-millrace.conf")
    assert (resolved["LLMNR"], resolved["MulticastDNS"]) == (["no"], ["no"])


def test_mountd_speaks_with_the_kernel_only() -> None:
    mountd = unit("nfs-mountd.service")
    assert mountd["ExecStart"] == ["/usr/sbin/rpc.mountd --no-nfs-version 2 --no-nfs-version 3"]
    assert (mountd["Restart"], mountd["RestartMode"], mountd["RestartSec"]) == (["on-failure"], ["direct"], ["1s"])
    assert mountd["StartLimitIntervalSec"] == ["0"]


def test_kernel_finds_exports_in_the_mount_namespace_of_the_host() -> None:
    # systemd.exec(5): each of these gives the service one of its own
    mountd = unit("nfs-mountd.service")
    for setting in ("InaccessiblePaths", "ReadWritePaths", "ReadOnlyPaths", "BindPaths", "TemporaryFileSystem"):
        assert not mountd[setting], setting
    assert mountd["PrivateTmp"] == ["no"] and not mountd["ProtectSystem"]


def test_smbd_reads_snapshots_and_changes_none() -> None:
    smbd = unit("smbd.service")
    assert smbd["ReadOnlyPaths"] == ["-/srv/pool/.millrace-snapshots"]
    # made before its start: what is not there then would not be read-only later
    assert any("millrace-share.service" in value for value in smbd["After"])


def test_service_that_outlives_the_pool_has_no_mount_in_it() -> None:
    # propagate_umount() leaves what has a mount on it: the arrays would stay in use until the service ends
    services = {path.parent.name.removesuffix(".d") for path in ADDED.glob("*.service.d/*.conf")}
    services |= {path.name for path in OWN.glob("*.service")}
    lasting = {name: unit(name) for name in services}
    held = {
        name
        for name, service in lasting.items()
        if service["BindsTo"] != ["srv-pool.mount"] and service["Type"] != ["oneshot"]
        for setting in ("InaccessiblePaths", "ReadWritePaths", "ReadOnlyPaths")
        if any("/srv/pool/" in value for value in service[setting])
    }
    assert held == set()


def test_scope_of_the_nfs_server_survives_each_setting_of_its_threads() -> None:
    server = unit("nfs-server.service")
    assert [line for line in server["ExecStartPost"] if "threads" in line] == [
        "/usr/lib/millrace/nfsd-threads -m $MILLRACE_NFSD_THREADS_MIN $MILLRACE_NFSD_THREADS_MAX"
    ]


def minutes(name: str, setting: str) -> int:
    [text] = unit(name)[setting]
    return int(text.removesuffix("min"))


def test_check_of_a_new_version_that_hangs_does_not_fail_before_its_boot_is_ended() -> None:
    # a job that failed has no time limit any more, and nothing would reboot
    assert unit("boot-complete.target")["JobTimeoutAction"] == ["reboot"]
    assert minutes("millrace-boot-check.service", "TimeoutStartSec") > minutes("boot-complete.target", "JobTimeoutSec")


def test_sign_in_that_waits_for_an_answer_does_not_end_with_the_web_server() -> None:
    # Cockpit's default are 90 s; its own limit for an answer is in cockpit.conf
    [line] = unit("cockpit-wsinstance-https@.service")["Environment"]
    name, _, seconds = line.partition("=")
    assert (name, int(seconds) >= 3600) == ("COCKPIT_WS_PROCESS_IDLE", True)
