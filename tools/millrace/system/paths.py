# SPDX-License-Identifier: Apache-2.0
"""Where the appliance keeps what it knows. `ROOT` is replaced in tests."""

from pathlib import Path

ROOT = Path("/")

VERIFY_PREFIX = "verify-"
"""How names in /run/millrace begin of what exists for the seconds of a look: mount points, credentials."""

POOL_OWN = ".millrace"
"""The directory of root alone at the top of the pool: what Millrace keeps there is in no share."""

POOL_HISTORY = f"{POOL_OWN}/history/history.db"
"""The history of the last year, on the pool. It has names of shares and addresses of clients."""


CLONES = ".millrace-clone"
"""The directory of root alone at the top of the pool in which clones are until they are complete."""


SNAPSHOTS = ".millrace-snapshots"
"""The directory of root alone at the top of the pool in which snapshots of shares are: no share, no export."""


VOLUMES = ".millrace-volumes"
"""The directory of root alone at the top of the pool in which volumes are: no share, no export."""


CHILD_QUOTA = "run/millrace/millrace-child-quota.json"
"""The shares whose directories have a quota each, rendered for millrace-child-quota.service."""


SMB_DIRECT = "run/millrace/millrace-smb-direct.conf"
"""The configuration of the kernel's SMB server, rendered for millrace-smb-direct.service; gone without such a share."""


def smb_direct_users() -> Path:
    """The password hashes that the kernel's SMB server knows, in memory only."""
    return run_dir() / "millrace-smb-direct.users"


def run_dir() -> Path:
    """Facts of this boot: inventory.json, plan.json, health.json."""
    return ROOT / "run/millrace"


def state_dir() -> Path:
    """What outlives a boot and an update: approval, transaction, pool.json, history/."""
    return ROOT / "var/lib/millrace"


def inventory_file() -> Path:
    """The inventory of this boot."""
    return run_dir() / "inventory.json"


def plan_file() -> Path:
    """The proposal of this boot."""
    return run_dir() / "plan.json"


def settings_file() -> Path:
    """The runtime settings of this boot, as `millrace tune` computed them last."""
    return run_dir() / "settings.json"


def last_settings_file() -> Path:
    """The runtime settings that were computed last, in this boot or an earlier one."""
    return state_dir() / "settings.json"


def health_file() -> Path:
    """The findings of the last health check."""
    return run_dir() / "health.json"


def smart_file() -> Path:
    """SMART of every drive, as millrace-smart.service read it last."""
    return run_dir() / "smart.json"


def media_errors_file() -> Path:
    """The media errors of every drive that this server has seen, by serial."""
    return state_dir() / "media-errors.json"


def rises_file() -> Path:
    """On which days the error counters of the hardware rose."""
    return state_dir() / "rises.json"


def latency_file() -> Path:
    """How fast the drives of the pool answered at the last health checks."""
    return run_dir() / "latency.json"


def clock_file() -> Path:
    """How the clock went since the start of this server, as the last health checks saw it."""
    return run_dir() / "clock.json"


def known_drives_file() -> Path:
    """What every drive was that this server has seen, by serial: its bay, its size, how it wore."""
    return state_dir() / "drives.json"


def heartbeat_file() -> Path:
    """What the last read and fsync on the pool ended with."""
    return run_dir() / "heartbeat.json"


def heartbeat_requests() -> Path:
    """The FIFO in which millrace-heartbeat.service is asked for one more."""
    return run_dir() / "heartbeat.requests"


def smbd_idle_file() -> Path:
    """What smbd had counted when nobody was connected, for root alone."""
    return run_dir() / "smbd-idle.json"


def file_sids_file() -> Path:
    """The SIDs by which files of homes named local users when root looked last."""
    return run_dir() / "file-sids.json"


def verified_file() -> Path:
    """The last verification of each share."""
    return state_dir() / "verified.json"


def usage_file() -> Path:
    """What the shares held when root looked last."""
    return run_dir() / "usage.json"


def tuner_journal_file() -> Path:
    """What a run of the tuner has changed, until all of it is restored: its write-ahead journal."""
    return state_dir() / "tuner/journal.json"


def pool_file() -> Path:
    """The pool that exists; written last by provisioning."""
    return state_dir() / "pool.json"


def erase_file() -> Path:
    """The erasures of drives and how they ended."""
    return state_dir() / "erase.json"


def drive_tests_file() -> Path:
    """The tests of drives and how they ended."""
    return state_dir() / "drive-tests.json"


def clone_file() -> Path:
    """The last clone of a share and how it ended."""
    return state_dir() / "clone.json"


def volumes_file() -> Path:
    """The volumes as millrace-volumes.service, or the last change of them, left them; without secrets."""
    return run_dir() / "volumes.json"


def volume_port_file() -> Path:
    """The ports of volumes and who may reach them, included by /etc/nftables.conf."""
    return run_dir() / "nftables/volumes.nft"


def copy_sources_file() -> Path:
    """The servers that this one may connect to over NFS, included by /etc/nftables.conf."""
    return run_dir() / "nftables/copy.nft"


def replica_sources_file() -> Path:
    """The sources of replicas, which this server connects to over NFS, included by /etc/nftables.conf."""
    return run_dir() / "nftables/replicas.nft"


def replicas_file() -> Path:
    """How the last run of each replica ended, and its last drill."""
    return state_dir() / "replicas.json"


def child_quota_file() -> Path:
    """How many directories of each share have a quota of their own, and which could not get one."""
    return run_dir() / "child-quota-state.json"


def in_sync_file() -> Path:
    """The members that were in sync when they were last recorded, for each array."""
    return state_dir() / "in-sync.json"


def in_sync_now_file() -> Path:
    """The same for this boot, also where the boot drive does not take it."""
    return run_dir() / "in-sync.json"


def unclean_file() -> Path:
    """Arrays that were started unclean while degraded, until an administrator acknowledges it."""
    return state_dir() / "unclean.json"


def failures_file() -> Path:
    """In which order members of arrays failed, a line each."""
    return state_dir() / "failures.jsonl"


def failures_lock() -> Path:
    """Held while that is shortened, or while another process adds to it."""
    return state_dir() / "failures.lock"


def revivals_file() -> Path:
    """When broken arrays were started again by themselves, a line each."""
    return state_dir() / "revivals.jsonl"


def unrecorded_revivals_file() -> Path:
    """The same for this boot, where the boot drive did not take the last of them."""
    return run_dir() / "revivals.jsonl"


def stopped_file() -> Path:
    """The arrays of the pool that did not start in this boot or are broken, with what is there of them."""
    return run_dir() / "stopped.json"


def suspects_file() -> Path:
    """The names of files that were written shortly before such a power cut, a line each; for root only."""
    return state_dir() / "unclean-files.txt"


def returns_file() -> Path:
    """The members that came back while their array ran."""
    return state_dir() / "returns.json"


def unrecorded_returns_file() -> Path:
    """The same for this boot, where the boot drive did not take the last of them."""
    return run_dir() / "returns.json"


def apart_file() -> Path:
    """The members that ran without their array and are kept apart."""
    return state_dir() / "apart.json"


def apart_now_file() -> Path:
    """The same for this boot, also where the boot drive does not take it."""
    return run_dir() / "apart.json"


def removed_file() -> Path:
    """The drives that were taken out of the pool on purpose."""
    return state_dir() / "removed.json"


def assembled_file() -> Path:
    """Made when the arrays of the pool have been assembled in this boot."""
    return run_dir() / "assembled"


def provision_lock_file() -> Path:
    """The lock of everything that writes to block devices."""
    return run_dir() / "provision.lock"


def scrub_file() -> Path:
    """What the last check of each array found, and the one that is under way."""
    return state_dir() / "scrub.json"


def replaced_blocks() -> Path:
    """Blocks that a repair of an array has replaced, as the drive had returned them; only root reads them."""
    return state_dir() / "scrub-replaced"


def trim_file() -> Path:
    """What the last trim of the file system freed, and the one that is under way."""
    return state_dir() / "trim.json"


def adoption_file() -> Path:
    """An adoption under way: its write-ahead journal."""
    return state_dir() / "adoption.json"


def connections_file() -> Path:
    """The subsystems of NVMe over Fabrics that are connected at each boot."""
    return state_dir() / "backend/connections.json"


def connection_secrets_file() -> Path:
    """The secrets of these connections; root alone reads them."""
    return state_dir() / "backend/secrets.json"


def keep_dir() -> Path:
    """How the state of this server was kept last, and the key that seals its secrets."""
    return state_dir() / "keep"


def keep_file() -> Path:
    """Which generation of the kept state is the newest, when it was verified, and what was wrong."""
    return keep_dir() / "status.json"


def keep_key_file() -> Path:
    """The key of the secrets in the kept state, made from a passphrase; root alone reads it."""
    return keep_dir() / "key.json"


def keep_writer_file() -> Path:
    """The identity of this boot drive as a writer of the kept state, and the last generation that it wrote."""
    return keep_dir() / "writer.json"


def kept_elsewhere_file() -> Path:
    """The newest state on the pool, where another boot drive wrote it and nobody decided yet which one counts."""
    return run_dir() / "kept-elsewhere.json"


def by_version_dir() -> Path:
    """The documents of the version before this one, as it left them; root alone reads them."""
    return state_dir() / "by-version"


def priority_file() -> Path:
    """Whether clients or a rebuild go first, as an administrator decided."""
    return state_dir() / "priority.json"


def approved_plan_file() -> Path:
    """The plan that the pool was made from: history, which nothing needs in order to serve."""
    return state_dir() / "plan.json"


def approval_file() -> Path:
    """The approval of a plan, until its pool exists."""
    return state_dir() / "approval.json"


def transaction_file() -> Path:
    """Provisioning under way: the write-ahead journal."""
    return state_dir() / "transaction.json"


def drive_change_file() -> Path:
    """A change of drives under way: its write-ahead journal."""
    return state_dir() / "drive-change.json"


def drive_changed_file() -> Path:
    """The last change of drives that ended."""
    return state_dir() / "drive-changed.json"


def destruction_file() -> Path:
    """A destruction of the pool under way: its write-ahead journal."""
    return state_dir() / "pool-destruction.json"


def destroyed_file() -> Path:
    """The last pool of this server that was destroyed, and the drives that were not wiped."""
    return state_dir() / "pool-destroyed.json"


def rescue_file() -> Path:
    """A rescue of the pool under way: its write-ahead journal."""
    return state_dir() / "rescue.json"


def reset_file() -> Path:
    """A factory reset under way: its journal, gone with the file system of the boot drive."""
    return state_dir() / "reset.json"


def last_reset_file() -> Path:
    """The last factory reset of this server: who began it, and when. It is kept on the pool."""
    return state_dir() / "reset-last.json"


def reset_failed_file() -> Path:
    """Why the last factory reset of this boot did not begin."""
    return run_dir() / "reset-failed.json"


def reset_begun_file() -> Path:
    """There where the reset under way was begun in this boot."""
    return run_dir() / "reset-begun"


def rescued_file() -> Path:
    """The last rescue of the pool that ended."""
    return state_dir() / "rescued.json"


def rescue_step_file() -> Path:
    """The step of a rescue that was confirmed last: what millrace-rescue.service does, how far it is, how it ended."""
    return run_dir() / "rescue-step.json"


def unrepaired_file() -> Path:
    """There while the pool has a new log and is not repaired: srv-pool.mount does not mount it."""
    return state_dir() / "unrepaired"


def pool_lock() -> Path:
    """Held while pool.json is read, changed and written."""
    return state_dir() / "pool.lock"


def alert_dir() -> Path:
    """What an administrator decides about alerts: routes, their secrets, acknowledgements; root alone writes here."""
    return state_dir() / "alert"


def alert_routes_file() -> Path:
    """Where alerts go; millrace-alert.service runs where this file is."""
    return alert_dir() / "routes.json"


def alert_state_file() -> Path:
    """Open alerts and the queue, of millrace-alert.service alone."""
    return ROOT / "var/lib/millrace-alert/state.json"


def alert_report_file() -> Path:
    """What millrace-alert.service lets everybody read."""
    return ROOT / "run/millrace-alert/report.json"


def metrics_dir() -> Path:
    """What an administrator decides about the endpoint of metrics; root alone writes here."""
    return state_dir() / "metrics"


def metrics_file() -> Path:
    """Millrace's own metrics as millrace-metrics-collect.service collected them last; node_exporter reads `*.prom`."""
    return run_dir() / "metrics.d/millrace.prom"


def node_exporter_socket() -> Path:
    """Where millrace-node-exporter.socket listens for the endpoint of metrics."""
    return run_dir() / "node-exporter.socket"


def policy_file() -> Path:
    """The policy that an administrator writes."""
    return ROOT / "etc/millrace/policy.toml"
