# SPDX-License-Identifier: Apache-2.0
"""The server certificate that this server's own CA issues."""

from datetime import timedelta

from millrace.serve.certificate import authority, files, pem, x509
from millrace.serve.certificate.identity import LOOPBACK_ADDRESSES, LOOPBACK_NAMES, ServerIdentity
from millrace.serve.certificate.model import Current

# Browsers refuse server certificates of more than 398 days.
SERVER_VALIDITY = timedelta(days=395)


def issue(server: ServerIdentity) -> Current:
    """Issue a server certificate with a new key and use it."""
    certified = authority.certifiable(server)
    names = list(dict.fromkeys([*certified.names, *LOOPBACK_NAMES]))
    addresses = list(dict.fromkeys([*certified.addresses, *LOOPBACK_ADDRESSES]))
    key = x509.new_key()
    name = names[0].partition(".")[0][:64]
    chain = x509.issue("server", key, name, names, addresses, SERVER_VALIDITY, authority.pair())
    about = Current(
        origin="own",
        certificate=x509.describe(chain),
        chain=1,
        sha256=pem.digest(chain),
        covers=[*certified.names, *certified.addresses],
    )
    files.activate(
        {
            files.CHAIN: chain,
            files.KEY: key,
            files.PEER: authority.pair()[0],
            files.ABOUT: about.model_dump_json(indent=2) + "\n",
        }
    )
    return about
