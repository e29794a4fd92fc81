# SPDX-License-Identifier: Apache-2.0
"""The desired state: how clients reach a share over NFS and SMB."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from millrace.serve.config import domain_names
from millrace.serve.config.choices import Access, Encryption, Security, Squash, Transport
from millrace.serve.config.network import DesiredModel, first_duplicate
from millrace.system import names

SmbAccount = Annotated[str, domain_names.smb_account]
Network = Annotated[str, names.network]
Client = Annotated[str, names.client]


def _squashed(number: int) -> int:
    # to become root is not to be squashed; the last two numbers mean "none" and the nobody of an old kernel
    if not 0 < number < (1 << 32) - 2:
        raise ValueError(f"{number} cannot be the number of a squashed user or group: use 1 to {(1 << 32) - 3}")
    return number


SquashedId = Annotated[int, AfterValidator(_squashed)]


class NfsClient(DesiredModel):
    """Clients that may mount, and how. `xprtsec` none means that every transport security is accepted.

    `anonuid` and `anongid` are the user and group that squashed users become; None is nobody.
    """

    client: Client
    access: Access = "rw"
    squash: Squash = "root"
    anonuid: SquashedId | None = None
    anongid: SquashedId | None = None
    sec: list[Security] = Field(default=["sys"], min_length=1)
    xprtsec: list[Transport] = Field(default_factory=list)

    @model_validator(mode="after")
    def _once(self) -> Self:
        for name, values in (("sec", self.sec), ("xprtsec", self.xprtsec)):
            if len(set(values)) != len(values):
                raise ValueError(f"{name} of {self.client} names something twice")
        if self.squash == "none" and (self.anonuid, self.anongid) != (None, None):
            raise ValueError(
                f"anonuid and anongid of {self.client} are for squashed users: add squash=root or squash=all"
            )
        return self


class Nfs(DesiredModel):
    """The NFS side of a share. No client named: the client networks of the policy, else those that were confirmed.

    `snapshots`: the same clients may read the snapshots of the share.
    """

    enabled: bool = True
    clients: list[NfsClient] = Field(default_factory=list)
    snapshots: bool = False

    @model_validator(mode="after")
    def _once(self) -> Self:
        twice = first_duplicate(one.client for one in self.clients)
        if twice:
            raise ValueError(f"the NFS client {twice} is named twice")
        return self

    @property
    def follows_networks(self) -> bool:
        """Whether the client networks of the server decide which clients may mount it."""
        return self.enabled and not self.clients


class Smb(DesiredModel):
    """The SMB side of a share. No network named: serve/share/networks.py. Guests have no access.

    `io_uring` off is for a kernel on which it misbehaves: smbd then reads and writes in threads of its own. `direct`:
    served over SMB Direct by the kernel, and not by Samba. `audit`: Samba records who opens and changes files.
    `previous_versions`: clients of Samba see the snapshots of the share.
    """

    enabled: bool = True
    users: list[SmbAccount] = Field(default_factory=list)
    groups: list[SmbAccount] = Field(default_factory=list)
    networks: list[Network] = Field(default_factory=list)
    encryption: Encryption = "offered"
    time_machine: bool = False
    io_uring: bool = True
    direct: bool = False
    audit: bool = False
    previous_versions: bool = True

    @model_validator(mode="after")
    def _once(self) -> Self:
        for values in (self.users, self.groups, self.networks):
            twice = first_duplicate(values)
            if twice:
                raise ValueError(f"{twice} is named twice for SMB")
        if self.enabled and not self.users and not self.groups:
            raise ValueError("a share on SMB needs a user or a group: nobody could open it")
        if self.direct:
            self._refuse_what_direct_lacks()
        return self

    def _refuse_what_direct_lacks(self) -> None:
        foreign = next((name for name in (*self.users, *self.groups) if domain_names.in_domain(name)), None)
        if foreign:
            raise ValueError(f"{foreign} is of a domain, and SMB Direct knows users and groups of this server only")
        if self.encryption == "required":
            raise ValueError("SMB Direct is not encrypted: leave it off for a share that requires encryption")
        if self.networks:
            raise ValueError(
                "SMB Direct cannot tell networks apart: leave networks out, the policy names its ports (smb_direct)"
            )
        if self.time_machine:
            raise ValueError("Time Machine needs Samba: leave SMB Direct off")
        if self.audit:
            raise ValueError("the access log needs Samba: leave SMB Direct off")
