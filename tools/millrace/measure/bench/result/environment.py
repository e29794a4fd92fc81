# SPDX-License-Identifier: Apache-2.0
"""The contract of a run's environment: the server and its software as they were, and the clients that measured it."""

from pydantic import Field

from millrace.measure.bench.result.client import ClientFacts
from millrace.system.documents import Contract


class DriveFact(Contract):
    """A drive that took part."""

    serial: str
    model: str
    firmware: str
    size: int
    role: str
    link: str | None
    temperature: int | None


class PortFact(Contract):
    """A network port. `speed` in Mbit/s."""

    name: str
    driver: str
    speed: int | None
    carrier: bool
    rdma: str | None
    link: str | None


class Environment(Contract):
    """The server as it was, and the clients that measured it.

    `virtual` names the hypervisor, None on metal; `packages` and `settings` by name.
    """

    host: str
    product: str
    kernel: str
    cpu: str
    sockets: int
    cores: int
    memory: int
    virtual: str | None
    plan_sha256: str | None
    pool: str
    drives: list[DriveFact]
    ports: list[PortFact]
    clients: list[ClientFacts] = Field(default_factory=list)
    packages: dict[str, str]
    settings: dict[str, str]
