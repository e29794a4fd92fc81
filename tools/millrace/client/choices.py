# SPDX-License-Identifier: Apache-2.0
"""What can be chosen for a recipe: its model, the command line and the pages use the same enumerations.

Apart from the model, so that the command line shows its options without loading pydantic.
"""

from enum import StrEnum


class Profile(StrEnum):
    """What the client does with the share."""

    TRAINING = "training"
    CHECKPOINT = "checkpoint"
    DATALOADER = "dataloader"
    MIXED = "mixed"


class Protocol(StrEnum):
    """How the client reaches the share."""

    NFS_TCP = "nfs-tcp"
    NFS_TCP_TRUNKED = "nfs-tcp-trunked"
    NFS_RDMA = "nfs-rdma"
    SMB_MULTICHANNEL = "smb-multichannel"
    SMB_RDMA = "smb-rdma"

    @property
    def is_nfs(self) -> bool:
        """Whether the mount is of type nfs."""
        return self.value.startswith("nfs")
