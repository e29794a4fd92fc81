# SPDX-License-Identifier: Apache-2.0
"""Documents of clones, snapshots, backups and replicas, with something in each field; `record` writes them."""

from pydantic import BaseModel

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
from millrace.serve.clone.clone_model import Clone
from millrace.serve.share.kept_snapshots import SnapshotLock
from tests.unit.serve.config.record_pool import AT, LATER


def of_protection() -> dict[str, BaseModel]:
    """Return the documents by the name that they are recorded by."""
    return {
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
                    id="1" * 32,
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
                    id="1" * 32,
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
    }
