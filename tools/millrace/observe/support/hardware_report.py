# SPDX-License-Identifier: Apache-2.0
"""What a server consists of, for others to read: kinds of parts and how many, and no part by its serial number."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from millrace import __version__
from millrace.inventory.collect import collect
from millrace.inventory.model import Drive, Inventory, Nic, PcieLink
from millrace.inventory.refresh import refreshed
from millrace.observe.support.hide import Hider
from millrace.observe.support.model import HardwareParts, HardwareReport
from millrace.plan.audit import audit
from millrace.plan.finding import PlanFinding
from millrace.plan.model import Plan
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import current_arrays, known_pool
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from millrace.system.printing import table
from millrace.system.text import binary, size
from millrace.system.users import only_root
from millrace.tune.audited_pool import audited_pool

DMI = Path("sys/class/dmi/id")
# Those that name a product. Beside them are serial numbers, a UUID and an asset tag, which are not read.
SERVER, FIRMWARE = ("sys_vendor", "product_name", "board_name"), ("bios_vendor", "bios_version", "bios_date")
# What firmware has where the maker of the board wrote nothing.
FILLED = {"to be filled by o.e.m.", "default string", "not specified", "none"}


def hardware_report() -> HardwareReport:
    """Return the parts of this server; what an administrator named is replaced as in the archive.

    Refused: the caller is not root. BadInput: secrets of this server cannot be read, and so not be searched for; or the
    record of the pool cannot be read.
    """
    only_root()
    hide = Hider().text
    inventory = _inventory()
    pool = known_pool()
    layout, findings = _planned(inventory) if pool is None else (_layout(pool), audit(inventory, audited_pool(pool)))
    return HardwareReport(
        millrace=__version__,
        kernel=inventory.kernel,
        server=hide(_named(SERVER)) or None,
        firmware=hide(_named(FIRMWARE)) or None,
        cpu=hide(inventory.cpu_model),
        sockets=inventory.sockets,
        nodes=len(inventory.nodes),
        cores=sum(node.cores for node in inventory.nodes),
        memory=inventory.memory,
        ecc=inventory.ecc,
        modules=_counted((_module(dimm.size, dimm.speed) for dimm in inventory.dimms), hide),
        switches=len(inventory.switches),
        bays=sum(drive.bay is not None for drive in inventory.drives),
        drives=_counted(map(_drive, inventory.drives), hide),
        ports=_counted(map(_port, inventory.nics), hide),
        layout=layout,
        findings=_counted((f"{finding.severity}: {finding.what}" for finding in findings), hide),
    )


def lines(report: HardwareReport) -> Iterator[str]:
    """Yield the report as text for an issue."""
    yield f"Millrace {report.millrace}, Linux {report.kernel}"
    cores = f"{report.sockets} sockets, {report.nodes} NUMA nodes, {report.cores} cores"
    ecc = {True: "with ECC", False: "without ECC", None: "ECC unknown"}[report.ecc]
    rows = [
        ("Server", report.server or "unknown"),
        ("Firmware", report.firmware or "unknown"),
        ("CPU", f"{report.cpu}; {cores}"),
        ("Memory", f"{binary(report.memory)} {ecc}"),
        ("PCIe switches", str(report.switches)),
        ("Drives with a known bay", str(report.bays)),
        ("Layout", report.layout),
    ]
    yield from table(("Part", "Value"), rows)
    for title, parts in (
        ("Memory modules", report.modules),
        ("Drives", report.drives),
        ("Network ports", report.ports),
        ("Findings", report.findings),
    ):
        yield ""
        yield from table(("Number", title), [(part.count, part.what) for part in parts] or [(0, "none")], ("Number",))


def _inventory() -> Inventory:
    if not paths.inventory_file().exists():
        return collect(paths.ROOT)
    return refreshed(read_model(paths.inventory_file(), Inventory), paths.ROOT)


def _planned(inventory: Inventory) -> tuple[str, list[PlanFinding]]:
    """The layout that is proposed without a policy, which names drives of this server alone."""
    proposal = propose(inventory, Policy())
    if isinstance(proposal, Plan):
        return f"planned: {proposal.title}", proposal.findings
    return "no plan is possible", []


def _layout(pool: Pool) -> str:
    arrays = [array for array in current_arrays(pool) if not array.over_arrays]
    counted = _counted(f"{array.role} {array.level} of {len(array.members)}" for array in arrays)
    return "pool: " + (", ".join(f"{part.count} × {part.what}" for part in counted) or "external device")


def _named(names: Iterable[str]) -> str:
    """The attributes of the firmware, "" where it reports none."""
    texts = [sysfs.text(paths.ROOT / DMI / name) for name in names]
    return ", ".join(text for text in texts if text and text.lower() not in FILLED)


def _counted(parts: Iterable[str], hide: Callable[[str], str] = str) -> list[HardwareParts]:
    """Equal parts once, with their number."""
    return [HardwareParts(count=count, what=hide(what)) for what, count in Counter(parts).items()]


def _module(count: int, speed: int | None) -> str:
    return f"{binary(count)}, {f'{speed} MT/s' if speed else 'unknown speed'}"


def _drive(drive: Drive) -> str:
    cache = {True: "volatile write cache", False: "no volatile write cache", None: "write cache unknown"}
    return ", ".join(
        (
            f"{drive.model or 'unknown model'} {drive.firmware}".strip(),
            f"{size(drive.size)} {drive.transport}",
            f"sectors {drive.logical_block}/{drive.physical_block}",
            _link(drive.link),
            cache[drive.volatile_write_cache],
            f"{drive.state.value}",
        )
    )


def _port(nic: Nic) -> str:
    return ", ".join(
        (
            f"{nic.driver} {nic.firmware or 'unknown firmware'}",
            f"{nic.speed / 1000:g} Gbit/s" if nic.speed else "unknown speed",
            "link up" if nic.carrier else "no link",
            _link(nic.link),
            "software RDMA" if nic.software_rdma else "RDMA" if nic.rdma_device else "no RDMA",
        )
    )


def _link(link: PcieLink | None) -> str:
    if link is None:
        return "PCIe link unknown"
    best = f" of {link.max_speed:g} ×{link.max_width}"
    full = (link.speed, link.width) == (link.max_speed, link.max_width)
    return f"PCIe {link.speed:g} GT/s ×{link.width}" + ("" if full else best)
