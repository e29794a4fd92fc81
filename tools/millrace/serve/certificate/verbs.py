# SPDX-License-Identifier: Apache-2.0
"""`millrace certificate …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import click

from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.certificate.model import CertificateChange, TrustedAuthorities

_change = prints("millrace.serve.certificate.model:CertificateChange")
_trusted = prints("millrace.serve.certificate.model:TrustedAuthorities")
_file = click.File("r", encoding="ascii", errors="replace")


@click.group(cls=VerbGroup)
def certificate() -> None:
    """Manage the certificate of the web console and of NFS over TLS."""


@certificate.command()
@click.option("--ca", "authority", is_flag=True, help="Print only the CA certificate for clients, as PEM.")
@prints("millrace.serve.certificate.model:CertificateReport")
def show(authority: bool, show: Output) -> None:
    """Show subject, names, issuer, expiry date and fingerprint."""
    from millrace.serve.certificate import certificate_status as picture

    if authority:
        click.echo(picture.authority_for_clients(), nl=False)
        return
    show(picture.show(), picture.rows)


@certificate.command()
@click.argument("sources", nargs=-1, required=True, type=_file, metavar="FILE…")
@_change
def install(sources: tuple[TextIO, ...], show: Output) -> None:
    """Install a certificate from PEM files: certificate, intermediates and key; `-` reads stdin.

    Without a key, the certificate must match the last signing request.
    """
    from millrace.serve.certificate.install import install as install_pair

    _report(install_pair(_text(sources)), show)


@certificate.command()
@prints("millrace.serve.certificate.model:CertificateRequest")
def request(show: Output) -> None:
    """Print a certificate signing request (CSR) as PEM; the private key stays on this server."""
    from millrace.serve.certificate.install import request as create_request

    show(create_request(), lambda made: [made.pem.removesuffix("\n")])


@certificate.command()
@click.option("--if-needed", is_flag=True, help="Only if the certificate expires soon or lacks a name or an address.")
@click.option(
    "--name", "names", multiple=True, help="Additional host name, stored permanently; repeatable; `none` removes all."
)
@click.option("--own", is_flag=True, help="Replace an installed certificate.")
@click.option(
    "--authority", is_flag=True, help="Also create a new CA; all clients must then import the new CA certificate."
)
@click.option(
    "--successor", is_flag=True, help="Use the next CA now; clients that have not imported it reject the certificate."
)
@_change
def renew(if_needed: bool, names: tuple[str, ...], own: bool, authority: bool, successor: bool, show: Output) -> None:
    """Create a new certificate issued by this server's own CA."""
    from millrace.serve.certificate import renew as renewal

    if if_needed and (names or own or authority or successor):
        raise click.UsageError("--if-needed cannot be combined with other options.")
    if authority and successor:
        raise click.UsageError("--authority cannot be combined with --successor.")
    issuer: renewal.Issuer = "new" if authority else "successor" if successor else "present"
    _report(renewal.ensure() if if_needed else renewal.renew(names, own, issuer), show)


@certificate.group(cls=VerbGroup)
def trust() -> None:
    """Manage the CAs trusted for client certificates (mtls shares)."""


@trust.command("list")
@_trusted
def list_(show: Output) -> None:
    """List trusted CAs; the first is this server's own."""
    from millrace.serve.certificate.trust import trusted

    show(trusted(), _authorities)


@trust.command()
@click.argument("sources", nargs=-1, required=True, type=_file, metavar="FILE…")
@_trusted
def add(sources: tuple[TextIO, ...], show: Output) -> None:
    """Trust the CAs in PEM files; `-` reads stdin."""
    from millrace.serve.certificate.trust import add as add_trusted

    show(add_trusted(_text(sources)), _authorities)


@trust.command()
@click.argument("fingerprint")
@_trusted
def remove(fingerprint: str, show: Output) -> None:
    """Remove a trusted CA; a prefix of the fingerprint is sufficient."""
    from millrace.serve.certificate.trust import remove as remove_trusted

    show(remove_trusted(fingerprint), _authorities)


@trust.command()
@click.argument("sources", nargs=-1, required=True, type=_file, metavar="FILE…")
@_trusted
def crl(sources: tuple[TextIO, ...], show: Output) -> None:
    """Use the revocation lists (CRL) of trusted CAs in PEM files; each replaces that CA's previous list."""
    from millrace.serve.certificate.trust import revoke

    show(revoke(_text(sources)), _authorities)


def _text(sources: tuple[TextIO, ...]) -> str:
    from millrace.serve.certificate.pem import LARGEST
    from millrace.system.errors import BadInput

    texts = [source.read(LARGEST + 1) for source in sources]
    if any(len(text) > LARGEST for text in texts):
        raise BadInput("larger than 1 MiB; not a certificate")
    return "\n".join(texts)


def _report(report: "CertificateChange", show: Output) -> None:
    show(report, _changed, report.warnings)


def _changed(report: "CertificateChange") -> Iterator[str]:
    found = report.certificate
    words = f"The certificate was changed ({report.reason})" if report.changed else "Nothing to do"
    named = ", ".join([*found.names, *found.addresses])
    yield f"{words}: {found.subject}, for {named}, until {found.not_after[:10]}."


def _authorities(found: "TrustedAuthorities") -> Iterator[str]:
    rows = [(one.fingerprint, one.not_after[:10], one.subject) for one in found.trusted]
    yield from table(("Fingerprint", "Valid until", "Subject"), rows)
    if found.revocations:
        lists = [(one.issuer, str(one.revoked), (one.next_update or "never")[:10]) for one in found.revocations]
        yield from ["", *table(("Revocation list of", "Revoked", "Next update"), lists)]
