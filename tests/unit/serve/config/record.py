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
from millrace.lifecycle.update.model import FailedVersion, FailedVersions, LastUpdate, Serving, Source, Trial
from millrace.measure.bench.result.client import BenchClients
from millrace.measure.bench.run.remote.tokens import Tokens
from millrace.measure.tuner.run.journal import Changed, JournalFile
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
from millrace.plan.settings import SettingsFile
from millrace.plan.settings_changes import changes
from millrace.protect.snapshot.snapshot_model import SnapshotManifest
from millrace.serve.account.unfinished import Touched
from millrace.serve.certificate.model import CertificateSettings
from millrace.serve.clone.clone_model import Clone
from millrace.serve.config.reset_journal import Reset
from millrace.serve.render.rendered import Rendered
from millrace.serve.share.machine_sid import MachineSid
from millrace.serve.share.model import KeptVerification, KeptVerifications, ShareVerification
from millrace.serve.volume.model import Exports, Volume, VolumeExport
from millrace.storage.assemble.in_sync import InSync, InSyncArray
from millrace.storage.assemble.lives import LeftMember
from millrace.storage.assemble.readd import Return, Returns
from millrace.storage.assemble.unclean import Suspects, Unclean, UncleanStarts
from millrace.storage.drive.drive_history import KnownDrive, KnownDrives
from millrace.storage.drive.media_errors import Counter, Counters
from millrace.storage.drive.rises import Rise, Rises, RisingCounter
from millrace.storage.drive.wear import WearStep
from millrace.storage.fabrics.fabrics_model import FabricsConnection, FabricsConnections, FabricsSecrets
from millrace.storage.record.apart_record import Apart, ApartMembers, Undecided
from millrace.storage.record.destruction import Destruction, LeftDrive
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.erasure import Erasure, Erasures
from millrace.storage.record.model import Approval, ArrayRecord, Pool, StepRecord
from millrace.storage.record.removal_record import Removal, Removals
from millrace.storage.record.scrub_record import (
    FilesystemScrub,
    MismatchRange,
    Repair,
    Repaired,
    RetiredRows,
    Round,
    ScrubRecord,
    ScrubStop,
    UnderWay,
)
from millrace.storage.rescue.rescue_model import DryRunResult, NewLog, Rescue
from millrace.storage.rescue.step_names import STEPS
from millrace.storage.trim.trim_record import Trimmed, TrimRecord, TrimRound, TrimStop
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.jobs.record import JobRecord
from millrace.tune.rebuild_speed import PriorityDocument
from tests.fakes.files.box import POLICY, Box
from tests.fakes.files.running import server
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run
from tests.unit.measure.tuner.reports import finished
from tests.unit.plan.servers import drives_1u12
from tests.unit.plan.servers import server as hardware
from tests.unit.plan.test_settings import basis

RELEASED = Path(__file__).parent / "released"
AT, LATER = "2026-11-20T12:00:00+00:00", "2026-11-20T13:00:00+00:00"
SEAL = Seal(salt="0123456789abcdef")
VOLUME, ORIGIN = UUID("0a1b2c3d-1111-4222-8333-944444444444"), UUID("1a1b2c3d-1111-4222-8333-944444444444")
NODE = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
# of 32 zero bytes
SECRET = "DHHC-1:00:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtVQoZ:"


def documents() -> dict[str, BaseModel]:
    """Every document that `Box` does not write by itself, with something in each of its fields."""
    with tempfile.TemporaryDirectory() as root, server(Path(root)) as box:
        made = box.provision()
        return {**_of_box(box, made), **_of_pool(made), **_of_alerts(), **_of_updates(), **_of_tuner(), **_others()}


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


def _of_box(box: Box, pool: Pool) -> dict[str, BaseModel]:
    from millrace.tune import settings

    box.scrub()
    scrub = read_model(paths.scrub_file(), ScrubRecord)
    under_way = UnderWay(started=AT, sector=8, sectors=80, seconds=1.5, mismatches=0, least="1000", most="200000")
    place = [MismatchRange(begin=8, end=16, sectors=8)]
    repair = Repair(asked=AT, ranges=place, least="1000", most="200000")
    repaired = Repaired(ended=LATER, rewritten=8, left=0)
    first: dict[str, object] = {
        "under_way": under_way.model_copy(update={"ranges": place}),
        "repair": repair,
        "repaired": repaired,
    }
    first["retired"] = [RetiredRows(begin=16, end=24)]
    arrays = [scrub.arrays[0].model_copy(update=first), *scrub.arrays[1:]]
    sound = FilesystemScrub(started=AT, ended=LATER, seconds=3600, problem=None)
    stopped = ScrubStop(at=LATER, by="window", reason="the window of the policy ended")
    more = {"arrays": arrays, "filesystem": sound, "round": Round(started=AT, by="policy"), "stopped": stopped}
    before = settings.in_force(pool)
    paths.policy_file().write_text(POLICY + "[nfsd]\nmax_block_size = 524288\n")
    now = settings.current(pool).settings
    box.replace("data", 3, 12)
    change = box.change(3, 12).change
    return {
        "scrub.json": scrub.model_copy(update=more),
        "settings.json": SettingsFile(release=__version__, at=AT, settings=now, changes=changes(before, now, AT)),
        "drive-change.json": DriveChange.model_validate(change.model_dump()),
    }


def _in_sync(one: ArrayRecord) -> InSyncArray:
    left = LeftMember(member=one.members[-1], events=17, beside=[0])
    return InSyncArray(uuid=one.uuid, members=one.members, left=[left])


def _of_pool(pool: Pool) -> dict[str, BaseModel]:
    data, log = pool.arrays[0], pool.arrays[-1]
    steps = [StepRecord(name=name, state="done" if number < 3 else "pending") for number, name in enumerate(STEPS)]
    judgement = DryRunResult(
        files=10, directories=2, size=4096, unreadable=1, complete=True, problem_count=1, problems=["a line"], note="x"
    )
    return {
        "in-sync.json": InSync(arrays=[_in_sync(record) for record in pool.arrays]),
        "apart.json": ApartMembers(
            members=[Apart(array="log", serial="OLD2", partuuid="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a12", written=AT)],
            undecided=[Undecided(array="log", why="it ran twice. Choose one")],
        ),
        "removed.json": Removals(removals=[Removal(serial="OLD1", at=AT)]),
        "reset.json": Reset(what="keep", by="admin", at=AT, pool="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11"),
        "returns.json": Returns(
            returns=[Return(serial=data.members[0].serial, array="data", at=AT, outcome="re-added")]
        ),
        "unclean.json": UncleanStarts(
            starts=[Unclean(array="data", level="raid6", last_write=AT, started=LATER, missing=["OLD1"])],
            suspects=Suspects(count=3, listed=2, complete=False),
        ),
        "rescue.json": Rescue(
            id="1",
            by="admin",
            at=AT,
            lost=log.uuid,
            lost_drives=[member.serial for member in log.members],
            steps=steps,
            results={"stop": "stopped"},
            image="/var/lib/millrace/rescue-20261120T120000Z.metadump",
            judgement=judgement,
            new=NewLog(drives=pool.drives[:1], array=log, steps=steps[:1]),
            orphans=1,
            ended=LATER,
        ),
        "trim.json": TrimRecord(
            uuid=pool.filesystem_uuid,
            round=TrimRound(started=AT, by="policy", size=80, offset=8, slice=4, bytes=2, seconds=1.5, longest=0.5),
            stopped=TrimStop(at=LATER, by="window", reason="the window of the policy ended"),
            last=Trimmed(started=AT, ended=LATER, bytes=80, seconds=3.5, longest=0.5),
        ),
        "approval.json": Approval(sha256=pool.plan_sha256, by="admin", at=AT),
        "priority.json": PriorityDocument(priority="rebuild"),
        "pool-destruction.json": Destruction(
            pool=pool,
            drives=pool.drives,
            whole=data.members[:1],
            by="admin",
            at=AT,
            ends=True,
            shares=["data"],
            steps=[
                StepRecord(name="stop", state="done"),
                *(StepRecord(name=f"wipe {drive.serial}", state="done") for drive in pool.drives),
                StepRecord(name="records", state="pending"),
            ],
            left=[LeftDrive(serial="OLD1", bay="4", missing=True, why="is not in this server")],
            ended=LATER,
            error="a line",
        ),
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
