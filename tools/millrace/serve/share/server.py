# SPDX-License-Identifier: Apache-2.0
"""This server, as a change of shares needs it."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from millrace.plan.defaults import SmbdSettings
from millrace.plan.model import Nfsd
from millrace.serve.config.model import Config
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import RenderedService, Say, silent
from millrace.serve.share import desired, handle_key, quota, services, smb
from millrace.serve.share.desired import ServerContext
from millrace.serve.share.model import RenderReport, Share
from millrace.serve.share.project_walk import XFS, Projects
from millrace.storage.record.model import Pool
from millrace.system import net, paths
from millrace.system.net import Interface, for_clients
from millrace.system.run import Runner, attempt


@dataclass(frozen=True)
class ShareServer:
    """The pool, the settings of nfsd and smbd, the ports, and how tools are run. `pause` waits for some seconds.

    `projects` are the quota projects of files, `say` shows progress. `problem` is why the settings are not those of the
    hardware and the policy of now.
    """

    nfsd: Nfsd
    pool: Pool
    context: ServerContext
    ports: Sequence[Interface]
    run: Runner = attempt
    pause: Callable[[float], None] = time.sleep
    problem: str | None = None
    projects: Projects = XFS
    smbd: SmbdSettings = smb.DEFAULTS
    say: Say = silent

    def shares(self, config: Config) -> list[Share]:
        """Return the shares of a desired state on this server."""
        return desired.resolve_all(config, self.context)

    def prepare(self, shares: Sequence[Share]) -> list[str]:
        """Create what shares need beside files; return what keeps them from being served or counted, in words."""
        return services.prepare(self.pool, shares, self.count)

    def count(self, shares: Sequence[Share], created: Collection[str] = ()) -> list[str]:
        """Count directories of shares to their projects and set their limits; return what XFS refuses, in words."""
        return quota.assign(shares, self.pool, self.run, created, self.projects, self.pause, self.say)

    def services(self, config: Config, shares: Sequence[Share]) -> list[RenderedService]:
        """Return what serves a desired state, whose shares are `shares`, with the files that it reads."""
        ports = for_clients(self.ports, config.management)
        return services.services(self.nfsd, self.pool, shares, ports, self.run, config.domain, self.smbd)

    def apply(self, config: Config, force: bool = False) -> RenderReport:
        """Render a desired state and reload the servers; the caller holds its lock.

        NFS comes first. Failed: Samba refuses its smb.conf; the old one stays and NFS serves the new state. A file that
        was edited by hand is kept and reported, or with `force` replaced and a copy kept.
        """
        shares = self.shares(config)
        # Before the exports: without it the kernel gives out no handle of theirs.
        new_key = [str(handle_key.file().relative_to(paths.ROOT))] if handle_key.ensure() else []
        warnings = self.prepare(shares)
        settled = settle(self.services(config, shares), force)
        return RenderReport(
            changed=[f"/{name}" for name in (*new_key, *settled.changed)],
            reloaded=settled.reloaded,
            warnings=[*warnings, *settled.warnings, *filter(None, [self.problem])],
            drift=[f"/{name}" for name in settled.edited],
        )


def this_server() -> ShareServer:
    """Return this server. Failed, BadInput: its pool is not mounted, or it has none."""
    from millrace.plan.policy import policy_in_force
    from millrace.storage.array.machine import Linux
    from millrace.storage.assemble.mounted_pool import verify
    from millrace.system.run import quickly
    from millrace.tune import settings

    pool = verify(Linux())
    ports = net.serving()
    # Every boot and every change pass here as root: what is about to be served by is what a later typo falls back to.
    policy_in_force.save_last_good()
    context = desired.server_context(pool, policy_in_force.in_force(), ports)
    tuning = settings.at_boot(pool, quickly, time.sleep)
    settled = tuning.settings
    return ShareServer(settled.nfsd, pool, context, ports, problem=tuning.problem, smbd=settled.smbd)
