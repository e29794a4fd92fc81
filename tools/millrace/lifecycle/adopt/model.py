# SPDX-License-Identifier: Apache-2.0
"""The documents of finding and adopting a pool."""

from typing import Literal

from pydantic import Field

from millrace.lifecycle.keep.model import Forgotten, KeptElsewhere, Trusted, TrustKind
from millrace.system.documents import Contract, Count


class FoundArray(Contract):
    """An array on the drives of this server. `uuid` in mdadm's form; `name` is that of the plan: data, log, leg-0.

    `slots` is how many members it has when it is complete, `serials` are the drives whose members are current, `spares`
    its hot spares, `outdated` those whose members were away when it was last written, `away` those that the kept state
    has and this server has not.
    """

    uuid: str
    name: str
    level: str
    slots: Count
    serials: list[str]
    spares: list[str] = Field(default_factory=list)
    outdated: list[str] = Field(default_factory=list)
    away: list[str] = Field(default_factory=list)


class KeptPort(Contract):
    """A port with fixed addresses in the kept state; `here` is the port of this server that gets them, None for none.

    `by` is how it was recognised: the same MAC address, or the same name in another chassis.
    """

    name: str
    mac: str
    addresses: list[str]
    here: str | None
    by: Literal["mac", "name"] | None


Origin = Literal["kept", "forgotten", "drives"]


class KeptState(Contract):
    """The newest kept state that can be read. `written` is ISO 8601 in UTC; `damaged` are newer ones that cannot be.

    `sealed`: secrets need the passphrase. `trusted` is the power over the server that it gives. `users` and `shares`
    are names. `origin`: `kept` as it was; `forgotten` where a factory reset left the pool and its closed shares alone,
    by whom and when in `forgotten`; `drives` where no kept state can be read, and superblocks and directories say what
    there is.
    """

    generation: int
    written: str
    host: str
    release: str
    sealed: bool
    shares: list[str]
    users: list[str]
    ports: list[KeptPort]
    domain: str | None
    origin: Origin = "kept"
    forgotten: Forgotten | None = None
    problems: list[str] = Field(default_factory=list)
    damaged: list[str] = Field(default_factory=list)
    trusted: list[Trusted] = Field(default_factory=list)


class FoundPool(Contract):
    """A pool on the drives. `uuid` is that of its file system. `missing` counts members that are not there.

    `problem` is why it cannot be adopted. `devices` are the serial numbers of external devices that it lies on. `lacks`
    is what its file system was made without, a clause for each feature.
    """

    uuid: str | None
    arrays: list[FoundArray]
    missing: Count
    kept: KeptState | None
    problem: str | None
    devices: list[str] = Field(default_factory=list)
    lacks: list[str] = Field(default_factory=list)


class SearchResult(Contract):
    """What `pool find` found; `problem` is a sentence where there is no pool that could be adopted, with a remedy."""

    schema_version: Literal[1] = 1
    pool: FoundPool | None
    problem: str | None = None
    todo: str | None = None


class Adoption(Contract):
    """An adoption under way: which state of which pool is restored. `at` is ISO 8601 in UTC.

    `ports` are MAC addresses of the kept state and those of the ports that take their place. `problem`
    is why it stopped. `again`: this server had the pool before another one used it. `without` is left out.
    """

    schema_version: Literal[1] = 1
    pool: str
    generation: int
    by: str
    at: str
    secrets: bool
    ports: dict[str, str]
    problem: str | None = None
    again: bool = False
    without: list[TrustKind] = Field(default_factory=list)


AdoptionStep = Literal["files", "accounts", "ports", "services", "pool"]
"""In their order: files and databases, users and passwords, addresses of ports, services that read them, pool.json."""


class AdoptionProgress(Contract):
    """The step of an adoption that is under way; `done` are those before it, of `total`."""

    step: AdoptionStep
    done: Count
    total: Count


class Adopted(Contract):
    """What an adoption restored. `missing` is what did not come back, in sentences."""

    schema_version: Literal[1] = 1
    pool: str
    generation: int
    host: str
    shares: list[str]
    users: list[str]
    missing: list[str]


class FoundHere(Contract):
    """The search of this boot and what came of it. `found` is null where nothing was searched, or a pool is there.

    `adoption` is one that is under way, `running` whether it goes on at the moment, and `progress` how far it is.
    `adopted` is the result of the one of this boot. `elsewhere` is the newest state on the pool of this server where
    another boot drive wrote it: the pool is not served before an administrator decides.
    """

    schema_version: Literal[1] = 1
    found: SearchResult | None
    adoption: Adoption | None = None
    running: bool = False
    progress: AdoptionProgress | None = None
    adopted: Adopted | None = None
    elsewhere: KeptElsewhere | None = None
