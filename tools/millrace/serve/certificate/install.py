# SPDX-License-Identifier: Apache-2.0
"""A certificate of the site's CA: verified completely, then used by all services at once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography.x509.oid import ExtendedKeyUsageOID

from millrace.serve.certificate import authority, cockpit, files, pem, x509
from millrace.serve.certificate.identity import Ports, covers, days_left, identity, missing
from millrace.serve.certificate.model import Certificate, CertificateChange, CertificateRequest, Current
from millrace.system import ages, net
from millrace.system.errors import BadInput, Refused
from millrace.system.files import write_text
from millrace.system.users import only_root

SOON_DAYS = 30
_SERVER = x509.PURPOSES[ExtendedKeyUsageOID.SERVER_AUTH]
_ANY = x509.PURPOSES[ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]


def install(text: str, ports: Ports = net.serving) -> CertificateChange:
    """Install the certificate, its intermediates and the key in `text` (PEM); the key may be that of the last request.

    BadInput: certificates and key do not belong together. Refused: clients would reject the certificate.
    """
    only_root()
    bundle = pem.split(text)
    if not bundle.certificates:
        raise BadInput("no certificate in the input; provide certificate and key")
    with files.certificate_lock():
        asked = files.request_key().read_text() if files.request_key().exists() else None
        key, leaf = _pair(bundle, asked)
        chain = _chain(leaf, [certificate for certificate in bundle.certificates if certificate != leaf])
        description = x509.describe(leaf)
        _refuse(description)
        server = identity(files.settings().names, ports)
        authority.ensure(server)
        text = "".join(chain)
        used = Current(
            origin="installed",
            certificate=description,
            chain=len(chain),
            sha256=pem.digest(text),
            covers=covers(description, server),
        )
        files.activate(
            {files.CHAIN: text, files.KEY: key, files.PEER: text, files.ABOUT: used.model_dump_json(indent=2) + "\n"}
        )
        files.request_key().unlink(missing_ok=True)
        cockpit.link()
    cockpit.restart()
    warnings = []
    if not used.covers:
        warnings.append(
            f"it names none of {', '.join([*server.names, *server.addresses])}: use the names of the certificate"
        )
    elif lacking := missing(description, server):
        warnings.append(f"clients that use {', '.join(lacking)} will reject it")
    if days_left(description) < SOON_DAYS:
        warnings.append(f"it ends on {description.not_after[:10]}")
    return CertificateChange(
        changed=True, reason="installed", origin="installed", certificate=description, warnings=warnings
    )


def request(ports: Ports = net.serving) -> CertificateRequest:
    """Return a signing request with a new key, which stays here until the certificate is installed."""
    only_root()
    with files.certificate_lock():
        server = identity(files.settings().names, ports)
        key = x509.new_key()
        made = x509.request(key, server.names[0][:64], server.names, server.addresses)
        write_text(files.request_key(), key, mode=files.PRIVATE)
    return CertificateRequest(names=server.names, addresses=server.addresses, pem=made)


def _pair(bundle: pem.Bundle, asked: str | None) -> tuple[str, str]:
    """The key and the certificate that it fits."""
    if len(bundle.keys) > 1:
        raise BadInput("more than one private key in the input; provide only the key of the certificate")
    if not bundle.keys and asked is None:
        raise BadInput("no private key in the input and no open signing request; provide the key too")
    key = x509.plain_key(bundle.keys[0]) if bundle.keys else asked
    assert key is not None
    public = x509.public_of_key(key)
    for certificate in bundle.certificates:
        if x509.public_of(certificate) == public:
            return key, certificate
    whose = "the private key" if bundle.keys else "the key of the last request"
    raise BadInput(f"{whose} matches none of the certificates; nothing was changed")


def _chain(leaf: str, others: Sequence[str]) -> list[str]:
    """The certificates in the order in which each was signed by the next; BadInput where one has no place in it."""
    chain, left = [leaf], list(dict.fromkeys(others))
    while left:
        following = next((certificate for certificate in left if x509.signed_by(chain[-1], certificate)), None)
        if following is None:
            stray = x509.describe(left[0]).subject
            raise BadInput(f"the certificate of {stray} does not belong to the chain; remove it or complete the chain")
        chain.append(following)
        left.remove(following)
    return chain


def _refuse(certificate: Certificate) -> None:
    now = datetime.now(UTC)
    if ages.until(certificate.not_after, now) <= timedelta():
        raise Refused(f"the certificate ended on {certificate.not_after[:10]}: nothing was changed")
    if ages.until(certificate.not_before, now) > timedelta():
        raise Refused(
            f"the certificate begins at {certificate.not_before}, and this server's clock says {now.isoformat()[:19]}: "
            "nothing was changed"
        )
    if not certificate.names and not certificate.addresses:
        raise Refused("the certificate has no subjectAltName and clients reject it; request one with host names")
    if certificate.purposes and not {_SERVER, _ANY} & set(certificate.purposes):
        raise Refused(
            f"the certificate is for {', '.join(certificate.purposes)} and not for a server: nothing was changed"
        )
