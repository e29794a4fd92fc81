# SPDX-License-Identifier: Apache-2.0
"""Become a member of a domain: verified first, then joined, then verified to work; else everything is as before."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from millrace.serve.config import store
from millrace.serve.config.domain_names import joining_account, organisational_unit
from millrace.serve.config.model import Config, Domain
from millrace.serve.domain import files, services, ticket
from millrace.serve.domain.model import MembershipChange
from millrace.serve.domain.net import Net, private_directory, read_only_net
from millrace.serve.join import conditions
from millrace.serve.render.reconcile import Reconciliation, settle
from millrace.serve.render.registry import Change, RenderedService, RenderPart, Settled
from millrace.serve.share import smb, verify_smb
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed
from millrace.system.files import write_text
from millrace.system.net import Interface
from millrace.system.run import Runner, last_words
from millrace.system.users import invoking_user, only_root

_NO_NAME = re.compile(r"dns update|perform dns", re.IGNORECASE)
NO_NAME = (
    "the DNS update of {name} in the domain failed: add an A record of this server there, clients mount by that name"
)


@dataclass(frozen=True)
class JoinRequest:
    """The options of the verb. `dns` are addresses of the domain's DNS servers, `unit` is for the machine account."""

    realm: str
    account: str
    password: str = field(repr=False)
    dns: tuple[str, ...] = ()
    unit: str | None = None

    def checked(self) -> Domain:
        """Return the domain, with a short name that only the domain itself knows. BadInput: an option is not valid."""
        try:
            joining_account(self.account)
            if self.unit is not None:
                organisational_unit(self.unit)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if not self.password or not self.password.isprintable():
            raise BadInput("a password is one line of printable characters")
        guess = self.realm.partition(".")[0][:15]
        machine = conditions.machine_name()
        return checked(lambda: Domain(realm=self.realm, workgroup=guess, machine=machine, dns=list(self.dns)))


@dataclass
class JoinChange(RenderPart):
    """The membership of a change: joined first, then served, then trusted."""

    request: JoinRequest
    server: ShareServer
    net: Net
    ticket: str

    def prepare(self, change: Change) -> None:
        """Join. Failed: the domain refuses this server."""
        domain = change.new.domain
        assert domain is not None
        change.on_failure(lambda: services.stop(self.server.run))
        change.on_failure(self._leave)
        self._join(domain, change)
        change.warnings += self.server.prepare(self.server.shares(change.new))

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the servers of NFS and SMB, and the files that they and a member read."""
        return self.server.services(config, self.server.shares(config))

    def verify(self, change: Change) -> None:
        """Start the daemons of a member. Failed: the domain does not trust this server, or shares do not open."""
        server, domain = self.server, change.new.domain
        assert domain is not None
        services.start(server.run)
        change.verified.append(services.verify_trust(domain, server.run, server.pause))
        change.verified += verify_smb.verify(server.shares(change.new), [], domain, server.run, server.pause)

    def _join(self, domain: Domain, change: Change) -> None:
        where = [f"createcomputer={self.request.unit}"] if self.request.unit else []
        result = self.net.ads("join", *self._identity(), f"dnshostname={domain.host_name}", "osName=Millrace", *where)
        if result.status != 0:
            raise Failed(f"joining {domain.zone} failed: {last_words(result)}")
        if _NO_NAME.search(result.out + result.err):
            change.warnings.append(NO_NAME.format(name=domain.host_name))
        # Windows knows HOST for CIFS and more, but not for NFS.
        result = self.net.ads("setspn", "add", f"nfs/{domain.host_name}", "-P")
        if result.status != 0:
            raise Failed(f"registering the NFS service in {domain.zone} failed: {last_words(result)}")
        change.verified.append(f"{domain.machine} is a member of {domain.zone}")

    def _leave(self) -> None:
        self.net.ads("leave", *self._identity())
        (paths.ROOT / files.KEYTAB).unlink(missing_ok=True)

    def _identity(self) -> list[str]:
        return [f"--use-krb5-ccache={self.ticket}", "--use-kerberos=required"]


def join(request: JoinRequest, server: Callable[[], ShareServer] = this_server) -> MembershipChange:
    """Join a domain. BadInput: an option is not valid. Refused: a condition does not hold, with one sentence."""
    only_root()
    guess = request.checked()
    conditions.not_joined(store.load())
    conditions.no_foreign_kerberos()
    host = server()
    with _resolving(guess, host.run), read_only_net(guess, host.run) as first:
        conditions.dns_finds(guess, host.run)
        controller = conditions.controller_answers(first)
        conditions.accepts_ldap(controller)
        conditions.clocks_agree(first)
        domain = checked(lambda: Domain.model_validate(guess.model_dump() | {"workgroup": controller.workgroup}))
        with (
            _candidate(domain, host.ports, host.run) as net,
            ticket.of_account(domain, request.account, request.password, net) as cache,
        ):
            done = Reconciliation([JoinChange(request, host, net, cache)])

            def mutate(config: Config) -> Config:
                conditions.not_joined(config)
                return config.model_copy(update={"domain": domain})

            config = store.change(invoking_user(), f"domain join {domain.zone} as {domain.machine}", mutate, done)
    verified = [f"{controller.name} answers for {domain.zone}", *done.verified]
    return MembershipChange(serial=config.serial, domain=domain, verified=verified, warnings=done.warnings)


@contextmanager
def _candidate(domain: Domain, ports: Sequence[Interface], run: Runner) -> Iterator[Net]:
    """`net` as it will be once `domain` is joined, with nothing changed under /etc."""
    with private_directory() as directory:
        write_text(directory / "smb.conf", smb.configuration([], ports, domain))
        write_text(directory / "krb5.conf", files.krb5(domain))
        yield Net(run, directory)


@contextmanager
def _resolving(domain: Domain, run: Runner) -> Iterator[None]:
    """Ask the domain's DNS server for its names; not any more if this ends with an error."""
    if not domain.dns:
        yield
        return
    _render_dns(domain, run)
    try:
        yield
    except BaseException:
        _render_dns(None, run)
        raise


def _render_dns(domain: Domain | None, run: Runner) -> None:
    """Render where names of the domain are asked for, and nothing else of a member."""

    def reload(settled: Settled) -> bool:
        services.reload_dns(run)
        return True

    with store.config_lock():
        settle([RenderedService(services.RESOLVED, [files.delegate(domain)], reload)], force=True)
