# SPDX-License-Identifier: Apache-2.0
"""The certificate contract (`millrace certificate show --json` and its siblings)."""

from typing import Literal

from pydantic import Field

from millrace.system.documents import Contract

Origin = Literal["own", "installed"]


class Certificate(Contract):
    """What one certificate says. Times are ISO 8601 in UTC; `fingerprint` is the SHA-256 that browsers show."""

    subject: str
    issuer: str
    names: list[str]
    addresses: list[str]
    not_before: str
    not_after: str
    fingerprint: str
    authority: bool
    purposes: list[str] = Field(default_factory=list)


class Current(Contract):
    """The certificate in use. `chain` counts certificates; `sha256` is that of the file that is shown to clients.

    `covers` are the names and addresses of this server that it had when it was put in place.
    """

    schema_version: Literal[1] = 1
    origin: Origin
    certificate: Certificate
    chain: int
    sha256: str
    covers: list[str]


class CertificateSettings(Contract):
    """Names of this server beside its host name, such as an alias in the DNS; a person gave them."""

    schema_version: Literal[1] = 1
    names: list[str] = Field(default_factory=list)


class CertificateReport(Contract):
    """The whole picture.

    `authority` is this server's own, `trusted` are those whose certificates an mtls client may show (the own one
    among them). `client_trust` is what a client must trust as PEM text; null where a public or a site's authority
    issued the certificate and did not come with it. `days_left` is negative after the end.
    """

    schema_version: Literal[1] = 1
    origin: Origin
    certificate: Certificate
    chain: int
    days_left: int
    settings: CertificateSettings
    authority: Certificate
    trusted: list[Certificate]
    client_trust: str | None


class TrustedAuthorities(Contract):
    """The authorities whose certificates an mtls client may show."""

    schema_version: Literal[1] = 1
    trusted: list[Certificate]


class CertificateChange(Contract):
    """What a change did. `changed` is false where nothing had to be done; `warnings` are sentences."""

    schema_version: Literal[1] = 1
    changed: bool
    reason: str
    origin: Origin
    certificate: Certificate
    warnings: list[str] = Field(default_factory=list)


class CertificateRequest(Contract):
    """A request for an authority to sign; its key stays here."""

    schema_version: Literal[1] = 1
    names: list[str]
    addresses: list[str]
    pem: str
