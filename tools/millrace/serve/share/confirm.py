# SPDX-License-Identifier: Apache-2.0
"""Confirm the client networks: until then NFS exports no share that names no clients."""

from collections.abc import Callable, Sequence

from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.config import store
from millrace.serve.config.model import Config, NfsServer
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.share.model import ChangeReport, ClientNetworks
from millrace.serve.share.networks import found_networks, on_management, remedy
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.share.share_change import ShareChange
from millrace.system import net, paths
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Refused
from millrace.system.names import several
from millrace.system.net import Interface
from millrace.system.printing import table
from millrace.system.users import invoking_user, only_root

NONE = "none"
CLOSED = "NFS is closed: no client network is confirmed."
NO_POOL = "no pool yet; the networks take effect once a pool exists"

Ports = Callable[[], Sequence[Interface]]


def client_networks(ports: Sequence[Interface]) -> ClientNetworks:
    """Return the networks of the policy, those that are confirmed, and those at this server's ports."""
    config = store.load()
    return ClientNetworks(
        policy=in_force().nfs.networks,
        confirmed=config.nfs.networks,
        found=found_networks(ports, config.management),
    )


def confirm(
    networks: Sequence[str], server: Callable[[], ShareServer] = this_server, ports: Ports = net.serving
) -> ChangeReport:
    """Export shares that name no clients to these networks (CIDR) only; `none` closes NFS. Verified like any change.

    BadInput: one is no network, or `none` is not alone. Refused: the policy names networks, or one of these includes
    addresses of a management port.
    """
    only_root()
    closing = list(networks) == [NONE]
    if NONE in networks and not closing:
        raise BadInput(f"{NONE} closes NFS: leave the other networks out")
    wanted = checked(lambda: NfsServer(networks=[] if closing else list(networks)))
    if in_force().nfs.networks:
        raise Refused(
            "the policy names the client networks: change [nfs] networks in /etc/millrace/policy.toml, "
            "then: millrace share render"
        )

    def mutate(config: Config) -> Config:
        shared = on_management(wanted.networks, ports(), config.management)
        if shared:
            raise Refused(f"{shared}: name networks without management ports")
        return config.model_copy(update={"nfs": wanted})

    # Without a pool there is nothing to export yet.
    parts = [ShareChange(server)] if paths.pool_file().exists() else []
    done = Reconciliation(parts)
    what = f"share networks set: {several(wanted.networks) or NONE}"
    config = store.change(invoking_user(), what, mutate, done)
    return ChangeReport(
        serial=config.serial,
        share=None,
        names=[share.name for share in config.shares if share.nfs.follows_networks],
        verified=done.verified,
        warnings=done.warnings if parts else [NO_POOL],
    )


def lines(networks: ClientNetworks) -> list[str]:
    """Return text for a terminal: whether NFS is open and to whom, the ports' networks, the command to confirm."""
    served = networks.policy or networks.confirmed
    by = "named by the policy" if networks.policy else "confirmed"
    first = f"NFS is open to {', '.join(served)} ({by})." if served else CLOSED
    rows = table(
        ("Network", "Port", "Address"),
        [
            (
                network.network,
                network.port,
                ("from DHCP or a router" if network.leased else "fixed")
                + (", proposed" if network.proposed and not served else ""),
            )
            for network in networks.found
        ],
    )
    todo = (
        remedy(networks.found)
        if any(network.proposed for network in networks.found)
        else "millrace share networks set NETWORK…"
    )
    return [first, *rows] if served else [first, *rows, f"Confirm client networks: {todo}"]
