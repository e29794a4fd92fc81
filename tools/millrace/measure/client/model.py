# SPDX-License-Identifier: Apache-2.0
"""The recipe contract (`millrace client recipe --json`)."""

from typing import Literal

from pydantic import Field

from millrace.measure.client.choices import ClientWorkload, Gpu, Protocol
from millrace.system.documents import Contract


class RecipeChoice(Contract):
    """One option, used or skipped, with the reason."""

    option: str
    reason: str
    source: str


class Note(Contract):
    """Further information for the administrator of the client."""

    text: str
    source: str


class ClientFile(Contract):
    """A file to write on the client; `mode` as chmod takes it."""

    path: str
    mode: str
    text: str


class ModuleParameter(Contract):
    """A parameter of a kernel module and the least value that the recipe wants."""

    module: str
    parameter: str
    at_least: int


class Trap(Contract):
    """A version of a driver or a tool that is known not to work; `date` is that of the source."""

    id: str
    date: str
    problem: str
    fix: str
    source: str


class GpuSettings(Contract):
    """What a client with GPUs needs beside the mount.

    `needs` are versions of drivers, `merge` parts of configuration files that exist on the client, `environment` is for
    programs that use the GPUs, `proof` are commands.
    """

    maker: Gpu
    needs: list[RecipeChoice]
    merge: list[ClientFile]
    environment: list[RecipeChoice]
    proof: list[RecipeChoice]
    traps: list[Trap]


class TrustedAuthority(Contract):
    """A CA of the server: the SHA-256 of its certificate as browsers show it, and when clients need it."""

    fingerprint: str
    needed_from: str | None


class Expect(Contract):
    """What the check script compares a running mount with.

    `options` are as the kernel prints them. `lanes` counts connections; `lane_addresses` are those that must carry
    one each. `mtu` in bytes is the server port's. `authorities` are CAs that the client's file `truststore` must have,
    by the SHA-256 of each: the present one and, months before it takes over, the next one.
    """

    schema_version: Literal[1] = 1
    share: str
    workload: ClientWorkload
    protocol: Protocol
    fstype: Literal["nfs", "cifs"]
    source: str
    port: int
    options: dict[str, str]
    lanes: int
    lane_addresses: list[str]
    modules: list[ModuleParameter]
    encrypted: bool
    mtu: int | None
    gpu: Gpu | None = None
    truststore: str | None = None
    authorities: list[TrustedAuthority] = Field(default_factory=list)


class SystemStep(Contract):
    """One step on a client: a path to open, a command to type, or a command that shows whether it worked."""

    kind: Literal["path", "command", "check"]
    text: str


class ClientSystem(Contract):
    """How another operating system than Linux opens the share. No step has a password: each asks for it."""

    name: Literal["windows", "macos"]
    steps: list[SystemStep]


class Recipe(Contract):
    """Everything a client needs to mount one share well.

    Apply `files` (module options, credentials) and `prepare` (commands), then one of three that are equivalent: `fstab`
    (lines of /etc/fstab) and `fstab_commands`, or `units` (systemd units) and `unit_commands`, or `commands` (a mount
    until the next boot). `systems` are the steps of other operating systems, none where they cannot open it.
    """

    schema_version: Literal[1] = 1
    share: str
    workload: ClientWorkload
    protocol: Protocol
    host: str
    mountpoint: str
    source: str
    options: list[RecipeChoice]
    left_out: list[RecipeChoice]
    files: list[ClientFile]
    prepare: list[str]
    fstab: list[str]
    fstab_commands: list[str]
    units: list[ClientFile]
    unit_commands: list[str]
    commands: list[str]
    notes: list[Note]
    zone: str | None
    gpu: GpuSettings | None = None
    systems: list[ClientSystem] = Field(default_factory=list)
    expect: Expect


class Zone(Contract):
    """One host name with all addresses of this server, for a zone file of the site's name server."""

    schema_version: Literal[1] = 1
    name: str
    addresses: list[str]
    text: str
