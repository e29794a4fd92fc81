# SPDX-License-Identifier: Apache-2.0
"""Units of Millrace: named by nouns, documented, confined by shared drop-ins that no unit file contradicts."""

import re

import pytest

from host.layout import REPO
from millrace.cli.worker.resident import ALIVE_SECONDS, OWN_SECONDS
from millrace.observe.health import current, heartbeat_daemon
from millrace.observe.metrics import serve
from millrace.system import paths
from tests.fakes import node_exporter
from tests.unit.boot.units import ADDED, OWN, SHARED, drop_ins, instances, names, settings, unit

UNITS = sorted(path.name for path in OWN.glob("millrace-*.*") if path.is_file())
SERVICES = [name for name in UNITS if name.endswith(".service")]
SANDBOX = settings((SHARED / "10-sandbox.conf").read_text())
CONFINED = settings((SHARED / "15-services.conf").read_text())
# the exceptions; raising the number of them needs a reason beside the settings
EXCEPTIONS = {
    "millrace-admin.service": {"ProtectSystem": "yes", "ProtectHome": "no", "RestrictSUIDSGID": "no"},
    "millrace-users.service": {"ProtectSystem": "yes", "ProtectHome": "no", "RestrictSUIDSGID": "no"},
    "millrace-adopt.service": {
        "ProtectSystem": "yes",
        "ProtectHome": "no",
        "ProtectHostname": "no",
        "RestrictNamespaces": "mnt",
    },
    "millrace-rescue.service": {"ProtectSystem": "yes", "ProtectHome": "no"},
    "millrace-keep.service": {"ProtectHome": "read-only"},
    "millrace-heartbeat.service": {"ProtectSystem": "full"},
    "millrace-copy.service": {"RestrictNamespaces": "mnt", "RestrictSUIDSGID": "no"},
    "millrace-reflink@.service": {"RestrictSUIDSGID": "no"},
    "millrace-reflink@replica.service": {"RestrictNamespaces": "mnt", "RestrictSUIDSGID": "no"},
    "millrace-permissions.service": {"RestrictSUIDSGID": "no"},
    "millrace-share.service": {"RestrictSUIDSGID": "no"},
    "millrace-find.service": {"RestrictNamespaces": "mnt"},
    "millrace-tune.service": {"ProtectHostname": "no", "RestrictNamespaces": "uts"},
    "millrace-tuner.service": {"ProtectHostname": "no", "RestrictNamespaces": "uts"},
    "millrace-cleanup@measurements.service": {"ProtectHostname": "no", "RestrictNamespaces": "uts"},
    "millrace-failures.service": {"ProtectKernelLogs": "no"},
    "millrace-unreadable.service": {"ProtectKernelLogs": "no"},
}
LINKED = sorted(link.parent.name.removesuffix(".d") for link in ADDED.glob("*/*") if link.name == "30-sandbox.conf")

PACKAGE = "/usr/lib/python3/dist-packages/millrace"


@pytest.mark.parametrize("name", UNITS)
def test_unit_is_described_by_a_noun_and_leads_to_the_manual(name: str) -> None:
    found = unit(name)
    [description] = found["Description"]
    # systemd.unit(5): a label in the Unicode title case, not a sentence; the journal adds the verb
    assert re.fullmatch(r"Millrace( ([A-Z]\w*|of|a|an|and|or|for|After|Before))+", description)
    assert found["Documentation"] == ["man:millrace(8)"]


@pytest.mark.parametrize("name", SERVICES)
def test_service_repeats_nothing_of_the_shared_sandbox(name: str) -> None:
    """A drop-in wins over the unit: what a unit said of the same setting would be lost."""
    assert (set(SANDBOX) | set(CONFINED)) & set(settings((OWN / name).read_text())) == set()


@pytest.mark.parametrize("name", sorted({*SERVICES, *EXCEPTIONS}))
def test_service_is_confined_but_for_the_exceptions_that_are_listed(name: str) -> None:
    found = unit(name)
    usual = {key: values[-1] for key, values in [*SANDBOX.items(), *CONFINED.items()]}
    assert {key: found[key][-1] for key in usual if found[key][-1] != usual[key]} == EXCEPTIONS.get(name, {})


def test_exception_of_a_service_is_read_after_what_is_shared() -> None:
    """systemd.unit(5): drop-ins are read in the order of their file names, whichever directory they are in."""
    for name, exceptions in EXCEPTIONS.items():
        file = OWN / f"{name}.d/31-needs.conf"
        assert file.name > max(path.name for path in SHARED.glob("*.conf"))
        assert set(settings(file.read_text())) == set(exceptions)
    shared = set(SANDBOX) | set(CONFINED)
    others = [file for file in OWN.glob("*.d/*.conf") if file.parent != SHARED and file.name != "31-needs.conf"]
    assert [file for file in others if shared & set(settings(file.read_text()))] == []


@pytest.mark.parametrize("name", LINKED)
def test_daemon_has_the_shared_sandbox(name: str) -> None:
    link = ADDED / f"{name}.d/30-sandbox.conf"
    # where units/ ends up in the image, see ExtraTrees= of mkosi.conf
    assert str(link.readlink()) == "../millrace-.service.d/10-sandbox.conf"
    assert unit(name)["NoNewPrivileges"] == SANDBOX["NoNewPrivileges"] == ["yes"]


def test_unit_does_not_wait_by_sleeping() -> None:
    for name in SERVICES:
        found = unit(name)
        commands = [command for key in found if key.startswith("Exec") for command in found[key]]
        assert commands
        assert [command for command in commands if re.search(r"/sleep |/sh ", command)] == []


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith((".path", ".socket"))])
def test_watch_that_follows_a_service_is_in_no_cycle_with_the_basic_system(name: str) -> None:
    """systemd.path(5), Default Dependencies: basic.target waits for it, and each service for that."""
    found = unit(name)
    follows = [one for one in names(found, "After") if one.endswith((".service", ".target"))]
    assert not follows or found["DefaultDependencies"] == ["no"]
    # as it would have been stopped by default
    assert not follows or (found["Conflicts"], found["Before"]) == (["shutdown.target"], ["shutdown.target"])


def test_many_events_are_one_run_and_the_next_event_begins_another() -> None:
    timer = unit("millrace-event@.timer")
    assert (timer["OnActiveSec"], timer["RemainAfterElapse"]) == (["2s"], ["no"])
    # without it systemd may wait for a minute
    assert timer["AccuracySec"] == ["100ms"]
    # neither is refused when many come in a short time
    assert timer["StartLimitIntervalSec"] == unit("millrace-event@.service")["StartLimitIntervalSec"] == ["0"]


def test_member_that_appears_is_re_added_only_after_the_arrays_were_assembled() -> None:
    rule = (ADDED.parents[1] / "udev/rules.d/90-millrace.rules").read_text()
    assert 'ENV{SYSTEMD_WANTS}+="millrace-event@millrace-readd.service"' in rule
    found = unit("millrace-readd.service")
    assert found["ConditionPathExists"] == [f"/{paths.assembled_file().relative_to(paths.ROOT)}"]
    # never ended halfway, and never refused when a shelf is back
    assert (found["TimeoutStartSec"], found["StartLimitIntervalSec"]) == (["infinity"], ["0"])


def test_external_device_that_comes_late_starts_a_pool_that_waits_for_it() -> None:
    rule = (ADDED.parents[1] / "udev/rules.d/90-millrace.rules").read_text()
    assert 'ENV{ID_FS_TYPE}=="xfs|xfs_external_log"' in rule
    assert 'ENV{SYSTEMD_WANTS}+="millrace-event@millrace-assemble.service"' in rule
    found = unit("millrace-assemble.service")
    # nothing is started on a server without a pool, and a start of one that runs changes nothing
    assert found["ConditionPathExists"][0] == f"/{paths.pool_file().relative_to(paths.ROOT)}"
    assert found["RemainAfterExit"] == ["yes"]


def test_drive_that_appears_is_examined_only_after_those_of_the_boot_and_for_a_pool() -> None:
    rule = (ADDED.parents[1] / "udev/rules.d/90-millrace.rules").read_text()
    assert 'ENV{SYSTEMD_WANTS}+="millrace-event@millrace-replace@event.service"' in rule
    found = unit("millrace-replace@event.service")
    # the job of a oneshot lasts until it ends: millrace-again@.service waits for that
    assert (found["Type"], found["ExecStart"]) == (["oneshot"], ["/usr/bin/millrace drive inserted"])
    needed = (paths.inventory_file(), paths.pool_file())
    assert found["ConditionPathExists"] == [f"/{one.relative_to(paths.ROOT)}" for one in needed]
    assert (found["TimeoutStartSec"], found["StartLimitIntervalSec"]) == (["infinity"], ["0"])


def test_drive_that_was_put_in_before_the_boot_is_looked_for_once_and_the_boot_does_not_wait() -> None:
    service = unit("millrace-replace@boot.service")
    link = OWN / "multi-user.target.wants/millrace-replace@boot.service"
    assert link.resolve() == OWN / "millrace-replace@.service"
    assert service["ExecStart"] == ["/usr/bin/millrace drive inserted --boot"]
    assert {"millrace-inventory.service", "millrace-assemble.service"} <= set(service["After"][0].split())
    needed = (paths.inventory_file(), paths.pool_file())
    assert service["ConditionPathExists"] == [f"/{file.relative_to(paths.ROOT)}" for file in needed]
    # the job of a oneshot lasts until it ends, and the boot with it
    assert service["Type"] == ["exec"] and "Before" not in service
    same = ("ProtectSystem", "ReadWritePaths", "SystemCallFilter", "CapabilityBoundingSet", "RestrictAddressFamilies")
    assert [service[key] for key in same] == [unit("millrace-replace@event.service")[key] for key in same]


@pytest.mark.parametrize(
    ("resident", "asking", "path", "words"),
    [
        ("millrace-checker", "millrace-health", "/run/millrace/checker.socket", "health --write"),
        ("millrace-metrics-collector", "millrace-metrics-collect", "/run/millrace/collector.socket", "metrics write"),
    ],
)
def test_verb_has_the_same_sandbox_in_the_process_that_stays_and_without_it(
    resident: str, asking: str, path: str, words: str
) -> None:
    """`millrace.cli.worker.ask` runs the verb itself where nobody listens."""
    stays, asks = unit(f"{resident}.service"), unit(f"{asking}.service")

    def sandbox(found: dict[str, list[str]]) -> dict[str, list[str]]:
        start = list(found).index("ReadWritePaths")
        assert not {"ExecStart", "Type", "TimeoutStopSec"} & set(list(found)[start:])
        same = ("TimeoutStopSec", "StartLimitIntervalSec", "CPUWeight")
        return {name: found[name] for name in [*list(found)[start:], *same] if name in found}

    assert {*CONFINED, "CapabilityBoundingSet", "SystemCallFilter"} <= set(sandbox(stays))
    assert sandbox(stays) == sandbox(asks)
    assert stays["Type"] == ["notify"]
    own = f"--every ${{EVERY}} --unit {asking}.service"
    assert stays["ExecStart"] == [f"/usr/bin/millrace answer --socket {path} {own} -- {words}"]
    assert stays["Environment"] == ["EVERY=30"]
    assert asks["ExecStart"] == [f"/usr/bin/python3 -I -S {PACKAGE}/cli/worker/ask.py {path} {words}"]
    # wanted, not required: without it the verb runs all the same
    assert f"{resident}.service" in asks["Wants"][0].split()
    assert f"{resident}.service" in asks["After"][0].split()


def test_heartbeat_is_told_where_its_file_is() -> None:
    """It imports nothing that knows."""
    program, *words = unit("millrace-heartbeat.service")["ExecStart"][0].split()[-5:]
    files = [paths.heartbeat_file(), paths.heartbeat_requests()]
    assert words == ["/srv/pool", paths.POOL_OWN, *(f"/{one.relative_to(paths.ROOT)}" for one in files)]
    assert program == f"{PACKAGE}/observe/health/heartbeat_daemon.py" and heartbeat_daemon.__file__.endswith(
        "/millrace/observe/health/heartbeat_daemon.py"
    )


@pytest.mark.parametrize(
    ("resident", "asking", "stale"),
    [
        ("millrace-checker", "millrace-health", current.STALE_SECONDS),
        ("millrace-metrics-collector", "millrace-metrics-collect", serve.STALE_SECONDS),
    ],
)
def test_verb_that_hangs_is_reported_before_its_last_results_are_old(resident: str, asking: str, stale: float) -> None:
    """It hangs by itself, then in its unit, which fails."""
    stays, asks = unit(f"{resident}.service"), unit(f"{asking}.service")
    (limit,) = asks["TimeoutStartSec"]
    # what systemd does in between, on a server under load
    between = 5
    assert 30 + OWN_SECONDS + int(limit.removesuffix("s")) + between <= stale
    # and one that ends, or that hangs itself, is replaced
    assert stays["OnFailure"] == [f"{asking}.service"] and stays["Restart"] == ["always"]
    assert int(stays["WatchdogSec"][0].removesuffix("s")) > int(limit.removesuffix("s")) + ALIVE_SECONDS


@pytest.mark.parametrize("resident", ["millrace-checker", "millrace-metrics-collector"])
def test_process_that_stays_starts_after_the_mount_that_its_proc_will_not_see(resident: str) -> None:
    """systemd mounts a proc of its own into the sandbox: nothing is mounted into that later."""
    found = unit(f"{resident}.service")
    assert "proc-fs-nfsd.mount" in found["Wants"][0].split()
    assert "proc-fs-nfsd.mount" in found["After"][0].split()


def test_history_is_kept_whether_metrics_are_served_or_not() -> None:
    for name in ("millrace-metrics-collector.service", "millrace-metrics-collect.service"):
        assert not {"PartOf", "ConditionPathExists"} & set(unit(name))
    assert (OWN / "multi-user.target.wants/millrace-metrics-collector.service").is_symlink()
    # a failure there keeps no state from being kept
    assert unit("millrace-keep.service")["ExecStart"] == [
        "-/usr/lib/millrace/store-history",
        "/usr/bin/millrace keep run",
    ]


def test_health_check_writes_less_than_a_collection() -> None:
    rights = unit("millrace-checker.service")["ReadWritePaths"]
    # what a collection writes besides is not writable for a check of health
    assert rights == ["/run"]


def test_node_exporter_listens_on_no_port_and_reads_the_textfile_that_is_collected() -> None:
    service, listens = unit("millrace-node-exporter.service"), unit("millrace-node-exporter.socket")
    assert listens["ListenStream"] == [f"/{paths.node_exporter_socket().relative_to(paths.ROOT)}"]
    given = dict(assignment.strip('"').split("=", 1) for assignment in service["Environment"])
    [command] = service["ExecStart"]
    assert "--web.systemd-socket" in command and "listen-address" not in command
    directory = paths.metrics_file().parent.relative_to(paths.ROOT)
    assert f"--collector.textfile.directory=/{directory}" in given["OPTIONS"].split()
    made = (ADDED.parents[1] / "tmpfiles.d/millrace.conf").read_text()
    assert re.search(f"^d /{directory} +0755 root root -$", made, re.MULTILINE)
    # none but these: one that asks a drive or touches the pool would hold every scrape with it
    assert "--collector.disable-defaults" in command
    collectors = {option.removeprefix("--collector.") for option in given["COLLECTORS"].split()}
    assert not collectors & {"filesystem", "hwmon", "mountstats", "nvme", "systemd"}
    assert collectors == set(re.findall(r'node_scrape_collector_success\{collector="(\w+)"', node_exporter.REPLY))
    # only the endpoint speaks with it, which is in front with its token and TLS
    assert service["RestrictAddressFamilies"] == ["AF_UNIX"]
    assert "AF_UNIX" in unit("millrace-metrics.service")["RestrictAddressFamilies"][0].split()
    assert (listens["SocketMode"], listens["SocketGroup"]) == (["0660"], ["millrace-scrape"])
    assert unit("millrace-metrics.service")["SupplementaryGroups"] == ["millrace-scrape"]
    groups = (ADDED.parents[1] / "sysusers.d/millrace.conf").read_text()
    # without members: the endpoint has it from its unit
    assert re.search("^g millrace-scrape -$", groups, re.MULTILINE)
    assert "millrace-scrape" not in "".join(re.findall("^m .*$", groups, re.MULTILINE))
    assert "millrace-node-exporter.socket" in unit("millrace-metrics.service")["Wants"][0].split()
    # /proc/net and /sys/class/net are those of a network namespace
    assert "PrivateNetwork" not in service and "ProcSubset" not in service


def test_node_exporter_of_debian_does_not_listen_beside_ours() -> None:
    masked = REPO / "mkosi.extra/etc/systemd/system/prometheus-node-exporter.service"
    assert str(masked.readlink()) == "/dev/null"


def test_unit_that_records_members_writes_what_counts_in_this_boot_and_in_the_next_one() -> None:
    found = unit("millrace-members.service")
    assert found["ExecStart"] == ["/usr/bin/millrace pool record"]
    files = (paths.in_sync_now_file(), paths.in_sync_file(), paths.pool_lock(), paths.unclean_file())
    needed = {f"/{one.parent.relative_to(paths.ROOT)}" for one in files}
    assert found["ProtectSystem"] == ["strict"] and set(found["ReadWritePaths"][0].split()) == needed


def test_debian_trims_all_but_the_pool_and_the_pool_is_trimmed_after_checks() -> None:
    [command] = unit("fstrim.service")["ExecStart"]
    # -t, --types: the pool is the only XFS
    assert command.startswith("/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --types noxfs,ext3 ")
    checks, trims = (unit(f"millrace-upkeep@{name}.timer")["OnCalendar"] for name in ("scrub", "trim"))
    assert (checks, trims) == (["*:0/15"], ["*:5/15"])
    assert unit("millrace-trim.service")["CapabilityBoundingSet"] == ["CAP_SYS_ADMIN"]


def test_clone_may_give_files_what_the_original_has() -> None:
    found = unit("millrace-reflink@clone.service")
    # capabilities(7): owner, mode of a file of others, set-group-ID, security.capability, other attributes of root
    needed = {"CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID", "CAP_SETFCAP", "CAP_SYS_ADMIN"}
    kept = " ".join(found["CapabilityBoundingSet"]).split()
    assert needed <= set(kept)
    assert found["RestrictSUIDSGID"] == ["no"]
    # as root of this server, to whom the loopback is exported while a share is verified
    assert "CAP_NET_BIND_SERVICE" in kept


def test_snapshot_neither_mounts_nor_changes_settings() -> None:
    found, clone = unit("millrace-reflink@snapshot.service"), unit("millrace-reflink@clone.service")
    written, kept = (" ".join(found[key]).split() for key in ("ReadWritePaths", "CapabilityBoundingSet"))
    # a rollback has smbd close a share, by Samba's sockets, and sets limits
    assert {"/run", "/srv/pool", "/var/lib/samba", "/var/lib/millrace"} <= set(written) and "/etc" not in written
    assert found["SystemCallFilter"] == ["@system-service quotactl quotactl_fd"]
    assert "@mount" in clone["SystemCallFilter"] and "/etc" in " ".join(clone["ReadWritePaths"]).split()
    # it gives files what the original has, too
    assert {"CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID", "CAP_SETFCAP", "CAP_SYS_ADMIN", "CAP_KILL"} <= set(kept)
    assert "CAP_NET_BIND_SERVICE" not in kept and found["RestrictSUIDSGID"] == ["no"]


def test_directories_of_root_on_the_pool_are_there_before_smbd_hides_them() -> None:
    """systemd hides a path when it starts the service, and leaves out one that is missing (systemd.exec(5))."""
    hidden = {path.removeprefix("-") for path in unit("smbd.service")["InaccessiblePaths"][0].split()}
    lines = (REPO / "mkosi.extra/usr/lib/millrace/pool-directories.conf").read_text().splitlines()
    # a directory that is there keeps what it has: who wrote adopted drives is not trusted with it
    made = {line.split()[1] for line in lines if re.fullmatch(r"d /srv/pool/\S+ +:0700 :root :root -", line)}
    assert made == {f"/srv/pool/{name}" for name in (paths.POOL_OWN, paths.SNAPSHOTS, paths.VOLUMES)}
    assert {path for path in hidden if path.startswith("/srv/pool/")} <= made
    # not in tmpfiles.d, which is applied while the pool is not mounted yet
    assert not list((ADDED.parents[1] / "tmpfiles.d").glob("*pool*"))
    # a pool that is full, or has a link there, is served all the same
    command = "-/usr/bin/systemd-tmpfiles --create /usr/lib/millrace/pool-directories.conf"
    assert command in unit("millrace-share.service")["ExecStartPre"]
    assert {"millrace-share.service"} <= names(unit("smbd.service"), "Requires") & names(unit("smbd.service"), "After")


@pytest.mark.parametrize(
    "job",
    [
        *("bench", "copy", "erase", "permissions", "pool-change@", "reflink@", "rescue", "reset", "scrub-files"),
        *("tuner", "update-download"),
    ],
)
def test_job_of_an_administrator_that_ends_badly_leaves_no_failed_unit(job: str) -> None:
    # its record says why; a failed unit would be an alert until the next boot
    assert unit(f"millrace-{job}.service")["CollectMode"] == ["inactive-or-failed"]


def test_files_of_a_clone_that_ended_hold_no_stop_of_the_pool() -> None:
    found, sweep = unit("millrace-reflink@clone.service"), unit("millrace-cleanup@clone.service")
    # the last command removes nothing, and what does is ended by a stop like any process
    assert found["ExecStopPost"] == ["/usr/bin/millrace share clone-end"] and found["TimeoutStopSec"] == ["5min"]
    assert found["OnSuccess"] == found["OnFailure"] == ["millrace-cleanup@clone.service"]
    # a stop of the pool is not given up for it (systemd.unit(5): "replace" is the default of OnFailure)
    assert found["OnSuccessJobMode"] == found["OnFailureJobMode"] == ["fail"]
    assert not {"KillMode", "KillSignal", "ExecStopPost", "TimeoutStopSec"} & set(sweep)


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("bench", "bench sweep"),
        ("tuner", "tuner restore"),
        ("copy", "share copy-cleanup"),
        ("pool-change@revive", "pool revive-cleanup"),
        ("scrub-files", "pool scrub files-cleanup"),
        ("reflink@", "share %i-end"),
        ("permissions", "share permissions-cleanup"),
        ("update", "update install-cleanup"),
        ("update-download", "update download-cleanup"),
    ],
)
def test_job_is_cleaned_up_at_the_end_of_its_unit_where_it_writes_its_record(name: str, verb: str) -> None:
    found = unit(f"millrace-{name}.service")
    assert found["ExecStopPost"] == [f"/usr/bin/millrace {verb}"]
    written = found["ReadWritePaths"][0].split()
    assert "/var/lib/millrace" in written and {"/run", "/run/millrace"} & set(written)


@pytest.mark.parametrize("name", ["millrace-reflink@clone.service", "millrace-cleanup@clone.service"])
def test_clone_may_read_the_arrays_of_the_pool_that_it_verifies(name: str) -> None:
    found = unit(name)
    assert (found["DevicePolicy"], found["DeviceAllow"]) == (["closed"], ["block-md r"])


def test_drop_ins_of_an_instance_are_those_of_the_prefix_the_template_and_its_own() -> None:
    found = [path.name for path in drop_ins("millrace-install@ttyS0.service")]
    assert found == ["10-device.conf", *sorted(path.name for path in SHARED.glob("*.conf"))]
    assert unit("millrace-install@ttyS0.service")["BindsTo"] == ["dev-ttyS0.device"]
    assert unit("millrace-install@ttyS0.service")["ExecStart"] == unit("millrace-install@.service")["ExecStart"]


def test_last_value_counts_and_an_empty_one_resets_a_list() -> None:
    text = "ProtectHome=yes\nAfter=a\nAfter=b\nExecStart=/one\nRestrictNamespaces=yes\n"
    found = settings(text + "ProtectHome=no\nExecStart=\nExecStart=/two\nRestrictNamespaces=uts\n")
    assert (found["ProtectHome"], found["After"], found["ExecStart"]) == (["no"], ["a", "b"], ["/two"])
    assert found["RestrictNamespaces"] == ["yes", "uts"]
    assert settings("RestrictNamespaces=uts\nRestrictNamespaces=yes\n")["RestrictNamespaces"] == ["yes"]


def test_path_unit_watches_at_most_one_path_that_may_be_missing() -> None:
    """systemd watches all of them anew when a name appears beside a missing one, and loses what it has not read."""
    # networkd makes it before any unit of ours, and every server has a name
    present = {"/run/systemd/netif/links", "/etc/hostname"}
    found = {name: set(unit(name)["PathChanged"]) for name in instances() if name.endswith(".path")}
    assert len(found) > 20
    assert {name: paths for name, paths in found.items() if len(paths - present) > 1} == {}
