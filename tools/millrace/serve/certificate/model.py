# SPDX-License-Identifier: Apache-2.0
"""The certificate contract (`millrace certificate show --json` and its siblings)."""

from typing import Literal

from pydantic import Field

from millrace.system.documents import Contract

Origin = Literal["own", "installed"]


class Certificate(Contract):
    """The fields of one certificate. Times are ISO 8601 in UTC; `fingerprint` is the SHA-256 that browsers show."""

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
    """The certificate in use. `chain` counts certificates; `sha256` is that of the file that is sent to clients.

    `covers` are the names and addresses of this server that it had when it was put in use.
    """

    schema_version: Literal[1] = 1
    origin: Origin
    certificate: Certificate
    chain: int
    sha256: str
    covers: list[str]


class CertificateSettings(Contract):
    """Additional names of this server, such as an alias in the DNS."""

    schema_version: Literal[1] = 1
    names: list[str] = Field(default_factory=list)


class Succession(Contract):
    """The next CA of this server: from `takes_over` (ISO 8601, UTC) on it issues the certificates.

    `waiting` are names and addresses of this server that the present CA may not certify; they are in the certificate
    from then on.
    """

    schema_version: Literal[1] = 1
    takes_over: str
    authority: Certificate
    waiting: list[str] = Field(default_factory=list)


class CertificateReport(Contract):
    """The certificate in use and the trusted CAs.

    `authority` is this server's own CA, `trusted` are those whose certificates an mtls client may use (the own one
    among them). `client_trust` is what a client must trust as PEM text, the next own CA included; null where a
    public CA or the site's CA issued the certificate and did not come with it. `succession` is the next own CA; null
    where it was not made yet. `days_left` is negative after the end.
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
    succession: Succession | None = None


class RevocationList(Contract):
    """The certificates that a CA has revoked. Times are ISO 8601 in UTC; `next_update` is null where there is none."""

    issuer: str
    updated: str
    next_update: str | None
    revoked: int


class TrustedAuthorities(Contract):
    """The CAs whose certificates an mtls client may use, and what they have revoked."""

    schema_version: Literal[1] = 1
    trusted: list[Certificate]
    revocations: list[RevocationList] = Field(default_factory=list)


class CertificateChange(Contract):
    """What a change did. `changed` is false where nothing had to be done; `warnings` are sentences."""

    schema_version: Literal[1] = 1
    changed: bool
    reason: str
    origin: Origin
    certificate: Certificate
    warnings: list[str] = Field(default_factory=list)


class CertificateRequest(Contract):
    """A request for a CA to sign; its key stays here."""

    schema_version: Literal[1] = 1
    names: list[str]
    addresses: list[str]
    pem: str
