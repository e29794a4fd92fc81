# SPDX-License-Identifier: Apache-2.0
"""The steps of a run, from the drives to the clients. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.bench.plan import connections
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.sizes import Sizes
from millrace.measure.bench.plan.workloads import Work, works
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import BenchState, Rung, RunRequest
from millrace.system.errors import BadInput, Refused

QUICK = (BenchProfile.SEQ, BenchProfile.RAND, BenchProfile.MIXED, BenchProfile.FSYNC, BenchProfile.META)
LOCAL = (BenchLayer.L0, BenchLayer.L1, BenchLayer.L2)
EXTERNAL = "the drives behind an external device do not show; the device itself is L1"


@dataclass(frozen=True)
class RungStep:
    """One rung to be measured. `devices` are block devices by path, empty where the work is on files of the pool.

    `names` are the names of the parts of the result, one for each device. `skipped` is the reason where it is skipped.
    Each of `copies` clients has files of its own.
    """

    layer: BenchLayer
    target: str
    work: Work
    devices: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    skipped: str | None = None
    copies: int = 1

    @property
    def id(self) -> str:
        """The id of the step, the same in every run of every server: comparisons use it."""
        return f"{self.layer}/{self.target}/{self.work.name}"


def planned_steps(request: RunRequest, site: Site) -> list[RungStep]:
    """Return all steps of a request on this server. BadInput, Refused: it asks for what does not exist."""
    layers = request.layers or ([*LOCAL, BenchLayer.L3] if request.clients else list(LOCAL))
    chosen = works(request.profiles or (list(QUICK) if request.mode == "quick" else list(BenchProfile)))
    if BenchLayer.L3 in layers and not request.clients:
        raise BadInput("L3 needs clients: `millrace bench clients add HOST`, then --client HOST")
    if request.clients and BenchLayer.L3 not in layers:
        raise BadInput("--client is for L3: add --layer L3, or leave --layer out")
    steps: list[RungStep] = []
    if BenchLayer.L0 in layers:
        steps += _drives(request, site, chosen)
    if BenchLayer.L1 in layers:
        steps += _array(site, chosen)
        steps += [RungStep(BenchLayer.L1, "xfs", work) for work in chosen if BenchLayer.L1 in work.layers]
    swept = [work for work in chosen if work.profile is BenchProfile.CONNECTIONS]
    once = [work for work in chosen if work not in swept]
    if BenchLayer.L2 in layers:
        steps += [RungStep(BenchLayer.L2, protocol, work) for protocol in site.protocols for work in once]
        if "nfs-rdma" not in site.protocols:
            why = "this server has no RDMA device"
            steps += [RungStep(BenchLayer.L2, "nfs-rdma", work, skipped=why) for work in once]
        steps += [RungStep(BenchLayer.L2, target, work) for target in connections.TARGETS for work in swept]
    if BenchLayer.L3 in layers:
        steps += _remote(site, once)
        # a client is given one address of this server
        named, copies = connections.TO_ONE_ADDRESS, len(site.clients)
        steps += [RungStep(BenchLayer.L3, target, work, copies=copies) for target in named for work in swept]
    if not steps:
        names = ", ".join(request.profiles)
        needs = "files; choose L1 or L2" if once else "clients of NFS; choose L2 or L3"
        raise Refused(f"{names} cannot be measured at {', '.join(layers)}: this workload needs {needs}")
    return steps


def _drives(request: RunRequest, site: Site, chosen: Sequence[Work]) -> list[RungStep]:
    measured = [work for work in chosen if BenchLayer.L0 in work.layers]
    reads = [work for work in measured if not work.writes]
    paths = tuple(f"/dev/{drive.name}" for drive in site.data)
    if site.pool.backend == "external":
        # the one device is L1, and the drives behind it do not show
        paths, steps = (), [RungStep(BenchLayer.L0, "drives", work, skipped=EXTERNAL) for work in reads]
    else:
        steps = [
            RungStep(BenchLayer.L0, "drives", work, paths, tuple(drive.serial for drive in site.data)) for work in reads
        ]
    if request.mode == "full" and paths:
        for drive in [*site.data, *site.log]:
            steps += [
                RungStep(BenchLayer.L0, drive.serial, work, (f"/dev/{drive.name}",), (drive.serial,)) for work in reads
            ]
    blank = {drive.serial: drive for drive in site.blank}
    for serial in request.write_drives:
        if serial not in blank:
            raise Refused(f"{serial} is not a blank drive of this server and is not written: `millrace inventory`")
        device = (f"/dev/{blank[serial].name}",)
        steps += [RungStep(BenchLayer.L0, serial, work, device, (serial,)) for work in measured]
    return steps


def _array(site: Site, chosen: Sequence[Work]) -> list[RungStep]:
    """The array, or the external device, is only read: what is written to it goes through the file system."""
    reads = [work for work in chosen if BenchLayer.L0 in work.layers and not work.writes]
    return [RungStep(BenchLayer.L1, "array", work, (site.device,), ("array",)) for work in reads]


def _remote(site: Site, chosen: Sequence[Work]) -> list[RungStep]:
    """What the clients that were named measure."""
    without = [client.name for client in site.clients if not client.facts.rdma]
    reasons = {
        "nfs-tcp": None,
        "nfs-rdma": "this server has no RDMA device" if "nfs-rdma" not in site.protocols else None,
        "smb": "SMB is measured on the client: `millrace client bench`",
    }
    if without and reasons["nfs-rdma"] is None:
        reasons["nfs-rdma"] = f"client {without[0]} has no RDMA device"
    return [
        RungStep(BenchLayer.L3, target, work, skipped=why, copies=len(site.clients))
        for target, why in reasons.items()
        for work in chosen
    ]


def layouts(steps: Sequence[RungStep]) -> int:
    """Return how many sets of files are in the pool at the same time; small files are not counted."""
    copies: dict[str, int] = {}
    for step in steps:
        if not step.devices and not step.skipped and step.work.layout != "meta":
            copies[step.work.layout] = max(step.copies, copies.get(step.work.layout, 1))
    return sum(copies.values())


def pending(step: RungStep, sizes: Sizes) -> Rung:
    """Return the rung of a step that has not begun."""
    files = sizes.files(step.work)
    on_files = not step.devices
    jobs = sizes.jobs_of(step.work) if on_files else len(step.devices)
    return Rung(
        id=step.id,
        layer=step.layer,
        target=step.target,
        workload=step.work.workload(files.scaled if on_files else None),
        state=BenchState.SKIPPED if step.skipped else BenchState.PENDING,
        reason=step.skipped,
        jobs=jobs,
        size=step.copies * jobs * files.per_job * files.mean if on_files else 0,
        flags=["scaled"] if on_files and files.scaled else [],
    )
