# SPDX-License-Identifier: Apache-2.0
"""The documents of a factory reset."""

from typing import Literal

from pydantic import Field

from millrace.serve.config.reset_journal import Reset
from millrace.serve.share.session import ClientSession
from millrace.system.documents import Contract


class ResetFailed(Contract):
    """Why a factory reset did not begin, in a sentence. `at` is ISO 8601 in UTC."""

    schema_version: Literal[1] = 1
    problem: str
    at: str


class ResetStatus(Contract):
    """What a factory reset removes and leaves on this server, and whether one can begin.

    `host` is what is typed to confirm it. `pool` is the UUID of the file system of the pool, None without one. `shares`
    stay as directories; `users` and the `domain` are forgotten only where people are. `clients` are connected now.
    `sealed`: adopting the pool afterwards takes the passphrase. `credentials` are files on the boot partition that stay
    and apply again. `obstacle` is why no reset can begin now. `under_way` is one that has begun, `failed` why the last
    one of this boot did not, `last` the one that this server came back from.
    """

    schema_version: Literal[1] = 1
    host: str
    pool: str | None
    shares: list[str]
    users: list[str]
    domain: str | None
    clients: list[ClientSession]
    sealed: bool
    credentials: list[str] = Field(default_factory=list)
    obstacle: str | None
    under_way: Reset | None = None
    failed: ResetFailed | None = None
    last: Reset | None = None
