# SPDX-License-Identifier: Apache-2.0
"""Certificates of this server's own CA, which is created once, and what it signs."""

import secrets
from datetime import timedelta

from millrace.serve.certificate import files, pem, x509
from millrace.serve.certificate.identity import LOOPBACK_ADDRESSES, LOOPBACK_NAMES, ServerIdentity, is_early
from millrace.serve.certificate.model import Current
from millrace.system.files import write_text

# Another CA has to be installed on each client by hand.
AUTHORITY_VALIDITY = timedelta(days=7300)
# Browsers refuse server certificates of more than 398 days.
SERVER_VALIDITY = timedelta(days=395)


def ensure_authority(server: ServerIdentity, replace: bool = False) -> bool:
    """Create the CA and the certificate for verification where they are missing or to be replaced.

    One that is not valid yet, made by a clock that was ahead, counts as missing: no client trusts it. Return whether
    the CA was created.
    """
    certificate, key = files.authority()
    replace = replace or (certificate.exists() and is_early(x509.describe(certificate.read_text())))
    make = replace or not certificate.exists() or not key.exists()
    if make:
        # Every server's CA has a name of its own: clients distinguish the CAs of several servers by it.
        name = f"Millrace authority {server.common_name[:36]} {secrets.token_hex(4)}"
        made = x509.new_key()
        text = x509.issue("authority", made, name, [], [], AUTHORITY_VALIDITY, None)
        # The certificate last: without it all is made again after a power cut.
        certificate.unlink(missing_ok=True)
        write_text(key, made, mode=files.PRIVATE)
        write_text(certificate, text)
        files.loopback_pair()[0].unlink(missing_ok=True)
    if not all(path.exists() for path in files.loopback_pair()) or is_early(
        x509.describe(files.loopback_pair()[0].read_text())
    ):
        made = x509.new_key()
        name = f"Millrace look {server.common_name[:48]}"
        issued = x509.issue("look", made, name, [], [], AUTHORITY_VALIDITY, _authority())
        write_text(files.loopback_pair()[1], made, mode=files.PRIVATE)
        write_text(files.loopback_pair()[0], issued)
    _trust_the_authority()
    return make


def issue(server: ServerIdentity) -> Current:
    """Issue a server certificate with a new key and use it."""
    names = list(dict.fromkeys([*server.names, *LOOPBACK_NAMES]))
    addresses = list(dict.fromkeys([*server.addresses, *LOOPBACK_ADDRESSES]))
    key = x509.new_key()
    chain = x509.issue("server", key, server.common_name, names, addresses, SERVER_VALIDITY, _authority())
    about = Current(
        origin="own",
        certificate=x509.describe(chain),
        chain=1,
        sha256=pem.digest(chain),
        covers=[*server.names, *server.addresses],
    )
    files.activate(
        {
            files.CHAIN: chain,
            files.KEY: key,
            files.PEER: files.authority()[0].read_text(),
            files.ABOUT: about.model_dump_json(indent=2) + "\n",
        }
    )
    return about


def _authority() -> tuple[str, str]:
    certificate, key = files.authority()
    return certificate.read_text(), key.read_text()


def _trust_the_authority() -> None:
    """tlshd takes every authority of the system where its own file is missing or empty: it never is."""
    own = files.authority()[0].read_text()
    others = pem.certificates(files.trusted().read_text())[1:] if files.trusted().exists() else []
    write_text(files.trusted(), own + "".join(others))
