# SPDX-License-Identifier: Apache-2.0
"""What can be chosen for a run: its model and the options of the command line use the same enumerations.

Apart from the model, so that the command line shows its options without loading pydantic.
"""

from enum import StrEnum
from typing import Literal

CheckpointModel = Literal["8b", "70b", "405b", "1t"]
Format = Literal["json", "csv", "xlsx", "html"]


class BenchLayer(StrEnum):
    """A rung's height: each drive, array and file system, a protocol on the loopback, real clients."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class BenchProfile(StrEnum):
    """A kind of load."""

    SEQ = "seq"
    RAND = "rand"
    MIXED = "mixed"
    FSYNC = "fsync"
    META = "meta"
    UNET3D = "unet3d"
    RETINANET = "retinanet"
    CHECKPOINT = "checkpoint"
    KVCACHE = "kvcache"
    CONNECTIONS = "connections"
