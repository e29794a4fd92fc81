# SPDX-License-Identifier: Apache-2.0
"""From a share, a profile and a protocol to a recipe."""

from millrace.client import nfs, smb
from millrace.client.choices import Profile, Protocol
from millrace.client.model import Recipe
from millrace.client.served import ServedShare
from millrace.errors import Refused


def build(
    served: ServedShare, profile: Profile, protocol: Protocol, host: str | None, user: str | None, rdma: bool
) -> Recipe:
    """Return the recipe. `rdma`: whether this server has an RDMA device.

    Refused: it cannot work, with what to use instead.
    """
    if protocol is Protocol.SMB_RDMA:
        raise Refused(smb.NO_RDMA)
    if protocol.is_nfs:
        return nfs.recipe(served, profile, protocol, host, rdma)
    return smb.recipe(served, profile, protocol, host, user)
