# SPDX-License-Identifier: Apache-2.0
"""What changes with host name, address, machine ID, boot drive and pool: the table of the manual, row by row."""

import socket
from collections.abc import Callable
from uuid import UUID

import pytest

from host.layout import REPO
from millrace.lifecycle.keep.kept_files import KEPT, has
from millrace.serve.certificate.identity import identity
from millrace.serve.config.model import Domain, first_config
from millrace.serve.share import desired, machine_sid, nfs
from millrace.serve.volume.model import Volume
from millrace.storage.record.model import Pool
from millrace.system import paths
from tests.fakes.appliance import Appliance
from tests.fakes.samples import pool, port, surroundings

COLUMNS = ["host name", "address", "machine ID", "new boot drive", "mainboard", "other pool"]
# What a new boot drive gets back from the kept state.
FILES = {
    "SID of the machine": "var/lib/millrace/machine-sid.json",
    "name in Samba": "var/lib/millrace/pool.json",
    "scope of the NFS server": "var/lib/millrace/pool.json",
    "fsids of exports": "var/lib/millrace/config.json",
    "key of NFS file handles": "var/lib/millrace/nfs-handles.key",
    "machine account and Kerberos keys": "etc/krb5.keytab",
    "NVMe host identity": "etc/nvme/hostnqn",
    "SSH host keys": "etc/ssh/ssh_host_ed25519_key",
    "authority of certificates": "var/lib/millrace/certificate/authority.pem",
    "names in the certificate": "etc/hostname",
    "mDNS name, sender of alerts": "etc/hostname",
    "host name of a new server": "etc/hostname",
    "leases of DHCP": "etc/machine-id",
    "assignment of addresses to ports": "var/lib/millrace/config.json",
}


def table() -> dict[str, dict[str, str]]:
    lines = (REPO / "docs/identity.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert rows[0] == ["identity", *COLUMNS]
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows[2:]}


TABLE = table()


class Server:
    """A server whose names can be changed, and its identities as programs compute them."""

    def __init__(self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
        self.appliance, self.monkeypatch = appliance, monkeypatch
        self.pool, self.addresses = pool(), ["10.0.0.2/24"]
        self.volume = Volume(uuid=UUID(int=7), project=1, created="2026-01-01", by="admin")
        self.name("nas")
        self.machine_id("0" * 32)

    def name(self, name: str) -> None:
        self.monkeypatch.setattr(socket, "gethostname", lambda: name)
        (paths.ROOT / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
        (paths.ROOT / "proc/sys/kernel/hostname").write_text(f"{name}\n")

    def machine_id(self, number: str) -> None:
        (paths.ROOT / "etc").mkdir(exist_ok=True)
        (paths.ROOT / "etc/machine-id").write_text(f"{number}\n")

    def other_pool(self) -> None:
        """With the volumes that are on it."""
        self.pool = pool().model_copy(update={"filesystem_uuid": "99999999-2222-3333-4444-555555555555"})
        self.volume = self.volume.model_copy(update={"uuid": UUID(int=8)})

    def identities(self) -> dict[str, object]:
        domain = Domain(realm="AD.EXAMPLE.COM", workgroup="EXAMPLE", machine="MILLRACE")
        shares = desired.resolve_all(first_config(), _surroundings(self.pool))
        machine_sid.settle(self.pool, None, lambda: None, self._made)
        server = identity([], lambda: [port("enp1s0", *self.addresses)])
        return {
            "SID of the machine": machine_sid.recorded(self.pool),
            "name in Samba": machine_sid.samba_name(self.pool, None),
            "scope of the NFS server": nfs.scope(self.pool),
            "fsids of exports": [share.fsid for share in shares],
            "machine account and Kerberos keys": (machine_sid.samba_name(self.pool, domain), domain.host_name),
            "NQNs of volumes": self.volume.nqn,
            "names in the certificate": (server.names, server.addresses),
        }

    @property
    def _made(self) -> Appliance:
        # Samba makes a random SID for each name that it does not know
        name = machine_sid.server_name(self.pool)
        self.appliance.samba.name = lambda: name
        self.appliance.samba.sids.setdefault(name, f"S-1-5-21-1-2-{int(name[-6:], 16)}")
        return self.appliance


def _surroundings(pool: Pool) -> desired.ServerContext:
    from dataclasses import replace

    return replace(surroundings(["10.0.0.0/24"]), filesystem_uuid=UUID(pool.filesystem_uuid))


CHANGES: dict[str, Callable[[Server], None]] = {
    "host name": lambda server: server.name("nas-renamed"),
    "address": lambda server: server.addresses.append("10.0.9.9/24"),
    "machine ID": lambda server: server.machine_id("f" * 32),
    "other pool": Server.other_pool,
}


@pytest.mark.parametrize("change", CHANGES)
def test_identities_change_as_the_table_says(
    change: str, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(appliance, monkeypatch)
    before = server.identities()
    CHANGES[change](server)
    after = server.identities()
    # the host name of another pool comes with its state
    left = {"names in the certificate"} if change == "other pool" else set()
    seen = {name: "same" if after[name] == value else "other" for name, value in before.items() if name not in left}
    assert seen == {name: TABLE[name][change] for name in seen}


@pytest.mark.parametrize("name", FILES)
def test_new_boot_drive_gets_back_what_the_table_says(name: str) -> None:
    assert TABLE[name]["new boot drive"] == "same"
    assert any(has(one, FILES[name]) for one in KEPT), FILES[name]


def test_every_row_is_tested_or_named_here() -> None:
    """What the TPM has is bound to the mainboard; volumes are on the pool with their UUIDs."""
    assert set(TABLE) == {*FILES, "NQNs of volumes", "unlocking by the TPM"}
    assert all(cell in ("same", "other", "no") for row in TABLE.values() for cell in row.values())
