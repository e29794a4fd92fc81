# SPDX-License-Identifier: Apache-2.0
"""What can be chosen for a recipe: its model, the command line and the pages use the same enumerations.

Apart from the model, so that the command line shows its options without loading pydantic.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class ClientWorkload(StrEnum):
    """What the client does with the share."""

    TRAINING = "training"
    CHECKPOINT = "checkpoint"
    DATALOADER = "dataloader"
    KVCACHE = "kvcache"
    MIXED = "mixed"


class Protocol(StrEnum):
    """How the client reaches the share."""

    NFS_TCP = "nfs-tcp"
    NFS_TCP_TRUNKED = "nfs-tcp-trunked"
    NFS_RDMA = "nfs-rdma"
    NFS_RDMA_TRUNKED = "nfs-rdma-trunked"
    SMB_MULTICHANNEL = "smb-multichannel"
    SMB_RDMA = "smb-rdma"

    @property
    def is_nfs(self) -> bool:
        """Whether the mount is of type nfs."""
        return self.value.startswith("nfs")

    @property
    def is_rdma(self) -> bool:
        """Whether NFS goes over RDMA."""
        return self in (Protocol.NFS_RDMA, Protocol.NFS_RDMA_TRUNKED)

    @property
    def is_trunked(self) -> bool:
        """Whether one session goes over several addresses of the server."""
        return self in (Protocol.NFS_TCP_TRUNKED, Protocol.NFS_RDMA_TRUNKED)


class Gpu(StrEnum):
    """Maker of the client's GPUs, which read the share without a copy in host memory."""

    NVIDIA = "nvidia"
    AMD = "amd"


class Model(StrEnum):
    """A workload of MLPerf Storage."""

    UNET3D = "unet3d"
    RETINANET = "retinanet"
    LLAMA3_8B = "llama3-8b"
    LLAMA3_70B = "llama3-70b"
    LLAMA3_405B = "llama3-405b"
    LLAMA3_1T = "llama3-1t"
    KVCACHE = "kvcache"


class Accelerator(StrEnum):
    """A type of accelerator that MLPerf Storage emulates."""

    B200 = "b200"
    MI355 = "mi355"


@dataclass(frozen=True)
class RecipeWish:
    """What was chosen. `protocol` None: the best one for the GPUs. `client_addresses`: RDMA ports of the client."""

    workload: ClientWorkload
    protocol: Protocol | None = None
    host: str | None = None
    user: str | None = None
    gpu: Gpu | None = None
    local_cache: bool = False
    client_addresses: list[str] = field(default_factory=list)
