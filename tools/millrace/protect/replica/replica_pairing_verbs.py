# SPDX-License-Identifier: Apache-2.0
"""`millrace replica certificate`, and on the source `allow` and `deny`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import click

from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.protect.replica.replica_model import ReplicaChange

_MODEL = "millrace.protect.replica.replica_model"
_change = prints(f"{_MODEL}:ReplicaChange")


@click.command()
@prints(f"{_MODEL}:ReplicaCertificate")
def certificate(show: Output) -> None:
    """Print the CA of this server as PEM, which sources of its replicas are to know."""
    from millrace.protect.replica.replica_pairing import certificate as own

    made = own()
    show(made, lambda shown: shown.authority.splitlines())
    click.echo(f"fingerprint {made.fingerprint}", err=True)


@click.command()
@click.argument("share", shell_complete=SHARES)
@click.argument("address")
@click.argument("authority", type=click.File("r", encoding="ascii", errors="replace"), metavar="FILE")
@click.option("--fingerprint", help="First 32 or more digits of the fingerprint of the CA; without it, prompted for.")
@_change
def allow(share: str, address: str, authority: TextIO, fingerprint: str | None, show: Output) -> None:
    """Let the server at ADDRESS have a replica of SHARE: it may read the snapshots of the share over mutual TLS.

    FILE has the CA of that server (`millrace replica certificate` there; `-` reads stdin). It is trusted for
    certificates of all clients with mutual TLS.
    """
    from millrace.protect.replica import replica_pairing
    from millrace.serve.share.server import this_server

    text, known = confirmed(authority, fingerprint)
    show(replica_pairing.allow(share, address, text, known, this_server), _changed)


@click.command()
@click.argument("share", shell_complete=SHARES)
@click.argument("address")
@_change
def deny(share: str, address: str, show: Output) -> None:
    """No longer let the server at ADDRESS read the snapshots of SHARE; what it has stays there."""
    from millrace.protect.replica import replica_pairing
    from millrace.serve.share.server import this_server

    show(replica_pairing.deny(share, address, this_server), _changed)


def confirmed(authority: TextIO, fingerprint: str | None) -> tuple[str, str]:
    """Return the PEM text of a CA and its fingerprint, which the user confirmed. BadInput: it is none, or not that."""
    from millrace.protect.replica import replica_pairing
    from millrace.serve.certificate.pem import LARGEST
    from millrace.system.prompt import repeated

    def ask(known: str) -> str:
        click.echo(f"The fingerprint of the CA is {known}", err=True)
        return repeated("First 32 digits or more, as the other server shows them", "--fingerprint DIGITS")

    text = authority.read(LARGEST)
    return text, replica_pairing.confirmed(text, fingerprint, ask)


def _changed(change: "ReplicaChange") -> Iterator[str]:
    yield from change.done
    yield from change.warnings
