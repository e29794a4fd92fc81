# SPDX-License-Identifier: Apache-2.0
"""Clients that a run drives, as they are kept (`/var/lib/millrace/bench/clients.json`) and listed."""

from typing import Annotated, Literal

from pydantic import Field

from millrace.system.documents import Contract

Word = Annotated[str, Field(pattern=r"^[!-~]{1,100}$")]
"""What a client says of itself is shown on terminals and pages: printable ASCII without blanks, in Rust's regex."""


class ClientFacts(Contract):
    """What the program on a client reports about it. Memory in bytes; `rdma` is whether it has an RDMA device."""

    program: int
    host: Word
    fio: Word
    kernel: Word
    cpus: int = Field(ge=1, le=1 << 16)
    memory: int = Field(ge=1, le=1 << 60)
    rdma: bool


class BenchClient(Contract):
    """A client: `name` as it was added, `address` as the name was then."""

    name: str
    address: str
    added: str
    facts: ClientFacts


class BenchClients(Contract):
    """`millrace bench clients list --json`, and those that are there after `add` or `remove`."""

    schema_version: Literal[1] = 1
    clients: list[BenchClient] = Field(default_factory=list)
