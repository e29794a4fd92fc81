# SPDX-License-Identifier: Apache-2.0
"""Record the state documents of this version in released/:
`PYTHONPATH=tools:. python -m tests.unit.serve.config.record`.

A document that is recorded already is never written again: later releases have to read it as it is.
"""

import tempfile
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from millrace import __version__
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
from millrace.serve.account.unfinished import Touched
from millrace.serve.certificate.model import Certificate, CertificateSettings, Succession
from millrace.serve.render.rendered import Rendered
from millrace.serve.share.machine_sid import MachineSid
from millrace.serve.share.model import KeptVerification, KeptVerifications, ShareVerification
from millrace.serve.volume.model import Exports, Volume, VolumeExport
from millrace.storage.fabrics.fabrics_model import FabricsConnection, FabricsConnections, FabricsSecrets
from millrace.system.jobs.record import JobRecord
from tests.fakes.files.running import server
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.runs import run
from tests.unit.measure.tuner.reports import finished
from tests.unit.plan.servers import drives_1u12
from tests.unit.plan.servers import server as hardware
from tests.unit.plan.test_settings import basis
from tests.unit.serve.config.record_drives import of_drives
from tests.unit.serve.config.record_pool import AT, LATER, of_box, of_pool
from tests.unit.serve.config.record_protection import of_protection

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
        return {
            **of_box(box, made),
            **of_pool(made),
            **of_drives(),
            **of_protection(),
            **_of_alerts(),
            **_of_updates(),
            **_of_tuner(),
            **_others(),
        }


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
