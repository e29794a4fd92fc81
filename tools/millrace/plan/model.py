# SPDX-License-Identifier: Apache-2.0
"""The plan contract (`plan.json`, `millrace plan --json`).

A plan holds no kernel name and nothing that changes between two boots of the same server: the sha256 over it is what an
administrator approves. A refusal, which nobody approves, names drives as they are found now.
"""

import hashlib
import json
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from millrace.inventory.model import DriveState
from millrace.plan.finding import PlanFinding
from millrace.system.documents import Contract

VOLATILE = {"findings", "prediction"}
# Of the file system, added after the first release: a plan that was approved without them keeps its hash.
LATER_KEYS = ("allocation_group_size", "autofsck", "discard", "features")

Backend = Literal["md", "external"]
Direction = Literal["read", "write"]
# NFS over TCP and RDMA, and SMB, encrypted.
Transport = Literal["tcp", "rdma", "smb"]
State = Literal["healthy", "degraded"]
LayerName = Literal["drives", "pcie", "memory", "cpu", "md", "nic"]
Evidence = Literal["specification", "textbook", "calibrated", "measured", "derived", "unknown"]


class Role(StrEnum):
    """What a drive is for."""

    DATA = "data"
    LOG = "log"
    SPARE = "spare"
    BOOT = "boot"
    UNUSED = "unused"


class PlannedPartition(Contract):
    """One partition of a drive: what it is for (data or log) and its size in bytes."""

    role: Role
    size: int


class DriveRole(Contract):
    """The part that one drive plays. `partitions` are made on it, in the order in which they lie on it."""

    serial: str
    wwid: str
    model: str
    size: int
    state: DriveState
    role: Role
    partitions: list[PlannedPartition]
    reason: str


class Decision(Contract):
    """One decision: what, why (one sentence) and from where (seed, fact, measurement, policy).

    `considered` are the choices that were compared, best first, each with the same keys and its numbers.
    """

    name: str
    value: JsonValue
    reason: str
    source: str
    considered: list[dict[str, JsonValue]] = Field(default_factory=list)


class MdArray(Contract):
    """One md array. Members are serials of drives, or names of arrays for a raid0 over legs. Sizes in bytes.

    `data_members` is the number of members whose capacity holds data, per full stripe. A raid1 may have one member,
    so that a mirror can be added later. `spares` are serials of the hot spares of this very array.
    """

    name: str
    level: Literal["raid0", "raid1", "raid5", "raid6"]
    members: list[str]
    spares: list[str] = Field(default_factory=list)
    over_arrays: bool
    role: Role
    chunk: int | None
    data_members: int
    bitmap: Literal["internal", "none"]
    bitmap_chunk: int | None


class Filesystem(Contract):
    """The XFS file system of the pool. `stripe_unit` in bytes, `stripe_width` in stripe units, both 0 without stripes.

    `log_device` None: the log is inside the file system; `log_size` None: mkfs.xfs sizes it. `allocation_group_size` in
    bytes, `autofsck` (xfs_scrub(8)), `discard`, whether discards may reach the drives, and `features`, those that are
    named for mkfs.xfs, are None for a pool that was made before they were planned.
    """

    label: str
    mountpoint: str
    device: str
    log_device: str | None
    log_size: int | None
    stripe_unit: int
    stripe_width: int
    allocation_groups: int
    allocation_group_size: int | None = None
    sector: int
    autofsck: Literal["none", "check", "optimize", "repair"] | None = None
    discard: bool | None = None
    features: list[str] | None = None
    mount_options: list[str]


class Nfsd(Contract):
    """The NFS server. `threads_min` is per pool, `threads_max` in total; times in seconds; block size in bytes.

    `localio`: clients on the server itself may go around it. `copy_from`: addresses of the servers that it may copy
    from when a client asks it to (inter-server copy).
    """

    threads_min: int
    threads_max: int
    pool_mode: Literal["global", "pernode"]
    max_block_size: int
    lease_time: int
    grace_time: int
    localio: bool = True
    copy_from: list[str] = Field(default_factory=list)


class MdSettings(Contract):
    """Per-array md settings that the kernel forgets. `sync_speed_max` in KiB/s, `read_ahead` in KiB."""

    group_thread_cnt: int
    stripe_cache_size: int
    sync_speed_max: int
    read_ahead: int


class PlanLayer(Contract):
    """The limit of one layer in bytes/s; None is `not known`.

    `evidence` is the weakest among the constants behind it. `measure` is what would find out what is not known; a layer
    that has a limit and a `measure` is at best this fast.
    """

    name: LayerName
    limit: int | None
    evidence: Evidence
    reason: str
    measure: str | None = None


class PlanOutcome(Contract):
    """One way to use the server. `limit` in bytes/s is the lowest known one, `bound_by` the layer that sets it.

    It is never a promise: a layer that is not known may be lower.
    """

    direction: Direction
    transport: Transport
    state: State
    limit: int | None
    bound_by: LayerName | None
    layers: list[PlanLayer]

    def not_known(self) -> list[LayerName]:
        """The layers that may be lower than `limit`."""
        return [layer.name for layer in self.layers if layer.limit is None]


class Prediction(Contract):
    """The outcomes, in the order in which they are shown; degraded is with one drive of each leg gone."""

    outcomes: list[PlanOutcome]


class Plan(Contract):
    """A complete plan. `capacity` in bytes, without what md and XFS need.

    With `backend` external there are no arrays: the file system lies on the partition of the one data drive.
    """

    schema_version: Literal[1] = 1
    verdict: Literal["ready"] = "ready"
    backend: Backend = "md"
    title: str
    capacity: int
    drives: list[DriveRole]
    arrays: list[MdArray]
    filesystem: Filesystem
    nfsd: Nfsd
    md: MdSettings
    sysctl: dict[str, str]
    decisions: list[Decision]
    warnings: list[str]
    findings: list[PlanFinding] = Field(default_factory=list)
    prediction: Prediction | None = None

    def digest(self) -> str:
        """Return the sha256 over the canonical JSON; approving a plan means naming this.

        What was measured or varies is no part of it: the same drives are the same plan.
        """
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def canonical(self) -> str:
        """Return the JSON that `digest` is taken of."""
        content = self.model_dump(mode="json", exclude=VOLATILE)
        for key in LATER_KEYS:
            if content["filesystem"][key] is None:
                del content["filesystem"][key]
        # what has its default is the plan that it was before there were others
        if self.backend == "md":
            del content["backend"]
        if self.nfsd.localio:
            del content["nfsd"]["localio"]
        if not self.nfsd.copy_from:
            del content["nfsd"]["copy_from"]
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class DriveName(Contract):
    """One drive as it is found at the rack and on the command line; `bay` is its bay or slot in words, null where the
    server does not report it, `name` the kernel name of this boot.
    """

    bay: str | None
    name: str
    serial: str

    @property
    def words(self) -> str:
        """The name in one line: `bay 7, nvme3n1, S6XYZ123`."""
        return ", ".join(filter(None, (self.bay, self.name, self.serial or "no serial number")))


class PlanObstacle(Contract):
    """One reason why nothing is planned, and all drives that it is about; `todo` is the remedy."""

    drives: list[DriveName]
    what: str
    todo: str


class Refusal(Contract):
    """The reasons why there is no plan."""

    schema_version: Literal[1] = 1
    verdict: Literal["refused"] = "refused"
    obstacles: list[PlanObstacle]
    drives: list[DriveRole]


Proposal = Plan | Refusal


class PlanFile(Contract):
    """What plan.json holds: the proposal, and for a plan its digest."""

    schema_version: Literal[1] = 1
    sha256: str | None
    proposal: Plan | Refusal = Field(discriminator="verdict")
