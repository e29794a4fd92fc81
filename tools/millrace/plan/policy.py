# SPDX-License-Identifier: Apache-2.0
"""What the owner of the server decided; everything else is computed."""

from ipaddress import ip_network

from pydantic import Field, field_validator

from millrace.inventory.model import Contract


class NfsPolicy(Contract):
    """`networks` in CIDR form: the clients that NFS is exported to. `privileged_ports`: only ports below 1024."""

    networks: list[str] = Field(default_factory=list)
    privileged_ports: bool = True

    @field_validator("networks")
    @classmethod
    def networks_are_cidr(cls, networks: list[str]) -> list[str]:
        """One spelling for one network, so that the same policy gives the same plan."""
        return [str(ip_network(network)) for network in networks]


class Policy(Contract):
    """The policy file; every key has a default."""

    nfs: NfsPolicy = NfsPolicy()
