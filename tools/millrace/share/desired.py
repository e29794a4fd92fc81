# SPDX-License-Identifier: Apache-2.0
"""The shares that should exist. In this release: one, `data`, open to whoever may mount it."""

from collections.abc import Sequence
from uuid import UUID, uuid5

from millrace.plan.policy_file import load_policy
from millrace.provision.model import Pool
from millrace.share import interfaces
from millrace.share.interfaces import Interface
from millrace.share.model import Share
from millrace.share.networks import NO_NETWORK, client_networks


def default_share(pool: Pool, named: Sequence[str], privileged: bool, ports: Sequence[Interface]) -> Share:
    """The share `data` of `pool`. `named` are the client networks of the policy, `ports` where clients can reach us."""
    networks = client_networks(named, ports)
    name = "data"
    return Share(
        name=name,
        path=f"{pool.filesystem.mountpoint}/{name}",
        networks=networks,
        privileged_ports=privileged,
        # The same after a move to other drives' slots, another when the pool was made anew.
        fsid=uuid5(UUID(pool.filesystem_uuid), name),
        obstacle=None if networks else NO_NETWORK,
    )


def shares(pool: Pool, ports: Sequence[Interface] | None = None) -> list[Share]:
    """All shares of `pool` under this server's policy and addresses."""
    policy = load_policy()
    found = interfaces.serving() if ports is None else ports
    return [default_share(pool, policy.nfs.networks, policy.nfs.privileged_ports, found)]
