# SPDX-License-Identifier: Apache-2.0
"""From a share and what was chosen to a recipe."""

from millrace.measure.client import gpu, nfs, smb
from millrace.measure.client.choices import Gpu, Protocol, RecipeWish
from millrace.measure.client.model import Recipe
from millrace.measure.client.served import ServedShare
from millrace.system.errors import BadInput, Refused


def build(served: ServedShare, wanted: RecipeWish) -> Recipe:
    """Return the recipe.

    Refused: it cannot work, with what to use instead. BadInput: what was chosen does not fit together.
    """
    if wanted.client_addresses and wanted.gpu is not Gpu.NVIDIA:
        raise BadInput("--client-address is for cufile.json, which is in recipes with --gpu nvidia only")
    if wanted.gpu:
        gpu.refuse(served, wanted)
    protocol = wanted.protocol or gpu.best_protocol(served)
    if protocol is Protocol.SMB_RDMA:
        return smb.direct_recipe(served, wanted.workload, wanted.host, wanted.user)
    if protocol.is_nfs:
        return nfs.recipe(served, wanted, protocol)
    if wanted.local_cache:
        raise Refused("the local cache (fsc) is for NFS mounts: use --protocol nfs-tcp")
    return smb.recipe(served, wanted.workload, protocol, wanted.host, wanted.user)
