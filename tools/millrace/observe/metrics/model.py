# SPDX-License-Identifier: Apache-2.0
"""The endpoint of metrics: what is decided of it, its secret, and what is shown."""

from typing import Literal

from pydantic import Field

from millrace.system.documents import Contract


class MetricsSettings(Contract):
    """Readers that are allowed (`/var/lib/millrace/metrics/endpoint.json`); the endpoint is on where this file is.

    `addresses` are networks in CIDR form, all where there are none; `token` is whether a reader needs the token.
    """

    schema_version: Literal[1] = 1
    addresses: list[str] = Field(default_factory=list)
    token: bool


class TokenHash(Contract):
    """The SHA-256 of the token in hexadecimal, null where none is needed; readable by root alone."""

    schema_version: Literal[1] = 1
    sha256: str | None = None


class MetricsEndpoint(Contract):
    """`millrace metrics status --json`, and what there is after `on` and `off`.

    `new_token` is shown once, by the command that made it.
    """

    schema_version: Literal[1] = 1
    enabled: bool
    port: int
    addresses: list[str]
    token: bool
    new_token: str | None = None
