# SPDX-License-Identifier: Apache-2.0
"""This server as a change of shares sees it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.plan.model import Plan
from millrace.provision.model import Pool
from millrace.provision.pool_file import approved_plan
from millrace.share import apply, desired
from millrace.share.desired import Surroundings
from millrace.share.model import RenderReport, Share
from millrace.state.model import Config
from millrace.system import net
from millrace.system.net import Interface, for_clients
from millrace.system.run import Runner, attempt


@dataclass(frozen=True)
class Server:
    """The pool, the plan it was made from, the ports, and how tools are run. `pause` waits for some seconds."""

    plan: Plan
    pool: Pool
    here: Surroundings
    ports: Sequence[Interface]
    run: Runner = attempt
    pause: Callable[[float], None] = time.sleep

    def shares(self, config: Config) -> list[Share]:
        """The shares of a wanted state on this server."""
        return desired.resolve_all(config, self.here)

    def apply(self, config: Config, force: bool = False) -> RenderReport:
        """Render a wanted state and tell the servers."""
        shares, ports = self.shares(config), for_clients(self.ports, config.management)
        return apply.apply(self.plan, self.pool, shares, ports, self.run, force, config.domain)


def this_server() -> Server:
    """This server; Failed or BadInput where its pool is not mounted or not there."""
    from millrace.plan import policy_in_force
    from millrace.provision.pool import verify
    from millrace.provision.system import Linux

    pool = verify(Linux())
    ports = net.serving()
    # Every boot and every change pass here as root: what is about to be served by is what a later typo falls back to.
    policy_in_force.keep()
    return Server(approved_plan(), pool, desired.surroundings(pool, policy_in_force.in_force(), ports), ports)
