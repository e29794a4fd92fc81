# SPDX-License-Identifier: Apache-2.0
"""The domain contract (`millrace domain show|join|leave --json`)."""

from typing import Literal

from pydantic import Field

from millrace.serve.config.model import Domain
from millrace.serve.domain.ids import IdRange
from millrace.system.documents import Contract


class Key(Contract):
    """A principal that this server has keys of; `version` is the number of the machine password behind it."""

    principal: str
    version: int


class DomainReport(Contract):
    """The membership as it is now. Null is what could not be read, and `problems` are why.

    `clock_offset` in seconds, positive where the domain is ahead; `trusted` is whether the domain accepts the machine
    password, `winbind` whether its daemon answers.
    """

    schema_version: Literal[1] = 1
    domain: Domain | None
    host_name: str | None = None
    controller: str | None = None
    winbind: bool | None = None
    trusted: bool | None = None
    clock_offset: int | None = None
    keys: list[Key] = Field(default_factory=list)
    ids: IdRange | None = None
    other_ids: IdRange | None = None
    problems: list[str] = Field(default_factory=list)


class MembershipChange(Contract):
    """The result of join or leave. `domain` is null after leaving."""

    schema_version: Literal[1] = 1
    serial: int
    domain: Domain | None
    verified: list[str]
    warnings: list[str]
