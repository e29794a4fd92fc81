# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates as PEM text, made and read by cryptography.

The import costs 50 ms: import this module where a certificate is opened, not at the head of one that others import.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from millrace.serve.certificate.model import Certificate, RevocationList
from millrace.system.errors import BadInput

Kind = Literal["authority", "server", "look"]
Result = TypeVar("Result")
Network = IPv4Network | IPv6Network
Signer = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey

Verifier = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey

# Clients whose clocks are behind take a new certificate too.
EARLIER = timedelta(days=1)

# As openssl(1) calls them: administrators compare the two.
PURPOSES = {
    ExtendedKeyUsageOID.SERVER_AUTH: "TLS Web Server Authentication",
    ExtendedKeyUsageOID.CLIENT_AUTH: "TLS Web Client Authentication",
    ExtendedKeyUsageOID.CODE_SIGNING: "Code Signing",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "E-mail Protection",
    ExtendedKeyUsageOID.TIME_STAMPING: "Time Stamping",
    ExtendedKeyUsageOID.OCSP_SIGNING: "OCSP Signing",
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE: "Any Extended Key Usage",
}
# The last three are no ValueError.
UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
# RFC 4514 has no short name for these, which public authorities write.
_ATTRIBUTES = {
    NameOID.EMAIL_ADDRESS: "emailAddress",
    NameOID.SERIAL_NUMBER: "serialNumber",
    NameOID.BUSINESS_CATEGORY: "businessCategory",
    NameOID.JURISDICTION_COUNTRY_NAME: "jurisdictionC",
    NameOID.JURISDICTION_STATE_OR_PROVINCE_NAME: "jurisdictionST",
    NameOID.JURISDICTION_LOCALITY_NAME: "jurisdictionL",
}
_USES: dict[Kind, list[ObjectIdentifier]] = {
    # a client is what the server is to the host that its journal is forwarded to
    "server": [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
    "look": [ExtendedKeyUsageOID.CLIENT_AUTH],
}


def new_key() -> str:
    """Return a private key as PEM text: P-256, which every client accepts and which costs little to sign with."""
    return _key_text(ec.generate_private_key(ec.SECP256R1()))


def plain_key(key: str) -> str:
    """Return the key as PKCS #8. BadInput: it cannot be read."""
    return _key_text(_key(key))


def public_of_key(key: str) -> str:
    """Return the public half of a private key as PEM text. BadInput: the key cannot be read."""
    return _public_text(_key(key).public_key())


def public_of(certificate: str) -> str:
    """Return the public key in a certificate as PEM text. BadInput: it cannot be read."""
    return _read(certificate, lambda found: _public_text(found.public_key()))


def describe(certificate: str) -> Certificate:
    """Return the fields of a certificate. BadInput: it cannot be read."""
    return _read(certificate, _described)


def signed_by(certificate: str, issuer: str) -> bool:
    """Whether the CA `issuer` signed `certificate`; times are not checked."""
    try:
        authority = x509.load_pem_x509_certificate(issuer.encode())
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(authority)
        return _may_sign(authority)
    except (*UNREADABLE, TypeError, InvalidSignature):
        return False


def request(key: str, common_name: str, names: list[str], addresses: list[str]) -> str:
    """Return a signing request as PEM text. BadInput: the key cannot be read."""
    builder = x509.CertificateSigningRequestBuilder(_name(common_name))
    builder = builder.add_extension(_usage(signs=False), critical=True)
    # An authority may refuse a request that asks for more than a server needs.
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    if names or addresses:
        builder = builder.add_extension(_alternatives(names, addresses), critical=False)
    return builder.sign(_key(key), SHA256()).public_bytes(Encoding.PEM).decode()


def issue(
    kind: Kind,
    key: str,
    common_name: str,
    names: list[str],
    addresses: list[str],
    validity: timedelta,
    issuer: tuple[str, str] | None,
) -> str:
    """Return a certificate for `key`, signed by `issuer` (certificate and key), or by itself where there is none.

    A CA may certify `names` and names below them, and addresses in the networks `addresses`; nothing else, but anything
    where both are empty. No
    certificate outlives its issuer. BadInput: one of the texts cannot be read.
    """
    own, now = _key(key), datetime.now(UTC)
    authority = x509.load_pem_x509_certificate(issuer[0].encode()) if issuer else None
    is_authority = kind == "authority"
    end = min(now + validity, authority.not_valid_after_utc) if authority else now + validity
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(authority.subject if authority else _name(common_name))
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .add_extension(_usage(signs=is_authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
    )
    if kind in _USES:
        builder = builder.add_extension(x509.ExtendedKeyUsage(_USES[kind]), critical=False)
    if authority:
        identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        made = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
        builder = builder.add_extension(made, critical=False)
    if is_authority and (names or addresses):
        builder = builder.add_extension(_constraints(names, addresses), critical=True)
    elif names or addresses:
        builder = builder.add_extension(_alternatives(names, addresses), critical=False)
    signer = _key(issuer[1]) if issuer else own
    return builder.sign(signer, SHA256()).public_bytes(Encoding.PEM).decode()


def outside(authority: str, names: Sequence[str], addresses: Sequence[str]) -> list[str]:
    """Return the names and addresses that a CA may not certify. BadInput: it cannot be read."""
    found = _read(authority, lambda certificate: _extension(certificate, x509.NameConstraints))
    permitted = found.permitted_subtrees if found else None
    if permitted is None:
        return []
    domains = [general.value for general in permitted if isinstance(general, x509.DNSName)]
    networks = [ip_network(str(general.value)) for general in permitted if isinstance(general, x509.IPAddress)]
    foreign = [name for name in names if not any(name == one or name.endswith(f".{one}") for one in domains)]
    return [*foreign, *(text for text in addresses if not any(ip_address(text) in network for network in networks))]


def is_constrained(authority: str) -> bool:
    """Whether a CA may certify some names only. BadInput: it cannot be read."""
    return _read(authority, lambda certificate: _extension(certificate, x509.NameConstraints)) is not None


def no_revocations(issuer: tuple[str, str]) -> str:
    """Return a revocation list of a CA (certificate and key) without an entry, as PEM. BadInput: one cannot be read."""
    authority = x509.load_pem_x509_certificate(issuer[0].encode())
    builder = x509.CertificateRevocationListBuilder(issuer_name=authority.subject)
    builder = builder.last_update(authority.not_valid_before_utc).next_update(authority.not_valid_after_utc)
    return builder.sign(_key(issuer[1]), SHA256()).public_bytes(Encoding.PEM).decode()


def describe_revocations(text: str) -> RevocationList:
    """Return the fields of a revocation list. BadInput: it cannot be read."""
    found = _revocations(text)
    following = found.next_update_utc
    return RevocationList(
        issuer=found.issuer.rfc4514_string(_ATTRIBUTES),
        updated=found.last_update_utc.isoformat(timespec="seconds"),
        next_update=following.isoformat(timespec="seconds") if following else None,
        revoked=len(found),
    )


def revoked_by(text: str, authority: str) -> bool:
    """Whether a CA signed a revocation list. BadInput: one of them cannot be read."""
    found = _revocations(text)
    issuer = x509.load_pem_x509_certificate(authority.encode())
    key = issuer.public_key()
    try:
        return found.issuer == issuer.subject and isinstance(key, Verifier) and found.is_signature_valid(key)
    except UNREADABLE:
        return False


def _revocations(text: str) -> x509.CertificateRevocationList:
    try:
        return x509.load_pem_x509_crl(text.encode())
    except UNREADABLE as error:
        raise BadInput("a revocation list cannot be read; provide complete PEM text") from error


def _read(certificate: str, make: Callable[[x509.Certificate], Result]) -> Result:
    try:
        return make(x509.load_pem_x509_certificate(certificate.encode()))
    except UNREADABLE as error:
        raise BadInput("a certificate cannot be read; provide complete PEM text") from error


def _described(certificate: x509.Certificate) -> Certificate:
    names = _extension(certificate, x509.SubjectAlternativeName)
    constraints = _extension(certificate, x509.BasicConstraints)
    return Certificate(
        subject=certificate.subject.rfc4514_string(_ATTRIBUTES),
        issuer=certificate.issuer.rfc4514_string(_ATTRIBUTES),
        names=names.get_values_for_type(x509.DNSName) if names else [],
        addresses=[str(address) for address in names.get_values_for_type(x509.IPAddress)] if names else [],
        not_before=certificate.not_valid_before_utc.isoformat(timespec="seconds"),
        not_after=certificate.not_valid_after_utc.isoformat(timespec="seconds"),
        fingerprint=certificate.fingerprint(SHA256()).hex(":").upper(),
        authority=constraints is not None and constraints.ca,
        purposes=[
            PURPOSES.get(purpose, purpose.dotted_string)
            for purpose in _extension(certificate, x509.ExtendedKeyUsage) or ()
        ],
    )


def _may_sign(authority: x509.Certificate) -> bool:
    """Whether RFC 5280, 4.2.1.3 and 4.2.1.9, allow it to sign certificates; a root of version 1 has no such fields."""
    constraints, usage = _extension(authority, x509.BasicConstraints), _extension(authority, x509.KeyUsage)
    is_authority = constraints.ca if constraints else authority.version is x509.Version.v1
    return is_authority and (usage is None or usage.key_cert_sign)


Extension = TypeVar("Extension", bound=x509.ExtensionType)


def _extension(found: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return found.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _key(text: str) -> Signer:
    try:
        found = load_pem_private_key(text.encode(), password=None)
    # A TypeError is a locked key; pem.split has refused it by then where it came from outside.
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadInput("the private key cannot be read; provide complete PEM text") from error
    if not isinstance(found, Signer):
        raise BadInput("the private key cannot sign a certificate: use an RSA, EC or Ed25519 key")
    return found


def _key_text(key: Signer) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _public_text(key: PublicKeyTypes) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternatives(names: list[str], addresses: list[str]) -> x509.SubjectAlternativeName:
    found: list[x509.GeneralName] = [x509.DNSName(one) for one in names]
    return x509.SubjectAlternativeName([*found, *(x509.IPAddress(ip_address(one)) for one in addresses)])


def _constraints(names: list[str], networks: list[str]) -> x509.NameConstraints:
    """What a CA may certify (RFC 5280, 4.2.1.10): a name allows all names below it."""
    permitted: list[x509.GeneralName] = [x509.DNSName(one) for one in names]
    permitted += [x509.IPAddress(ip_network(one)) for one in networks]
    return x509.NameConstraints(permitted, None)


def _usage(*, signs: bool) -> x509.KeyUsage:
    """An authority signs certificates and lists of revoked ones; what it signed proves itself in a handshake."""
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
