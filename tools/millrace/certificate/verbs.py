# SPDX-License-Identifier: Apache-2.0
"""`millrace certificate …`."""

from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from millrace.certificate.model import CertificateChange, TrustedAuthorities

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_file = click.File("r", encoding="ascii", errors="replace")


@click.group()
def certificate() -> None:
    """Manage the certificate of the web console and of NFS over TLS."""


@certificate.command()
@click.option("--ca", "authority", is_flag=True, help="Print only the CA certificate for clients, as PEM.")
@_json
def show(authority: bool, as_json: bool) -> None:
    """Show subject, names, issuer, expiry date and fingerprint."""
    from millrace.certificate import show as picture

    if authority:
        click.echo(picture.authority_for_clients(), nl=False)
        return
    found = picture.show()
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(picture.rows(found)))


@certificate.command()
@click.argument("sources", nargs=-1, required=True, type=_file, metavar="FILE…")
@_json
def install(sources: tuple[TextIO, ...], as_json: bool) -> None:
    """Install a certificate from PEM files: certificate, intermediates and key; `-` reads stdin.

    Without a key, the certificate must match the last signing request.
    """
    from millrace.certificate.install import install as put

    _report(put(_text(sources)), as_json)


@certificate.command()
@_json
def request(as_json: bool) -> None:
    """Print a certificate signing request (CSR) as PEM; the private key stays on this server."""
    from millrace.certificate.install import request as ask

    made = ask()
    click.echo(made.model_dump_json(indent=2) if as_json else made.pem, nl=as_json)


@certificate.command()
@click.option("--if-needed", is_flag=True, help="Only if the certificate expires soon or lacks a name or an address.")
@click.option(
    "--name", "names", multiple=True, help="Additional host name, stored permanently; repeatable; `none` removes all."
)
@click.option("--own", is_flag=True, help="Replace an installed certificate.")
@click.option(
    "--authority", is_flag=True, help="Also create a new CA; all clients must then import the new CA certificate."
)
@_json
def renew(if_needed: bool, names: tuple[str, ...], own: bool, authority: bool, as_json: bool) -> None:
    """Create a new certificate issued by this server's own CA."""
    from millrace.certificate import renew as make

    if if_needed and (names or own or authority):
        raise click.UsageError("--if-needed cannot be combined with other options.")
    _report(make.ensure() if if_needed else make.renew(names, own, authority), as_json)


@certificate.group()
def trust() -> None:
    """Manage the CAs trusted for client certificates (mtls shares)."""


@trust.command("list")
@_json
def list_(as_json: bool) -> None:
    """List trusted CAs; the first is this server's own."""
    from millrace.certificate.trust import trusted

    _list(trusted(), as_json)


@trust.command()
@click.argument("sources", nargs=-1, required=True, type=_file, metavar="FILE…")
@_json
def add(sources: tuple[TextIO, ...], as_json: bool) -> None:
    """Trust the CAs in PEM files; `-` reads stdin."""
    from millrace.certificate.trust import add as put

    _list(put(_text(sources)), as_json)


@trust.command()
@click.argument("fingerprint")
@_json
def remove(fingerprint: str, as_json: bool) -> None:
    """Remove a trusted CA; a prefix of the fingerprint is sufficient."""
    from millrace.certificate.trust import remove as take

    _list(take(fingerprint), as_json)


def _text(sources: tuple[TextIO, ...]) -> str:
    from millrace.certificate.pem import LARGEST
    from millrace.errors import BadInput

    texts = [source.read(LARGEST + 1) for source in sources]
    if any(len(text) > LARGEST for text in texts):
        raise BadInput("larger than 1 MiB; not a certificate")
    return "\n".join(texts)


def _report(report: "CertificateChange", as_json: bool) -> None:
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    found = report.certificate
    words = f"The certificate was changed ({report.reason})" if report.changed else "Nothing to do"
    named = ", ".join([*found.names, *found.addresses])
    click.echo(f"{words}: {found.subject}, for {named}, until {found.not_after[:10]}.")
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)


def _list(found: "TrustedAuthorities", as_json: bool) -> None:
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.trusted:
        click.echo(f"{one.fingerprint}  to {one.not_after[:10]}  {one.subject}")
