# SPDX-License-Identifier: Apache-2.0
"""A server that is the source of a replica, and has that replica as well: what is mounted is its own directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from millrace.protect.replica import file_list, replica_change, replica_pairing, replica_run
from millrace.protect.replica.replica_job import JOB, ORDER, prepare
from millrace.protect.replica.replica_model import DrillReport, ReplicaAction, ReplicaReport
from millrace.protect.replica.replica_source import RemoteExport
from millrace.serve.certificate import trust
from millrace.serve.certificate.model import TrustedAuthorities
from millrace.serve.clone import copy_run
from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certificate
from tests.unit.protect.replica.trees import Pair, places
from tests.unit.protect.snapshot.conftest import Nas, nas

__all__ = ["nas"]

CA = "-----BEGIN CERTIFICATE-----\n"
FINGERPRINT = ":".join(["AB"] * 32)
SOURCE, READER = "10.9.0.7", "10.9.0.8"


@pytest.fixture(autouse=True)
def placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_list.extents, "extents", places)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    (tmp_path / "source").mkdir()
    return Pair(tmp_path)


@dataclass
class Replicas:
    """Share data and its replica copy."""

    nas: Nas

    @property
    def appliance(self) -> Appliance:
        return self.nas.appliance

    def snapshot(self, second: int) -> str:
        """Make a snapshot of data and list it, as the source does."""
        name = self.nas.made(second).name
        replica_pairing.offer(self.nas.server)
        return name

    def run(self, action: ReplicaAction = "sync", full: bool = False) -> ReplicaReport | DrillReport:
        """Do what the unit does."""
        ORDER.write(prepare("copy", action, full))
        try:
            return replica_run.execute(self.nas.server, self.nas.links())
        finally:
            JOB.clear()

    def synced(self, full: bool = False) -> ReplicaReport:
        report = self.run(full=full)
        assert isinstance(report, ReplicaReport)
        return report

    def tree(self, name: str, share: str = "copy") -> Path:
        return self.nas.snapshots.place(share, name) / "tree"


@dataclass
class TrustedCas:
    """The CAs that clients are verified with: that of the server first, by their fingerprints."""

    known: list[str] = field(default_factory=lambda: [":".join(["00"] * 32)])
    of: dict[str, str] = field(default_factory=lambda: {CA: FINGERPRINT})

    def add(self, text: str) -> None:
        self.known += [self.of[text]] if self.of[text] not in self.known else []

    def remove(self, fingerprint: str) -> None:
        assert fingerprint != self.known[0]
        self.known.remove(fingerprint)

    def trusted(self) -> TrustedAuthorities:
        shown = [certificate().model_copy(update={"fingerprint": known}) for known in self.known]
        return TrustedAuthorities(trusted=shown, revocations=[])


@pytest.fixture
def trusted() -> TrustedCas:
    return TrustedCas()


@pytest.fixture
def source(nas: Nas, trusted: TrustedCas, monkeypatch: pytest.MonkeyPatch) -> Replicas:
    """Data, whose snapshots a server may read."""
    nas.appliance.TAKEN = (
        *nas.appliance.TAKEN,
        "nft -f *",
        "systemctl start --no-block millrace-cleanup@schedule.service",
    )
    for name in ("add", "remove", "trusted"):
        monkeypatch.setattr(trust, name, getattr(trusted, name))
    replica_pairing.allow("data", READER, CA, FINGERPRINT, nas.appliance.server)
    return Replicas(nas)


@pytest.fixture
def replicas(source: Replicas, monkeypatch: pytest.MonkeyPatch) -> Replicas:
    """Data and its replica copy, which has no snapshot yet."""

    @contextmanager
    def mounted(export: RemoteExport, where: Path, options: str, run: object) -> Iterator[int]:
        assert export == RemoteExport(SOURCE, "/srv/pool/.millrace-snapshots/data") and "xprtsec=mtls" in options
        descriptor = os.open(source.nas.snapshots.top / "data", os.O_RDONLY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    monkeypatch.setattr(copy_run, "mounted", mounted)
    settings = {"every": 60, "keep": 2}
    replica_change.add(f"{SOURCE}:data", "copy", settings, (CA, FINGERPRINT), source.nas.appliance.server)
    return source
