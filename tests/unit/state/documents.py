# SPDX-License-Identifier: Apache-2.0
"""Every document that outlives a boot: where it is, and its model. A new one is entered here and recorded."""

from pydantic import BaseModel

from millrace.adopt.model import Adoption
from millrace.alert.model import Acknowledgements, Routes, Secrets, State
from millrace.backend.model import Connections
from millrace.backend.model import Secrets as ConnectionSecrets
from millrace.bench.result.client import BenchClients
from millrace.bench.result.model import Run
from millrace.bench.run.remote.tokens import Tokens
from millrace.certificate.model import CertificateSettings, Current
from millrace.drive.history import KnownDrives
from millrace.drive.media_errors import Counters
from millrace.drive.rises import Rises
from millrace.etc.factory import Factory
from millrace.etc.rendered import Rendered
from millrace.inventory.drive_tests import DriveTests
from millrace.keep.home import Written
from millrace.keep.model import KeepStatus, KeyFile, Manifest
from millrace.metrics.model import MetricsSettings, TokenHash
from millrace.plan.measured import MeasuredPolicy
from millrace.plan.model import Plan
from millrace.plan.settings import SettingsFile
from millrace.pool.scrub_record import ScrubRecord
from millrace.pool.trim_record import TrimRecord
from millrace.provision.apart_record import ApartMembers
from millrace.provision.change_model import DriveChange
from millrace.provision.erasure import Erasures
from millrace.provision.in_sync import InSync
from millrace.provision.model import Approval, Pool, Transaction
from millrace.provision.removed import Removals
from millrace.provision.returned import Returns
from millrace.provision.unclean import UncleanStarts
from millrace.rescue.model import Rescue
from millrace.share.clone_model import Clone
from millrace.state.history import Change
from millrace.state.model import Config
from millrace.state.reset_journal import Reset
from millrace.tune.pace import PriorityDocument
from millrace.tuner.model import Run as TunerRun
from millrace.tuner.run.journal import JournalFile
from millrace.update.model import FailedVersions, LastUpdate, Source, Trial
from millrace.volume.model import Exports, Volume

STATE = "var/lib/millrace"

# By the name of its record in released/: the paths that it has below the root directory, and its model.
DOCUMENTS: dict[str, tuple[tuple[str, ...], type[BaseModel]]] = {
    "adoption.json": ((f"{STATE}/adoption.json",), Adoption),
    "alert-acknowledged.json": ((f"{STATE}/alert/acknowledged.json",), Acknowledgements),
    "alert-routes.json": ((f"{STATE}/alert/routes.json",), Routes),
    "alert-secrets.json": ((f"{STATE}/alert/secrets.json",), Secrets),
    "alert-state.json": ((f"{STATE}-alert/state.json",), State),
    "approval.json": ((f"{STATE}/approval.json",), Approval),
    "backend-connections.json": ((f"{STATE}/backend/connections.json",), Connections),
    "backend-secrets.json": ((f"{STATE}/backend/secrets.json",), ConnectionSecrets),
    "bench-clients.json": ((f"{STATE}/bench/clients.json",), BenchClients),
    "bench-run.json": ((f"{STATE}/bench/20261120-120000/run.json",), Run),
    "bench-tokens.json": ((f"{STATE}/bench/tokens.json",), Tokens),
    "certificate.json": ((f"{STATE}/certificate/current/certificate.json",), Current),
    "certificate-settings.json": ((f"{STATE}/certificate/settings.json",), CertificateSettings),
    "apart.json": ((f"{STATE}/apart.json",), ApartMembers),
    "change.json": ((f"{STATE}/config-history/000001.json",), Change),
    "clone.json": ((f"{STATE}/clone.json",), Clone),
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
    "keep-writer.json": ((f"{STATE}/keep/writer.json",), Written),
    "measured.json": (("etc/millrace/measured.json",), MeasuredPolicy),
    "media-errors.json": ((f"{STATE}/media-errors.json",), Counters),
    "metrics-endpoint.json": ((f"{STATE}/metrics/endpoint.json",), MetricsSettings),
    "metrics-token.json": ((f"{STATE}/metrics/token.json",), TokenHash),
    "plan.json": ((f"{STATE}/plan.json", f"{STATE}/history/1/plan.json"), Plan),
    "pool.json": ((f"{STATE}/pool.json", f"{STATE}/history/pool-000001.json"), Pool),
    "priority.json": ((f"{STATE}/priority.json",), PriorityDocument),
    "removed.json": ((f"{STATE}/removed.json",), Removals),
    "rendered.json": ((f"{STATE}/rendered.json",), Rendered),
    "rescue.json": ((f"{STATE}/rescue.json", f"{STATE}/rescued.json"), Rescue),
    "reset.json": ((f"{STATE}/reset.json", f"{STATE}/reset-last.json"), Reset),
    "returns.json": ((f"{STATE}/returns.json",), Returns),
    "rises.json": ((f"{STATE}/rises.json",), Rises),
    "scrub.json": ((f"{STATE}/scrub.json",), ScrubRecord),
    "settings.json": ((f"{STATE}/settings.json",), SettingsFile),
    "transaction.json": ((f"{STATE}/transaction.json",), Transaction),
    "trim.json": ((f"{STATE}/trim.json",), TrimRecord),
    "tuner-journal.json": ((f"{STATE}/tuner/journal.json",), JournalFile),
    "tuner-run.json": ((f"{STATE}/tuner/20261124-120000/run.json",), TunerRun),
    "unclean.json": ((f"{STATE}/unclean.json",), UncleanStarts),
    "update-before.json": ((f"{STATE}/update/before.json",), Trial),
    "update-failed.json": ((f"{STATE}/update/failed.json",), FailedVersions),
    "update-last.json": ((f"{STATE}/update/last.json",), LastUpdate),
    "update-source.json": ((f"{STATE}/update/source.json",), Source),
    "volume.json": (("srv/pool/.millrace-volumes/volumes/tank/volume.json",), Volume),
    "volume-exports.json": (("srv/pool/.millrace-volumes/exports.json",), Exports),
}

# What writes documents with `write_model`, by module, and the records of them; none for what ends with the boot.
WRITERS: dict[str, set[str]] = {
    # the key is that of the room keep, the configuration that of the state
    "adopt/adopt.py": {"keep-key.json", "adoption.json"},
    "adopt/again.py": {"keep-key.json"},
    "adopt/found.py": set(),
    "adopt/job.py": {"adoption.json"},
    "adopt/journal.py": {"adoption.json"},
    "adopt/progress.py": set(),
    "adopt/restore.py": {"config.json"},
    "alert/listing.py": {"alert-acknowledged.json"},
    "alert/routes.py": {"alert-routes.json", "alert-secrets.json"},
    "alert/service.py": {"alert-state.json"},
    "backend/store.py": {"backend-connections.json", "backend-secrets.json"},
    "bench/plan/clients.py": {"bench-clients.json"},
    "bench/result/store.py": {"bench-run.json"},
    "bench/run/order.py": set(),
    "bench/run/remote/tokens.py": {"bench-tokens.json"},
    "certificate/renew.py": {"certificate-settings.json"},
    # what an administrator names: it is no state of this server
    "config/portable.py": set(),
    "drive/erase_job.py": set(),
    "drive/testing_job.py": set(),
    "inventory/drive_tests.py": {"drive-tests.json"},
    "drive/inserted.py": set(),
    "drive/kept.py": {"drives.json", "media-errors.json", "rises.json"},
    "drive/smart.py": set(),
    # the list of a version is made by its build
    "etc/__main__.py": {"etc-factory.json"},
    "etc/follow.py": {"etc-factory.json"},
    "etc/rendered.py": {"rendered.json"},
    "health/latency.py": set(),
    "health/write.py": set(),
    "inventory/verbs.py": set(),
    "keep/home.py": {"keep-writer.json"},
    "keep/keeping.py": {"keep-status.json"},
    "keep/seal.py": {"keep-key.json"},
    "metrics/endpoint.py": {"metrics-endpoint.json", "metrics-token.json"},
    "metrics/sources/smb.py": set(),
    "plan/verbs.py": set(),
    "pool/priority.py": {"priority.json"},
    "pool/scrub_record.py": {"scrub.json"},
    "pool/trim_record.py": {"trim.json"},
    "provision/apart_record.py": {"apart.json"},
    "provision/approval.py": {"approval.json"},
    "provision/change_journal.py": {"drive-change.json"},
    "provision/erase.py": set(),
    "provision/erasure.py": {"erase.json"},
    "provision/in_sync.py": {"in-sync.json"},
    "provision/journal.py": {"transaction.json"},
    "provision/pool_file.py": {"pool.json"},
    "provision/record.py": {"plan.json"},
    "provision/removed.py": {"removed.json"},
    "provision/returned.py": {"returns.json"},
    "provision/standstill.py": set(),
    "provision/unclean.py": {"unclean.json"},
    "rescue/job.py": set(),
    "rescue/journal.py": {"rescue.json"},
    "reset/reset.py": {"reset.json"},
    "share/clone_job.py": set(),
    "share/clone_model.py": {"clone.json"},
    "share/usage.py": set(),
    "state/history.py": {"change.json"},
    "state/reset_journal.py": {"reset.json"},
    "state/store.py": {"config.json"},
    "tune/originals.py": set(),
    "tune/settings.py": {"settings.json"},
    "tuner/run/apply.py": {"measured.json"},
    "tuner/run/journal.py": {"tuner-journal.json"},
    "tuner/run/live.py": set(),
    "tuner/run/order.py": set(),
    "tuner/run/store.py": {"tuner-run.json"},
    "update/install.py": set(),
    "update/records.py": {"update-before.json", "update-failed.json", "update-last.json", "update-source.json"},
    "update/stage.py": set(),
    "volume/serve.py": set(),
    "volume/store.py": {"volume.json", "volume-exports.json"},
}
# These are written in another way: with the certificate and its key at once, and within a generation.
BESIDE = {"certificate.json", "keep-manifest.json"}
