# SPDX-License-Identifier: Apache-2.0
"""What shares contribute to a change: directories, limits, the files of their servers, and whether they are served."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial

from millrace.serve.config import domain_names
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.domain import accounts, keys
from millrace.serve.render.registry import Change, RenderedService, RenderPart
from millrace.serve.share import (
    client_snapshots,
    directories,
    handle_key,
    permissions,
    quota,
    verify_nfs,
    verify_smb,
)
from millrace.serve.share.cleanup import clean_up
from millrace.serve.share.direct import service as direct
from millrace.serve.share.direct import verify as verify_direct
from millrace.serve.share.model import Share
from millrace.serve.share.server import ShareServer
from millrace.serve.share.services import CHILD_QUOTA, restart_child_quota
from millrace.system.errors import Failed, Refused
from millrace.system.names import several
from millrace.system.run import Runner, must
from millrace.system.units import is_active

CLOSED_BY_NAME = 32
"""So many shares are closed one by one where their access changes; of more, as in an import, all at once."""


class ShareChange(RenderPart):
    """The shares of a change. `server` is called once, when they are to be served."""

    def __init__(self, server: Callable[[], ShareServer]) -> None:
        self._server = server
        self._resolved: tuple[Config, list[Share]] | None = None

    @cached_property
    def server(self) -> ShareServer:
        """The server that serves them."""
        return self._server()

    def shares(self, config: Config) -> list[Share]:
        """Return all shares of a state, resolved once."""
        if self._resolved is None or self._resolved[0] is not config:
            self._resolved = (config, self.server.shares(config))
        return self._resolved[1]

    def prepare(self, change: Change) -> None:
        """Create the directories of changed shares and set their limits.

        Refused, Failed: one cannot be created or served.
        """
        run = self.server.run
        clean_up(run)
        changed = self._changed(change)
        change.say(f"Creating or changing shares ({len(changed)})")
        refuse_unmet(changed, run)
        _refuse_foreign_homes(changed)
        created: list[Share] = []
        homes = {share.name for share in change.old.shares if share.type == "home"}
        for share in changed:
            before = directories.close(share)
            # One that was of homes before stays closed.
            if before and share.name not in homes:
                change.on_failure(partial(directories.reopen, share, before))
            if directories.create(share):
                created.append(share)
                change.on_failure(partial(directories.remove_empty, share))
        self._set_rules(changed, created, change)
        # once more: until it was closed others could make directories there
        _refuse_foreign_homes(changed)
        self._limit(changed, created, change)
        handle_key.ensure()
        mountpoint = self.server.pool.filesystem.mountpoint
        change.on_failure(lambda: client_snapshots.settle(self.shares(change.old), mountpoint))
        change.warnings += self.server.prepare(self.shares(change.new))

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the servers of NFS and SMB, and the files that they read."""
        return self.server.services(config, self.shares(config))

    def verify(self, change: Change) -> None:
        """Mount and open what changed. Failed: it is not served, or still served."""
        server, new = self.server, change.new
        _disconnect(change, server)
        direct.disconnect(change.old, change.new, server.run)
        changed = self._changed(change)
        served = {share.name for share in new.shares}
        gone = [share.name for share in change.old.shares if share.name not in served]
        if changed or gone:
            change.say(f"Verifying shares over NFS and SMB ({len(changed) + len(gone)})")
            paths_gone = [f"{server.context.mountpoint}/{name}" for name in gone]
            change.verified += verify_nfs.verify(changed, paths_gone, new.domain, server.run)
            change.verified += verify_smb.verify(changed, gone, new.domain, server.run, server.pause)
            change.verified += verify_direct.verify(changed, self.shares(new), new, server)

    def _changed(self, change: Change) -> list[Share]:
        old, new = change.old, change.new
        moved = old.nfs != new.nfs
        before = {one.name: one for one in old.shares}
        names = {one.name for one in new.shares if one != before.get(one.name) or (moved and one.nfs.follows_networks)}
        return [one for one in self.shares(new) if one.name in names]

    def _set_rules(self, changed: Sequence[Share], created: Sequence[Share], change: Change) -> None:
        """Set the top directories of shares whose rule is new; one that stays each user's own keeps its mode."""
        for share in changed:
            before, after = change.old.share(share.name), change.new.share(share.name)
            assert after is not None
            rule = permissions.rule(after)
            if rule is None or share in created:
                continue
            if before is None and rule.default is None:
                continue
            if before is not None and (permissions.rule(before), before.group) == (rule, after.group):
                continue
            state = directories.set_rule(share)
            if state is not None:
                change.on_failure(partial(directories.reopen, share, state))
                widened = directories.opened_again(share, state) if before is None else None
                change.warnings += [widened] if widened else []
        change.warnings += [sentence for share in changed for sentence in _without_group(share, change.new)]

    def _limit(self, changed: Sequence[Share], created: Sequence[Share], change: Change) -> None:
        pool, run = self.server.pool, self.server.run
        if quota.enabled(pool.filesystem.mountpoint):
            change.on_failure(lambda: self.server.count(self.shares(change.old)))
            before = {share.project for share in change.old.shares if share.child_size}
            joined = [share for share in changed if share.project in before and share.child_size is None]
            if joined:
                # it would give each directory a project again; what is rendered for it is another then, which starts it
                must(run, ["systemctl", "stop", CHILD_QUOTA])
                change.on_failure(lambda: restart_child_quota(run))
            complaints = self.server.count(changed, {share.name for share in (*created, *joined)})
            if complaints:
                raise Failed(complaints[0])
            quota.lift([share.project for share in joined], pool.filesystem.mountpoint, run)
            return
        limited = [share.name for share in changed if share.size or share.soft_size or share.child_size]
        if limited:
            raise Refused(
                f"{several(limited)} cannot have a limit: the pool is mounted without project quotas (the option "
                "prjquota)"
            )


def refuse_unmet(shares: Sequence[Share], run: Runner) -> None:
    """Verify what shares require of the domain, and of this server for SMB Direct; each requirement once.

    Refused: the domain does not know a user or group, Kerberos has no key, or SMB Direct is not to be had.
    """
    for share in shares:
        if share.direct is not None and share.direct.obstacle is not None:
            raise Refused(f"{share.name} cannot be served over SMB Direct: {share.direct.obstacle}")
    smb = [share.smb for share in shares if share.smb is not None]
    users = dict.fromkeys(name for access in smb for name in access.users)
    groups = dict.fromkeys(name for access in smb for name in access.groups)
    groups |= dict.fromkeys(share.group for share in shares if share.group is not None)
    accounts.refuse_unknown(list(users), list(groups), run)
    needing_key = next((share.name for share in shares if share.kerberos), None)
    if needing_key is not None:
        keys.refuse_without_key(needing_key, run)


def _disconnect(change: Change, server: ShareServer) -> None:
    """Close shares for who was let in by the old rules; smbd asks the new ones when a share is opened again."""
    after = {one.name: one for one in change.new.shares}
    names = [one.name for one in change.old.shares if one.smb.enabled and _access_changed(one, after.get(one.name))]
    if names and is_active("smbd.service", server.run):
        # smbcontrol takes one name a process; clients of shares that did not change connect again by themselves
        for name in names if len(names) <= CLOSED_BY_NAME else ["*"]:
            server.run(["smbcontrol", "smbd", "close-share", name])


def _without_group(share: Share, config: Config) -> list[str]:
    """Return users who open a share over SMB and who can do nothing in it, in words."""
    side = share.smb or share.direct
    if share.writing != "together" or share.group is None or side is None:
        return []
    members = {user.name for user in config.users if share.group in user.groups}
    if domain_names.in_domain(share.group):
        return []
    lost = [name for name in side.users if name not in members and not domain_names.in_domain(name)]
    return [f"{name} is not in group {share.group}, which {share.name} is for, and cannot read it" for name in lost]


def _refuse_foreign_homes(shares: Sequence[Share]) -> None:
    found = [sentence for share in shares for sentence in directories.foreign_homes(share)]
    if found:
        raise Refused(found[0])


def _access_changed(before: DesiredShare, after: DesiredShare | None) -> bool:
    return after is None or after.smb != before.smb or after.type != before.type
