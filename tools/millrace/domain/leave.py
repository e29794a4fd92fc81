# SPDX-License-Identifier: Apache-2.0
"""Leave a domain: nothing of the membership stays here, and its account goes where somebody may delete it."""

from collections.abc import Callable

from millrace import paths
from millrace.errors import BadInput, MillraceError, Refused
from millrace.membership import files, services, ticket
from millrace.membership.model import MembershipChange
from millrace.membership.net import Net
from millrace.share import truth_smb
from millrace.share.server import Server, this_server
from millrace.state import store
from millrace.state.domain_names import in_domain, joining_account
from millrace.state.model import Config, Domain
from millrace.system.run import last_words
from millrace.system.users import only_root, who

KEPT = "the account {machine} stays in {zone}: disable or delete it there"


def leave(account: str | None, password: str | None, server: Callable[[], Server] = this_server) -> MembershipChange:
    """Leave; with an account the domain's account of this server is deleted, too.

    Refused while a share needs the domain.
    """
    only_root()
    if account is not None:
        try:
            joining_account(account)
        except ValueError as error:
            raise BadInput(str(error)) from error
    here = server()
    verified: list[str] = []
    warnings: list[str] = []

    def mutate(config: Config) -> Config:
        _refuse(config)
        return config.model_copy(update={"domain": None})

    def effect(old: Config, new: Config) -> None:
        domain = _joined(old)
        if account is None:
            warnings.append(KEPT.format(machine=domain.machine, zone=domain.zone))
        else:
            warnings.extend(_delete(domain, account, password or "", Net(here.run)))
            verified.append(f"the account {domain.machine} is deleted in {domain.zone}")
        # From here on there is no way back: what goes wrong is told, and this server is a member no more.
        try:
            verified.extend(_serve_alone(here, new, domain, warnings))
        except MillraceError as error:
            warnings.append(f"{error}; see millrace health")

    left = _joined(store.load())
    config = store.change(who(), f"domain leave {left.zone}", mutate, effect)
    return MembershipChange(serial=config.serial, domain=None, verified=verified, warnings=warnings)


def _delete(domain: Domain, account: str, password: str, net: Net) -> list[str]:
    """Delete the machine account, and what could not be deleted beside it, in words."""
    with ticket.of_account(domain, account, password, net) as cache:
        name = net.ads("dns", "unregister", domain.host_name, "-P")
        result = net.ads("leave", f"--use-krb5-ccache={cache}", "--use-kerberos=required")
    if result.status != 0:
        raise Refused(f"{domain.zone} does not let {account} delete {domain.machine}: {last_words(result)}")
    return [] if name.status == 0 else [f"the name {domain.host_name} stays in the domain's DNS: delete it there"]


def _serve_alone(here: Server, new: Config, domain: Domain, warnings: list[str]) -> list[str]:
    (paths.ROOT / files.KEYTAB).unlink(missing_ok=True)
    warnings.extend(here.apply(new, force=True).warnings)
    services.stop(here.run)
    if domain.dns:
        services.reload_dns(here.run)
    return truth_smb.verify(here.shares(new), [], None, here.run, here.pause)


def _joined(config: Config) -> Domain:
    if config.domain is None:
        raise Refused("this server is not a member of a domain; nothing was changed")
    return config.domain


def _refuse(config: Config) -> None:
    _joined(config)
    for share in config.shares:
        todo = f"millrace share set {share.name}"
        named = next((one for one in (*share.smb.users, *share.smb.groups) if in_domain(one)), None)
        if named:
            raise Refused(f"the share {share.name} names {named}: remove it there first ({todo})")
        client = next((one.client for one in share.nfs.clients if set(one.sec) != {"sys"}), None)
        if client:
            raise Refused(f"the share {share.name} lets {client} in with Kerberos: change that first ({todo})")
