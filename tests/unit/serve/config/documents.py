# SPDX-License-Identifier: Apache-2.0
"""Every document that outlives a boot: where it is, and its model. A new one is entered here and recorded."""

from pydantic import BaseModel

from millrace.inventory.drive_tests import DriveTests
from millrace.lifecycle.adopt.model import Adoption
from millrace.lifecycle.etc.factory import Factory
from millrace.lifecycle.keep.home import Written
from millrace.lifecycle.keep.model import KeepStatus, KeyFile, Manifest
from millrace.lifecycle.update.abilities import VersionAbilities
from millrace.lifecycle.update.model import CheckedSource, FailedVersions, LastUpdate, Source, Trial
from millrace.measure.bench.result.client import BenchClients
from millrace.measure.bench.result.model import BenchRun
from millrace.measure.bench.run.remote.tokens import Tokens
from millrace.measure.tuner.model import TunerRun
from millrace.measure.tuner.run.tuner_journal import JournalFile
from millrace.observe.alert.model import Acknowledgements, AlertState, Routes, RouteSecrets
from millrace.observe.metrics.model import MetricsSettings, TokenHash
from millrace.plan.measured import MeasuredPolicy
from millrace.plan.model import Plan
from millrace.plan.settings import SettingsFile
from millrace.protect.backup.backup_model import BackupRecord, Backups
from millrace.protect.replica.replica_model import ReplicaStates
from millrace.protect.snapshot.kept_removals import RemovalRecord
from millrace.protect.snapshot.rollback_model import RollbackJournal
from millrace.protect.snapshot.snapshot_model import SnapshotManifest
from millrace.serve.account.unfinished import Touched
from millrace.serve.certificate.model import CertificateSettings, Current, Succession
from millrace.serve.clone.clone_model import Clone
from millrace.serve.config.history import RecordedChange
from millrace.serve.config.model import Config
from millrace.serve.config.reset_journal import Reset
from millrace.serve.render.rendered import Rendered
from millrace.serve.share.machine_sid import MachineSid
from millrace.serve.share.model import KeptVerifications
from millrace.serve.volume.model import Exports, Volume
from millrace.storage.assemble.in_sync import InSync
from millrace.storage.assemble.readd import Returns
from millrace.storage.assemble.unclean import UncleanStarts
from millrace.storage.drive.counter_rises import Rises
from millrace.storage.drive.drive_history import KnownDrives
from millrace.storage.drive.media_errors import Counters
from millrace.storage.fabrics.fabrics_model import FabricsConnections, FabricsSecrets
from millrace.storage.record.apart_record import ApartMembers
from millrace.storage.record.destruction import Destruction
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.erasure import Erasures
from millrace.storage.record.model import Approval, Pool, Transaction
from millrace.storage.record.removal_record import Removals
from millrace.storage.record.scrub_record import ScrubRecord
from millrace.storage.rescue.rescue_model import Rescue
from millrace.storage.trim.trim_record import TrimRecord
from millrace.system.jobs.record import JobRecord
from millrace.tune.rebuild_speed import PriorityDocument

STATE = "var/lib/millrace"

# By the name of its record in released/: the paths that it has below the root directory, and its model.
DOCUMENTS: dict[str, tuple[tuple[str, ...], type[BaseModel]]] = {
    "accounts-touched.json": ((f"{STATE}/accounts-touched.json",), Touched),
    "abilities.json": ((f"{STATE}/by-version/0.2.0/abilities.json",), VersionAbilities),
    "adoption.json": ((f"{STATE}/adoption.json",), Adoption),
    "alert-acknowledged.json": ((f"{STATE}/alert/acknowledged.json",), Acknowledgements),
    "alert-routes.json": ((f"{STATE}/alert/routes.json",), Routes),
    "alert-secrets.json": ((f"{STATE}/alert/secrets.json",), RouteSecrets),
    "alert-state.json": ((f"{STATE}-alert/state.json",), AlertState),
    "approval.json": ((f"{STATE}/approval.json",), Approval),
    "backend-connections.json": ((f"{STATE}/backend/connections.json",), FabricsConnections),
    "backend-secrets.json": ((f"{STATE}/backend/secrets.json",), FabricsSecrets),
    "backups.json": ((f"{STATE}/backup/backups.json",), Backups),
    "backup-record.json": ((f"{STATE}/backup-record.json",), BackupRecord),
    "bench-clients.json": ((f"{STATE}/bench/clients.json",), BenchClients),
    "bench-run.json": ((f"{STATE}/bench/20261120-120000/run.json",), BenchRun),
    "bench-tokens.json": ((f"{STATE}/bench/tokens.json",), Tokens),
    "certificate.json": ((f"{STATE}/certificate/current/certificate.json",), Current),
    "certificate-succession.json": ((f"{STATE}/certificate/succession.json",), Succession),
    "certificate-settings.json": ((f"{STATE}/certificate/settings.json",), CertificateSettings),
    "apart.json": ((f"{STATE}/apart.json",), ApartMembers),
    "change.json": ((f"{STATE}/config-history/000001.json",), RecordedChange),
    "clone.json": ((f"{STATE}/clone.json",), Clone),
    "job.json": ((f"{STATE}/jobs/erase.json",), JobRecord),
    "config.json": ((f"{STATE}/config.json",), Config),
    "drive-change.json": ((f"{STATE}/drive-change.json", f"{STATE}/drive-changed.json"), DriveChange),
    "drive-tests.json": ((f"{STATE}/drive-tests.json",), DriveTests),
    "drives.json": ((f"{STATE}/drives.json",), KnownDrives),
    "erase.json": ((f"{STATE}/erase.json",), Erasures),
    "etc-factory.json": (("etc/.millrace-factory.json",), Factory),
    "in-sync.json": ((f"{STATE}/in-sync.json",), InSync),
    "keep-key.json": ((f"{STATE}/keep/key.json",), KeyFile),
    "keep-manifest.json": (("srv/pool/.millrace/keep/manifest.json",), Manifest),
    "keep-status.json": ((f"{STATE}/keep/status.json",), KeepStatus),
    "machine-sid.json": ((f"{STATE}/machine-sid.json",), MachineSid),
    "keep-writer.json": ((f"{STATE}/keep/writer.json",), Written),
    "measured.json": (("etc/millrace/measured.json",), MeasuredPolicy),
    "media-errors.json": ((f"{STATE}/media-errors.json",), Counters),
    "metrics-endpoint.json": ((f"{STATE}/metrics/endpoint.json",), MetricsSettings),
    "metrics-token.json": ((f"{STATE}/metrics/token.json",), TokenHash),
    "plan.json": ((f"{STATE}/plan.json", f"{STATE}/history/1/plan.json"), Plan),
    "pool-destruction.json": ((f"{STATE}/pool-destruction.json", f"{STATE}/pool-destroyed.json"), Destruction),
    "pool.json": ((f"{STATE}/pool.json", f"{STATE}/history/pool-000001.json"), Pool),
    "priority.json": ((f"{STATE}/priority.json",), PriorityDocument),
    "removed.json": ((f"{STATE}/removed.json",), Removals),
    "rendered.json": ((f"{STATE}/rendered.json",), Rendered),
    "replicas.json": ((f"{STATE}/replicas.json",), ReplicaStates),
    "rescue.json": ((f"{STATE}/rescue.json", f"{STATE}/rescued.json"), Rescue),
    "reset.json": ((f"{STATE}/reset.json", f"{STATE}/reset-last.json"), Reset),
    "returns.json": ((f"{STATE}/returns.json",), Returns),
    "rises.json": ((f"{STATE}/rises.json",), Rises),
    "rollback.json": (("srv/pool/.millrace-snapshots/.rollback/rollback.json",), RollbackJournal),
    "scrub.json": ((f"{STATE}/scrub.json",), ScrubRecord),
    "settings.json": ((f"{STATE}/settings.json",), SettingsFile),
    "snapshot-removals.json": (("srv/pool/.millrace-snapshots/.removals.json",), RemovalRecord),
    "snapshot.json": (("srv/pool/.millrace-snapshots/data/20261129T120000Z-manual/manifest.json",), SnapshotManifest),
    "transaction.json": ((f"{STATE}/transaction.json",), Transaction),
    "trim.json": ((f"{STATE}/trim.json",), TrimRecord),
    "tuner-journal.json": ((f"{STATE}/tuner/journal.json",), JournalFile),
    "tuner-run.json": ((f"{STATE}/tuner/20261124-120000/run.json",), TunerRun),
    "unclean.json": ((f"{STATE}/unclean.json",), UncleanStarts),
    "update-checked.json": ((f"{STATE}/update/checked.json",), CheckedSource),
    "update-before.json": ((f"{STATE}/update/before.json",), Trial),
    "update-failed.json": ((f"{STATE}/update/failed.json",), FailedVersions),
    "update-last.json": ((f"{STATE}/update/last.json",), LastUpdate),
    "update-source.json": ((f"{STATE}/update/source.json",), Source),
    "verified.json": ((f"{STATE}/verified.json",), KeptVerifications),
    "volume.json": (("srv/pool/.millrace-volumes/volumes/tank/volume.json",), Volume),
    "volume-exports.json": (("srv/pool/.millrace-volumes/exports.json",), Exports),
}

# What writes documents with `write_model`, by module, and the records of them; none for what ends with the boot.
WRITERS: dict[str, set[str]] = {
    # the key is that of the room keep, the configuration that of the state
    "lifecycle/adopt/adopt.py": {"keep-key.json", "adoption.json"},
    "lifecycle/adopt/homecoming.py": {"keep-key.json"},
    "lifecycle/adopt/search_result.py": set(),
    "lifecycle/adopt/adopt_job.py": {"adoption.json"},
    "lifecycle/adopt/adoption_journal.py": {"adoption.json"},
    "lifecycle/adopt/restore.py": {"config.json"},
    "observe/alert/open_alerts.py": {"alert-acknowledged.json"},
    "observe/alert/routes.py": {"alert-routes.json", "alert-secrets.json"},
    "observe/alert/service.py": {"alert-state.json"},
    "storage/fabrics/connection_store.py": {"backend-connections.json", "backend-secrets.json"},
    "measure/bench/plan/clients.py": {"bench-clients.json"},
    "measure/bench/result/store.py": {"bench-run.json"},
    "measure/bench/run/remote/tokens.py": {"bench-tokens.json"},
    "serve/certificate/authority.py": {"certificate-succession.json"},
    "serve/certificate/renew.py": {"certificate-settings.json"},
    # what an administrator names: it is no state of this server
    "serve/revision/portable.py": set(),
    "storage/erase/erase_job.py": set(),
    "storage/drive_test/drive_test_run.py": set(),
    "inventory/drive_tests.py": {"drive-tests.json"},
    "storage/change/inserted.py": set(),
    "storage/drive/drive_records.py": {"drives.json", "media-errors.json", "rises.json"},
    "storage/drive/smart.py": set(),
    # the list of a version is made by its build
    "lifecycle/etc/__main__.py": {"etc-factory.json"},
    "lifecycle/etc/etc_update.py": {"etc-factory.json"},
    "serve/render/rendered.py": {"rendered.json"},
    # a power cut forgets it, as the change itself
    "serve/network/trial_record.py": set(),
    "observe/health/access_losses.py": set(),
    "observe/health/clock.py": set(),
    "observe/health/latency.py": set(),
    "observe/health/write.py": set(),
    "inventory/verbs.py": set(),
    "lifecycle/keep/home.py": {"keep-writer.json"},
    "lifecycle/keep/keeping.py": {"keep-status.json"},
    "lifecycle/keep/seal.py": {"keep-key.json"},
    "observe/metrics/endpoint.py": {"metrics-endpoint.json", "metrics-token.json"},
    "observe/history/sampler.py": set(),
    "observe/live/smbd.py": set(),
    "plan/verbs.py": set(),
    "tune/priority.py": {"priority.json"},
    "storage/record/scrub_record.py": {"scrub.json"},
    "storage/trim/trim_record.py": {"trim.json"},
    "storage/record/apart_record.py": {"apart.json"},
    "storage/provision/approval.py": {"approval.json"},
    "storage/record/change_journal.py": {"drive-change.json"},
    "storage/erase/eraser.py": set(),
    "storage/record/destruction.py": {"pool-destruction.json"},
    "storage/record/erasure.py": {"erase.json"},
    "storage/assemble/in_sync.py": {"in-sync.json"},
    "storage/record/step_journal.py": {"transaction.json"},
    "storage/record/pool_file.py": {"pool.json"},
    "storage/provision/publish.py": {"plan.json"},
    "storage/record/removal_record.py": {"removed.json"},
    "storage/assemble/readd.py": {"returns.json"},
    "storage/assemble/standstill.py": set(),
    "storage/assemble/unclean.py": {"unclean.json"},
    "storage/rescue/rescue_journal.py": {"rescue.json"},
    "lifecycle/reset/reset.py": {"reset.json"},
    "protect/replica/replica_stage.py": {"snapshot.json"},
    "protect/backup/backup_store.py": {"backups.json", "backup-record.json"},
    "protect/backup/backup_restore.py": {"snapshot.json"},
    "protect/snapshot/kept_removals.py": {"snapshot-removals.json"},
    "protect/snapshot/rollback_run.py": {"rollback.json"},
    "protect/snapshot/snapshot_run.py": {"snapshot.json"},
    "serve/clone/clone_model.py": {"clone.json"},
    "serve/account/unfinished.py": {"accounts-touched.json"},
    "serve/share/kept_results.py": {"verified.json"},
    "serve/share/sid_record.py": set(),
    "serve/share/usage.py": set(),
    "serve/config/history.py": {"change.json"},
    "serve/config/reset_journal.py": {"reset.json"},
    "serve/config/store.py": {"config.json"},
    "tune/originals.py": set(),
    "tune/settings.py": {"settings.json"},
    "measure/tuner/run/apply.py": {"measured.json"},
    "measure/tuner/run/tuner_journal.py": {"tuner-journal.json"},
    "measure/tuner/run/live.py": set(),
    "measure/tuner/run/store.py": {"tuner-run.json"},
    "lifecycle/update/abilities.py": {"abilities.json"},
    "lifecycle/update/records.py": {
        "update-checked.json",
        "update-before.json",
        "update-failed.json",
        "update-last.json",
        "update-source.json",
    },
    "lifecycle/update/stage.py": set(),
    # orders and progress, which end with the boot, and how runs of replicas ended
    "system/jobs/job.py": {"replicas.json"},
    "system/jobs/record.py": {"job.json"},
    "serve/share/machine_sid.py": {"machine-sid.json"},
    "serve/volume/serve.py": set(),
    "serve/volume/store.py": {"volume.json", "volume-exports.json"},
}
# These are written in another way: with the certificate and its key at once, and within a generation.
BESIDE = {"certificate.json", "keep-manifest.json"}
