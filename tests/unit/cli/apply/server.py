# SPDX-License-Identifier: Apache-2.0
"""A server that files are applied to, and the words of such a file."""

from pathlib import Path

from millrace.cli.apply import change, export, reading
from millrace.cli.apply.change import FileOutcome
from millrace.cli.apply.report import ApplyReport
from millrace.serve.config import store
from tests.unit.serve.network.network import Network

FILE = Path("server.toml")
WHOLE = """
[network]
dns = ["10.0.0.53"]

[network.ports.enp2s0]
addresses = ["10.0.9.2/24"]
mtu = 9000

[nfs]
networks = ["10.0.0.0/24"]

[access.eve]
role = "operator"
full_name = "Eve Adams"

[groups.ml]

[users.anna]
groups = ["ml"]

[shares.train]
type = "training"
size = "10T"
nfs = { clients = [{ client = "10.0.0.0/24", access = "ro" }] }
smb = { groups = ["ml"], previous_versions = false }
snapshots = { hourly = 24, daily = 7 }

[alert_routes.ops]
kind = "mail"
server = "smtp.example.com"
sender = "nas@example.com"
recipients = ["ops@example.com"]

[policy.scrub]
every = "week"
"""


class AppliedServer(Network):
    """Two ports, a pool, users, policy and alert routes."""

    TAKEN = (
        *Network.TAKEN,
        "systemctl try-reload-or-restart *.service",
        "systemctl stop *.service",
    )


def target(text: str, server: AppliedServer, prune: bool = False) -> FileOutcome:
    return change.outcome(reading.parse(text, FILE), prune, server.host())


def applied(text: str, server: AppliedServer, prune: bool = False) -> ApplyReport:
    """Apply a file, and keep the network that it may change."""
    read = reading.parse(text, FILE)
    return change.apply(read, change.outcome(read, prune, server.host()), server.host())


def exported() -> str:
    return export.text(store.load())
