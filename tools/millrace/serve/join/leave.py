# SPDX-License-Identifier: Apache-2.0
"""Leave a domain: nothing of the membership remains here, and its account is deleted where `account` may do that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from millrace.serve.config import store
from millrace.serve.config.domain_names import in_domain, joining_account
from millrace.serve.config.model import Config, Domain
from millrace.serve.domain import files, services, ticket
from millrace.serve.domain.model import MembershipChange
from millrace.serve.domain.net import Net
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Change, RenderedService, RenderPart
from millrace.serve.share import handle_key, verify_smb
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused
from millrace.system.run import last_words
from millrace.system.users import invoking_user, only_root

KEPT = "the account {machine} stays in {zone}: disable or delete it there"


@dataclass
class LeaveChange(RenderPart):
    """The end of a membership: its account in the domain is deleted first, while this server can still request that."""

    account: str | None
    password: str = field(repr=False)
    server: ShareServer

    def prepare(self, change: Change) -> None:
        """Delete the account where requested, which cannot be undone. Refused: the domain refuses."""
        domain = _joined(change.old)
        if self.account is None:
            change.warnings.append(KEPT.format(machine=domain.machine, zone=domain.zone))
        else:
            change.warnings += _delete(domain, self.account, self.password, Net(self.server.run))
            change.verified.append(f"the account {domain.machine} is deleted in {domain.zone}")
        change.final = True
        (paths.ROOT / files.KEYTAB).unlink(missing_ok=True)
        handle_key.ensure()
        change.warnings += self.server.prepare(self.server.shares(change.new))

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the servers of NFS and SMB, and the files that they and a member read."""
        return self.server.services(config, self.server.shares(config))

    def verify(self, change: Change) -> None:
        """Stop the daemons of a member. Refused: the old state has no domain. Failed: shares do not open without it."""
        server = self.server
        services.stop(server.run)
        if _joined(change.old).dns:
            services.reload_dns(server.run)
        change.verified += verify_smb.verify(server.shares(change.new), [], None, server.run, server.pause)


def leave(
    account: str | None, password: str | None, server: Callable[[], ShareServer] = this_server
) -> MembershipChange:
    """Leave the domain; with `account` also delete the domain's account of this server.

    BadInput: `account` is no name of an account. Refused: the server is no member, a share needs the domain, or the
    domain does not let `account` delete this server's.
    """
    only_root()
    if account is not None:
        try:
            joining_account(account)
        except ValueError as error:
            raise BadInput(str(error)) from error
    host = server()
    done = Reconciliation([LeaveChange(account, password or "", host)])

    def mutate(config: Config) -> Config:
        _refuse(config)
        return config.model_copy(update={"domain": None})

    left = _joined(store.load())
    config = store.change(invoking_user(), f"domain leave {left.zone}", mutate, done)
    return MembershipChange(serial=config.serial, domain=None, verified=done.verified, warnings=done.warnings)


def _delete(domain: Domain, account: str, password: str, net: Net) -> list[str]:
    """Delete the machine account, and what could not be deleted beside it, in words."""
    with ticket.of_account(domain, account, password, net) as cache:
        name = net.ads("dns", "unregister", domain.host_name, "-P")
        result = net.ads("leave", f"--use-krb5-ccache={cache}", "--use-kerberos=required")
    if result.status != 0:
        raise Refused(f"{domain.zone} does not let {account} delete {domain.machine}: {last_words(result)}")
    return [] if name.status == 0 else [f"the name {domain.host_name} stays in the domain's DNS: delete it there"]


def _joined(config: Config) -> Domain:
    if config.domain is None:
        raise Refused("this server is not a member of a domain; nothing was changed")
    return config.domain


def _refuse(config: Config) -> None:
    _joined(config)
    for share in config.shares:
        todo = command("millrace share set", share.name)
        named = next((one for one in (*share.smb.users, *share.named_groups) if in_domain(one)), None)
        if named:
            raise Refused(f"the share {share.name} names {named}: remove it there first ({todo})")
        client = next((one.client for one in share.nfs.clients if set(one.sec) != {"sys"}), None)
        if client:
            raise Refused(f"the share {share.name} lets {client} in with Kerberos: change that first ({todo})")
