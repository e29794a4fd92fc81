# SPDX-License-Identifier: Apache-2.0
"""Record the state documents of this version in released/:
`PYTHONPATH=tools:. python -m tests.unit.serve.config.record`.

A document that is recorded already is never written again: later releases have to read it as it is.
"""

import tempfile
from datetime import date
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from millrace import __version__
from millrace.inventory.drive_tests import DriveTest, DriveTests
from millrace.lifecycle.adopt.model import Adoption
from millrace.lifecycle.keep.home import Written
from millrace.lifecycle.keep.model import KeepStatus, KeyFile, Manifest, ManifestMember, Seal
from millrace.lifecycle.update.abilities import LOCKS, VersionAbilities
from millrace.lifecycle.update.model import (
    CheckedSource,
    FailedVersion,
    FailedVersions,
    LastUpdate,
    Serving,
    Source,
    Trial,
)
from millrace.measure.bench.result.client import BenchClients
from millrace.measure.bench.run.remote.tokens import Tokens
from millrace.measure.tuner.run.tuner_journal import Changed, JournalFile
from millrace.observe.alert.model import (
    Acknowledgement,
    Acknowledgements,
    Alert,
    AlertMessage,
    AlertState,
    MailRoute,
    Queued,
    Routes,
    RouteSecrets,
    Security,
    SyslogRoute,
    WebhookRoute,
)
from millrace.observe.health.deliveries import Delivery
from millrace.observe.health.model import Level
from millrace.observe.metrics.model import MetricsSettings, TokenHash
from millrace.plan.measured import MeasuredPolicy, Overrides
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, Policy, SysctlPolicy
from millrace.protect.backup.backup_model import (
    Backup,
    BackupMoved,
    BackupOutcome,
    BackupRecord,
    Backups,
    BackupState,
    BackupTarget,
)
from millrace.protect.replica.replica_model import DrillReport, ReplicaReport, ReplicaState, ReplicaStates
from millrace.protect.snapshot.kept_removals import RemovalRecord
from millrace.protect.snapshot.rollback_model import RollbackJournal
from millrace.protect.snapshot.snapshot_model import OrderedRemoval, SnapshotManifest, SnapshotOrder
from millrace.protect.snapshot.snapshot_schedule_model import FloorRemoval
from millrace.serve.account.unfinished import Touched
from millrace.serve.certificate.model import Certificate, CertificateSettings, Succession
from millrace.serve.clone.clone_model import Clone
from millrace.serve.render.rendered import Rendered
from millrace.serve.share.kept_snapshots import SnapshotLock
from millrace.serve.share.machine_sid import MachineSid
from millrace.serve.share.model import KeptVerification, KeptVerifications, ShareVerification
from millrace.serve.volume.model import Exports, Volume, VolumeExport
from millrace.storage.drive.counter_rises import Rise, Rises, RisingCounter
from millrace.storage.drive.drive_history import KnownDrive, KnownDrives
from millrace.storage.drive.media_errors import Counter, Counters
from millrace.storage.drive.wear import WearStep
from millrace.storage.fabrics.fabrics_model import FabricsConnection, FabricsConnections, FabricsSecrets
from millrace.storage.record.erasure import Erasure, Erasures
from millrace.system.jobs.record import JobRecord
from tests.fakes.files.running import server
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run
from tests.unit.measure.tuner.reports import finished
from tests.unit.plan.servers import drives_1u12
from tests.unit.plan.servers import server as hardware
from tests.unit.plan.test_settings import basis
from tests.unit.serve.config.record_pool import AT, LATER, of_box, of_pool

RELEASED = Path(__file__).parent / "released"
SEAL = Seal(salt="0123456789abcdef")
VOLUME, ORIGIN = UUID("0a1b2c3d-1111-4222-8333-944444444444"), UUID("1a1b2c3d-1111-4222-8333-944444444444")
NODE = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
# of 32 zero bytes
SECRET = "DHHC-1:00:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtVQoZ:"


def documents() -> dict[str, BaseModel]:
    """Every document that `Box` does not write by itself, with something in each of its fields."""
    with tempfile.TemporaryDirectory() as root, server(Path(root)) as box:
        made = box.provision()
        return {**of_box(box, made), **of_pool(made), **_of_alerts(), **_of_updates(), **_of_tuner(), **_others()}


def _of_tuner() -> dict[str, BaseModel]:
    tuner_run = finished("kvm")
    where = tuner_run.environment.model_copy(update={"settings": {"a": "a line"}})
    values = Overrides(
        nfsd=NfsdPolicy(threads=64), md=MdPolicy(stripe_cache_size=4096), sysctl=SysctlPolicy(dirty_bytes=1 << 30)
    )
    here = basis(hardware(drives_1u12()), Policy())
    return {
        "measured.json": MeasuredPolicy(
            run=tuner_run.id,
            at=AT,
            by="a",
            values=values,
            replaced=Overrides(),
            server=here.server,
            arrays=here.arrays,
            ports=here.ports,
        ),
        "tuner-journal.json": JournalFile(
            run=tuner_run.id,
            boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            changed=[Changed(knob="nfsd.threads", setting="nfsd threads", old="64", new="8")],
        ),
        # two readings have all that fifty have
        "tuner-run.json": tuner_run.model_copy(update={"readings": tuner_run.readings[:2], "environment": where}),
    }


def _of_alerts() -> dict[str, BaseModel]:
    alert = Alert(
        key="arrays/data",
        check="arrays",
        subject="data",
        level=Level.WARN,
        sentence="Array data is degraded.",
        todo="Replace the drive.",
        since=AT,
        gone=LATER,
    )
    mail = MailRoute(
        name="ops",
        daily="07:00",
        host="mail.example.com",
        port=587,
        security=Security.STARTTLS,
        sender="nas@example.com",
        recipients=["ops@example.com"],
        user="nas",
    )
    message = AlertMessage(number=1, event="opened", at=AT, alerts=[alert], note="")
    known = Acknowledgement(key=alert.key, since=AT, level=Level.WARN, who="admin", at=LATER)
    return {
        "alert-routes.json": Routes(
            routes=[mail, WebhookRoute(name="chat", host="chat.example.com"), SyslogRoute(name="log")]
        ),
        "alert-secrets.json": RouteSecrets(secrets={"ops": "not a password"}),
        "alert-acknowledged.json": Acknowledgements(acknowledged=[known]),
        "alert-state.json": AlertState(
            number=1,
            health_at=AT,
            open=[alert],
            queue=[Queued(route="ops", message=message, attempts=1, not_before=1.5)],
            deliveries=[Delivery(route="ops", delivered=AT, problem="refused", dropped=1, daily="2026-11-20")],
        ),
    }


def _of_updates() -> dict[str, BaseModel]:
    serving = Serving(
        pool=True, arrays={"data": 10, "log": 2}, nfs=True, smb=True, exported=["/srv/pool/models"], console=True
    )
    new, before, problems = "0.1.1", "0.1.0", ["NFS does not answer."]
    return {
        "update-before.json": Trial(
            version=new, before=before, at=AT, by="admin", serving=serving, tries=1, problems=problems
        ),
        "update-checked.json": CheckedSource(version="0.1.1", expires="2027-05-19T00:00:00+00:00", at=AT),
        "update-failed.json": FailedVersions(versions=[FailedVersion(version=new, at=AT, problems=problems)]),
        "update-last.json": LastUpdate(
            version=new, before=before, state="failed", at=AT, by="admin", problems=problems
        ),
        "update-source.json": Source(url="https://files.example/millrace/"),
        "adoption.json": Adoption(
            pool="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            generation=2,
            by="admin",
            at=AT,
            secrets=True,
            ports={"02:00:00:00:00:01": "02:00:00:00:00:02"},
        ),
    }


def _others() -> dict[str, BaseModel]:
    member = ManifestMember(path="var/lib/millrace/pool.json", mode=0o644, secret=False, size=2, sha256="00")
    measured = run(done("L1/xfs/seq/read", 1e9))
    environment = measured.environment.model_copy(update={"settings": {"vm.dirty_bytes": "1073741824"}})
    return {
        "accounts-touched.json": Touched(users={"anna": 3000}, groups={"lab": 2000}),
        "backend-connections.json": FabricsConnections(
            connections=[
                FabricsConnection(
                    nqn=NODE,
                    host_nqn=NODE,
                    transport="rdma",
                    port=4420,
                    addresses=["10.77.0.1", "10.77.1.1"],
                    authenticated=True,
                )
            ]
        ),
        "backend-secrets.json": FabricsSecrets(secrets={NODE: SECRET}),
        "bench-clients.json": BenchClients(clients=[client("gpu1")]),
        "bench-run.json": measured.model_copy(update={"environment": environment}),
        "bench-tokens.json": Tokens(tokens={"gpu1": "0123456789abcdef"}),
        "certificate-succession.json": Succession(
            takes_over="2028-09-01T00:00:00+00:00",
            authority=Certificate(
                subject="CN=Millrace nas7",
                issuer="CN=Millrace nas7",
                names=["nas7", "nas7.example.com"],
                addresses=["10.0.0.0/8"],
                not_before="2028-05-01T00:00:00+00:00",
                not_after="2030-05-01T00:00:00+00:00",
                fingerprint="AB:CD",
                authority=True,
                purposes=["serverAuth"],
            ),
            waiting=["nas8"],
        ),
        "certificate-settings.json": CertificateSettings(names=["nas.example.com"]),
        "drives.json": KnownDrives(
            drives=[
                KnownDrive(
                    serial="MRD00000000001",
                    model="ACME 7T68",
                    firmware="1.0",
                    size=7_681_501_126_656,
                    bay="1",
                    last_seen=date(2026, 11, 20),
                    wear=[WearStep(percent=3, day=date(2026, 11, 20))],
                )
            ]
        ),
        "media-errors.json": Counters(
            drives=[
                Counter(
                    serial="MRD00000000001",
                    first=0,
                    first_seen="2026-11-01",
                    last=2,
                    last_seen="2026-11-20",
                    grown="2026-11-20",
                )
            ]
        ),
        "rises.json": Rises(
            counters=[
                RisingCounter(
                    key="memory/mc0/dimm0/corrected",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    last=12,
                    days=[Rise(day=date(2026, 11, 20), count=12)],
                )
            ]
        ),
        "verified.json": KeptVerifications(
            verifications=[
                KeptVerification(
                    at=AT,
                    result=ShareVerification(name="data", seen=["NFS: a line"], problem="a line", files=["a line"]),
                )
            ]
        ),
        "volume.json": Volume(
            uuid=VOLUME, project=(1 << 31) + 4711, created="2026-11-24T12:00:00+00:00", by="admin", origin=ORIGIN
        ),
        "volume-exports.json": Exports(
            volumes={VOLUME: VolumeExport(transport="tcp", port=4420, hosts=[NODE])},
            secrets={NODE: SECRET},
        ),
        "job.json": JobRecord(
            name="erase",
            id="1",
            what="drive S6XYZ123",
            by="admin",
            boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            state="failed",
            began=AT,
            ended=LATER,
            reason="a line",
        ),
        "rollback.json": RollbackJournal(
            order=SnapshotOrder(
                id="1",
                share="data",
                name="20261130T120000Z-before-rollback",
                large=True,
                by="admin",
                rollback="20261129T120000Z-manual",
            ),
            project=1001,
            type="training",
            inode=131,
            error="the pool is full",
            boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
        ),
        "snapshot.json": SnapshotManifest(
            id="1",
            share="data",
            project=1001,
            name="20261129T120000Z-manual",
            kind="manual",
            by="admin",
            first=AT,
            last=LATER,
            moment=LATER,
            entries=80,
            bytes=1 << 30,
            skipped=1,
            taken_again=2,
            changed_count=1,
            changed=["set/log"],
            type="training",
        ),
        "backups.json": Backups(
            backups=[
                Backup(
                    name="offsite",
                    id="1",
                    share="data",
                    target=BackupTarget(
                        protocol="sftp",
                        host="backup.example.com",
                        port=22,
                        path="/srv/data",
                        user="millrace",
                        tls=False,
                    ),
                    append_only=True,
                    limit=50_000_000,
                    host_key="SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
                    attached=True,
                    paused=True,
                    by="admin",
                    at=AT,
                )
            ]
        ),
        "backup-record.json": BackupRecord(
            states=[
                BackupState(
                    name="offsite",
                    id="1",
                    made=True,
                    snapshot="20261129T120000Z-backup",
                    version="8c8c6c1e",
                    moved=BackupMoved(files=10, read=2, bytes=5000, sent=700, seconds=3),
                    run=BackupOutcome(at=AT, succeeded=AT),
                    check=BackupOutcome(at=AT, succeeded=AT),
                    drill=BackupOutcome(at=LATER, succeeded=AT, problem="it is damaged", failures=1, red=True),
                )
            ]
        ),
        "replicas.json": ReplicaStates(
            replicas=[
                ReplicaState(
                    share="mirror",
                    tried_at=AT,
                    problem="a line",
                    current_at=AT,
                    report=ReplicaReport(
                        id="1",
                        share="mirror",
                        source="10.77.0.7:data",
                        snapshot="20261129T120000Z-hourly",
                        moment=AT,
                        at=LATER,
                        is_new=True,
                        entries=80,
                        shared=70,
                        changed=1,
                        fetched=4096,
                        verified=65536,
                        seconds=9,
                        removed=["20261128T120000Z-hourly"],
                    ),
                    drill=DrillReport(
                        id="2",
                        share="mirror",
                        snapshot="20261129T120000Z-hourly",
                        at=LATER,
                        files=2,
                        bytes=8192,
                        different=1,
                    ),
                    distrusted=True,
                )
            ]
        ),
        "snapshot-removals.json": RemovalRecord(
            boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            counted=900,
            removals=[
                OrderedRemoval(share="data", name="20261129T120000Z-manual", by="admin", at=AT, left=3600, due=LATER)
            ],
            locks=[SnapshotLock(share="data", name="20261129T130000Z-daily", by="admin", at=AT, until=LATER, left=60)],
            floor=FloorRemoval(since=AT, at=LATER, removed=3, floor=12, is_enough=False, is_vain=True, lacking=1.5),
        ),
        "clone.json": Clone(
            id="1",
            source="data/imagenet",
            target="imagenet-2",
            sealed=True,
            share=True,
            by="admin",
            state="done",
            boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            began=AT,
            ended=LATER,
            reason="a line",
            entries=80,
            changed=1,
            skipped=1,
            seconds=1.5,
            inode=131,
            verified=["NFS: a line"],
            warnings=["a line"],
        ),
        "erase.json": Erasures(
            erasures=[
                Erasure(
                    id="1",
                    serial="OLD1",
                    wwid="eui.1",
                    bay="4",
                    state="failed",
                    method="sanitize-block",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    began=AT,
                    ended=LATER,
                    reason="the drive reports an error",
                    unproved="deallocated blocks",
                )
            ]
        ),
        "drive-tests.json": DriveTests(
            tests=[
                DriveTest(
                    id="1",
                    serial="OLD1",
                    wwid="eui.1",
                    bay="4",
                    scope="full",
                    state="passed",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    began=AT,
                    ended=LATER,
                    remarks=["the drive does not trim"],
                    blank=True,
                    written_bytes=1 << 30,
                    write_bytes_per_second=1 << 29,
                    read_bytes_per_second=1 << 30,
                    longest_write_ms=12,
                    longest_read_ms=4,
                    hottest_celsius=51,
                    media_errors=0,
                    trim="reads zeroes",
                )
            ]
        ),
        "keep-key.json": KeyFile(seal=SEAL, key="00ff"),
        "keep-writer.json": Written(writer="00ff" * 8, generation=42, settled=17),
        "keep-status.json": KeepStatus(
            directory="/srv/pool/.millrace/keep",
            generation=2,
            written=AT,
            verified=AT,
            unread=["a"],
            sealed=True,
            seal=SEAL,
        ),
        "keep-manifest.json": Manifest(
            generation=2,
            written=AT,
            release="0.1.0",
            host="millrace",
            pool="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
            pool_generation=1,
            seal=SEAL,
            decided="00",
            records="01",
            members=[member],
        ),
        "abilities.json": VersionAbilities(abilities=[LOCKS]),
        "machine-sid.json": MachineSid(
            filesystem_uuid="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11", sid="S-1-5-21-4131263949-1388918461-63037113"
        ),
        "metrics-endpoint.json": MetricsSettings(addresses=["10.77.0.0/24"], token=True),
        "metrics-token.json": TokenHash(sha256="00ff"),
        "rendered.json": Rendered(files={"etc/samba/smb.conf": ["00", "01"]}, quotas={"/srv/pool/data": "1001 0 0"}),
    }


def main() -> None:
    """Write what is not recorded yet."""
    directory = RELEASED / __version__
    directory.mkdir(exist_ok=True)
    for name, document in documents().items():
        if not (directory / name).exists():
            (directory / name).write_text(document.model_dump_json(indent=2) + "\n")


if __name__ == "__main__":
    main()
